"""The tuned numbers of the Newton methods: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = [
    "DAMPED", "OUTPUT_QUADRATIC", "QUADRATIC", "SETTINGS", "DampedSettings", "MultiplierSettings",
    "OutputQuadraticSettings", "QuadraticSettings",
]  # fmt: skip


@dataclass(frozen=True)
class MultiplierSettings:
    """Numbers of the method of multipliers. None has a part in a proof.

    "The gap" is the estimate of the primal-dual gap at the current point.
    """

    # Multipliers: the parameter sigma of the Moreau envelopes and the proximal term delta

    # delta, where sigma is small: the share of a feature's mean square that is added to the
    # curvature. It keeps systems regular and hardly holds the coefficients back.
    proximal_weight: float = 1e-3
    # delta is at its full weight up to this multiple of the first sigma, and fades beyond
    full_weight_until: float = 100.0
    # The first sigma, in units of the range of a dual variable over that of the predictions:
    # about a third of the rows have curvature then.
    first_sigma: float = 0.3
    # the same from a dual point near a solution, as a multiple of the first: few rows need it
    warm_sigma: float = 10.0
    # Sigma is multiplied by this where a round took few Newton steps and shrank the gap ...
    sigma_factor: float = 3.0
    few_steps: int = 3
    # ... to this share at least: else the rows at a kink are not yet found; and divided by it
    # where a round took many.
    round_progress: float = 0.7
    many_steps: int = 6
    # Newton steps after which a round is stuck, the envelope being too close to the loss, and
    # by what sigma is divided then
    longest_round: int = 20
    stuck_factor: float = 10.0
    # A round ends once the penalty has less than this share of the gap: the rest is the distance
    # of the losses from their envelopes, which only new multipliers reduce.
    penalty_share: float = 0.95

    # Working sets of features

    # Features that may join at a time, at least: a Gram matrix of so many costs nothing
    fewest: int = 50
    # For a quadratic loss and sparse rows, so many products with the data may a Gram matrix cost,
    # where that is enough for half of the features: then few steps of many cost least
    gram_products: float = 4.0
    # Features of a working set at most, where as many rows have curvature: 128 MB
    largest_working_set: int = 4000
    # Gradients of only some features are kept up to date until the gap on them is this share of
    # that on all
    inner_gap: float = 0.6
    # ... and only where they take at most this share of the time for all: one step solves a
    # quadratic problem, several are needed for others
    inner_work: float = 0.5
    inner_work_quadratic: float = 0.2
    # The working set has settled if the gap on all features is at most so many times that on it
    settled_ratio: float = 2.0
    # The step of the proximal gradients that tell which features violate optimality, as a share
    # of the step that would change the largest coefficient by itself: small, so that nearly
    # all coefficients stay on their side of their kinks
    small_step: float = 1e-2

    # Newton steps

    # Accuracy of quadratic models, as shares of the largest violation: of quadratic losses with
    # a Gram matrix, where a step solves the problem; of other losses
    accuracy_quadratic: float = 1e-4
    accuracy: float = 1e-2
    # ... with linear pieces and a separable penalty, whose rows with curvature change anyway
    accuracy_kinked: float = 3e-2
    # ... without a Gram matrix, where accuracy costs passes over the columns
    accuracy_by_columns: float = 3e-2
    accuracy_by_columns_kinked: float = 1e-1
    # ... of coupled outputs, where another Newton step costs as little as few products
    accuracy_by_products: float = 1e-1
    # An error of the gradient that adds so much of the gap wanted, where it tells beforehand
    gap_share: float = 0.1
    # The next step may take the last Gram matrix (a chord step) where the gap, if it shrinks
    # as it did last, comes below this share of the target
    chord_margin: float = 0.3
    # The line search ends where the slope is this share of that at the start, up or down:
    # a full step is accepted with a larger one
    full_step_slope: float = 0.5
    line_search_slope: float = 0.1
    line_search_halvings: int = 40
    # Rounding error of a slope along a line, as a share of the objective
    slope_rounding: float = 1e-13

    # When to ask for a certificate, which costs several products with the data

    # Newton steps between certificates: at least, if the gap has fallen to this share; and at most
    check_every: int = 8
    check_progress: float = 0.05
    check_at_last: int = 30
    # Newton steps without a tenth off the gap after which the method gives up
    patience: int = 200
    # and those without progress of the certified gaps (`Monitor.watch`), where estimates are 0
    certified_patience: int = 1000
    progress: float = 0.9

    # Rows left out, while their losses stay linear

    # They return once the gap is this share of that when they were left, or after so many steps
    thaw_gap: float = 0.1
    thaw_after: int = 20
    # The radius within which predictions may move: so many times what they did move, no less than
    # this share of the last
    radius_factor: float = 2.0
    least_radius: float = 0.3
    # and half the last where too many rows may bend
    radius_shrink: float = 0.5
    # Rows are worth leaving out where at most so many have curvature, and so many may have it
    # soon: shares of the weight, so that a weight of 2 equals a repeated row
    curved_share: float = 0.25
    bending_share: float = 0.33

    # Prediction along a path

    # A step of log alpha that is at most so many times the last is predicted from it
    most_change: float = 4.0
    # A feature may become active if its gradient is expected above this share of alpha
    coming: float = 0.98

    # A sample of the rows to begin with, where they are many for each feature

    # Rows for each variable, and the share of all rows, at least
    sample_rows: int = 60
    sample_share: float = 0.1
    # The sample is worth it where all rows are so many times as many
    sample_worth: int = 4
    # Relative gap on the sample: so far is its solution from that on all rows anyway
    sample_gap: float = 0.1
    sample_steps: int = 100

    # What a step with groups costs beside others, in the units of `skpd.designs.newton_cost`:
    # its models are solved in rounds
    grouped_overhead: float = 1e6


@dataclass(frozen=True)
class QuadraticSettings:
    """Numbers of the penalised quadratic problems that Newton steps solve."""

    # Turns of coordinate descent and Newton steps at most
    most_rounds: int = 20
    # Columns up to which LAPACK saves less than a factor that serves several steps
    compiled_columns: int = 2000
    # What the diagonal of a system is multiplied by, so that rounding leaves it positive definite
    diagonal_factor: float = 1.0 + 1e-14

    # Without a Gram matrix, where accuracy costs passes over the columns

    # Columns up to which a direct step is worth their Gram matrix, whose factor serves others
    gram_columns: int = 1000
    # Sweeps of coordinate descent until conjugate gradients take their turn
    sweeps: int = 10
    # The share of the residual that conjugate gradients leave
    linear_accuracy: float = 0.5
    # Their steps, between these, are as many as take the time of a direct step.
    fewest_linear_steps: int = 20
    most_linear_steps: int = 500
    # Passes over the columns, after which another Newton step does more
    most_passes: int = 300


@dataclass(frozen=True)
class DampedSettings:
    """Numbers of the damped Newton steps to the last digits of bounds."""

    # When to end: steps without the gap falling to this share of the least, or the objective by
    # this share of the gap
    patience: int = 20
    progress: float = 0.9
    objective_progress: float = 0.1

    # The damping, a multiple of a bound on the curvature, begins at 0. Where the objective falls
    # by more than a good share of what the slope promises (1/2 is that of a quadratic function),
    # the next step has less damping, and none below the least; with a fair share it has as much;
    # else it has more, and at least the least.
    good_gain: float = 0.3
    fair_gain: float = 0.1
    damping_decrease: float = 0.1
    damping_increase: float = 10.0
    least_damping: float = 1e-6
    # Dampings to try at most: the last is so large that a step goes along the scaled gradient
    most_dampings: int = 12
    # What is added to the curvature, as a share of the largest, for variables that have none, such
    # as the coefficients of empty columns
    least_curvature: float = 1e-12

    # Conjugate gradients: the squared norm of the residual that is left, as a share of the
    # relative gap, and at most; and their steps, at most
    accuracy_of_gap: float = 0.1
    coarsest_accuracy: float = 0.01
    most_linear_steps: int = 500
    # Variables whose Hessian is formed, which is less work than the products it saves
    largest_hessian: int = 1000

    # The line search ends where the objective falls by this share of what the slope promises, up
    # to a relative increase that may be rounding, and tries so many halvings.
    sufficient_decrease: float = 1e-4
    objective_rounding: float = 1e-14
    search_halvings: int = 6

    # Of the least scale of a Huber model, as a share of the tolerance: what it costs then is that
    # share of the gap asked for
    least_scale: float = 0.1


SETTINGS = MultiplierSettings()
QUADRATIC = QuadraticSettings()
DAMPED = DampedSettings()


@dataclass(frozen=True)
class OutputQuadraticSettings:
    """Numbers of the penalised quadratic problems in a matrix of coefficients."""

    # Turns of coordinate descent and Newton steps at most, and sweeps in a turn
    most_rounds: int = 50
    sweeps: int = 10
    # Sweeps where each reads X: they find the support, conjugate gradients the values
    sweeps_by_products: int = 1
    # Rows up to which a Newton step, which takes their number cubed, does more than sweeps
    newton_rows: int = 600
    halvings: int = 7
    # What the diagonal of a system is multiplied by, so that rounding leaves it positive definite
    diagonal_factor: float = 1.0 + 1e-14
    # Turns of sweeps over a Gram matrix, which cost little, after a Newton step that was none
    sweeps_without_steps: int = 100
    # By what a curvature is multiplied beside its excess where it proves no bound, how often at
    # most, and the relative excess that may be rounding
    bound_increase: float = 1.1
    most_bounds: int = 20
    bound_rounding: float = 1e-9
    # The least curvature in a preconditioner, as a share of a row's largest: for directions that
    # have none but by a penalty
    least_curvature: float = 1e-8
    # The share of the residual that conjugate gradients leave, and their steps at most
    linear_accuracy: float = 0.1
    most_linear_steps: int = 100
    # ... where there are no kinks, so that they are all that a Newton step takes
    most_smooth_steps: int = 500


OUTPUT_QUADRATIC = OutputQuadraticSettings()
