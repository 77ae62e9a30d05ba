"""The settings of the Newton methods, each with its unit and its reason."""

from typing import NamedTuple

from ..certificate_schedule import ScheduleSettings


class Accuracy(NamedTuple):
    """The accuracies of quadratic models by the kind of loss, as shares of the largest violation.

    The first is for quadratic losses, the second for other smooth ones, and the third for losses
    with linear pieces.
    """

    quadratic: float
    smooth: float
    kinked: float


class MultiplierSettings:
    """Settings of the method of multipliers, which no proof depends on.

    "The gap" is the estimate of the primal-dual gap at the current point.
    """

    # Multipliers: the parameter sigma of the Moreau envelopes and the proximal term delta

    # delta for small sigma: the share of a feature's mean square that is added to the curvature.
    # It makes systems regular and hardly slows down convergence.
    proximal_weight: float = 1e-3
    # delta is at its full weight up to this multiple of the first sigma, and fades beyond
    full_weight_until: float = 100.0
    # The first sigma, in units of the range of a dual variable over that of the predictions:
    # about a third of the rows have curvature then.
    first_sigma: float = 0.3
    # The first sigma from a dual point near a solution, as a multiple of first_sigma, as only few
    # rows need to have curvature.
    warm_sigma: float = 10.0
    # Sigma is multiplied by this where a round took one Newton step, or few and shrank the gap ...
    sigma_factor: float = 3.0
    few_steps: int = 3
    # ... to this share at least: else the rows at a kink are not yet found; and divided by it
    # where a round took many.
    round_progress: float = 0.7
    many_steps: int = 6
    # Newton steps after which a round counts as stuck, as the envelope is too close to the loss;
    # and the divisor of sigma in this case
    longest_round: int = 20
    stuck_factor: float = 10.0
    # A round ends once the penalty has less than this share of the gap: the rest is the distance
    # of the losses from their envelopes, which only new multipliers reduce.
    penalty_share: float = 0.95

    # Working sets of features

    # The least number of features that may join at a time, for which a Gram matrix is cheap
    fewest: int = 50
    # The most features that may join at a time, as a multiple of the active ones; and for several
    # outputs, whose systems cost most, before whole groups join
    growth: float = 1.0
    growth_of_outputs: float = 0.15
    # For a quadratic loss and sparse rows, the largest cost of a Gram matrix in products with the
    # data, if it suffices for half of the features: few steps on many features then cost least
    gram_products: float = 4.0
    # The largest rows times features of a table from which a loss of all scores forms its Hessian
    largest_score_table: int = 20_000_000
    # The most features with which a loss of all scores and a squared l2 penalty take Newton steps
    score_features: int = 500
    # The most features of a working set if as many rows have curvature, 128 MB
    largest_working_set: int = 4000
    # The step of the proximal gradients that measure violations of optimality, as a share of the
    # step that would change the largest coefficient by its size: small, so that nearly all
    # coefficients keep their sign
    small_step: float = 1e-2

    # Tables on which all steps are taken in one call: the most entries and features, with which
    # the calls of Python take 0.1 to 0.5 of a fit otherwise
    small_table: int = 100_000
    small_features: int = 100
    # The steps after which rounding errors keep such a fit from its tolerance, or another method
    # is needed
    small_steps: int = 50
    # The accuracy of their quadratic models: a step on a quadratic loss solves the problem
    accuracy_on_small_tables: Accuracy = Accuracy(1e-9, 1e-3, 1e-3)

    # Newton steps

    # Accuracy of quadratic models: with a Gram matrix, where a step on a quadratic loss solves the
    # problem, and the rows with curvature of a kinked one change anyway; of several outputs, whose
    # systems cost most; without, where accuracy costs passes over the columns; and of coupled
    # outputs, where another Newton step costs as little as few products
    accuracy_by_matrix: Accuracy = Accuracy(1e-4, 1e-2, 3e-2)
    accuracy_by_blocks: Accuracy = Accuracy(1e-1, 1e-2, 3e-2)
    accuracy_by_columns: Accuracy = Accuracy(3e-2, 3e-2, 1e-1)
    accuracy_by_products: Accuracy = Accuracy(3e-2, 1e-1, 1e-1)
    # The line search ends where the slope is this share of that at the start, up or down:
    # a full step is accepted with a larger one
    full_step_slope: float = 0.5
    line_search_slope: float = 0.1
    line_search_halvings: int = 40
    # Damping of losses of all scores, in curvatures of the losses: after shorter steps it
    # increases from the least, and decreases after whole ones. A run may have so many short ones.
    short_step: float = 0.1
    most_short_steps: int = 10
    least_damping: float = 1e-4
    damping_increase: float = 10.0
    damping_decrease: float = 0.3
    # Rounding error of a slope along a line, as a share of the objective
    slope_rounding: float = 1e-13

    # Rows left out, while their losses stay linear

    # Rows return once the gap is this share of that when they were left out, or after a number of
    # steps
    return_gap: float = 0.1
    return_after: int = 20
    # The radius within which predictions may change: this times their last change, and at least a
    # share of the last radius
    radius_factor: float = 2.0
    least_radius: float = 0.3
    # and this share of the last radius if too many rows may have curvature
    radius_shrink: float = 0.5
    # Rows are left out if at most this share has curvature, and at most a second share may have it
    # soon. They are shares of the weight, so that a weight of 2 is equivalent to a repeated row.
    curved_share: float = 0.25
    bending_share: float = 0.33

    # Prediction along a path

    # A step of alpha of at most this times the last one is predicted from it
    most_change: float = 4.0
    # A feature may become active if its gradient is expected above this share of alpha
    coming: float = 0.98

    # Larger alphas, for fewer rows than features: the ratio of one to the next, and the steps that
    # each takes at most
    alpha_ratio: float = 4.0
    alpha_steps: int = 12
    # The relative gap at which each ends: at most, and over its share in the largest alpha, as
    # objectives decrease with alpha
    largest_gap: float = 0.1
    gap_per_alpha: float = 3.0
    # Quadratic losses take larger alphas first below this share of the largest, where hard fits
    # take a third of the time; easy ones take 1.3 times as long
    small_alpha: float = 0.005

    # A sample of the rows for the first iterations, if there are many rows for each feature

    # Rows for each variable, and the share of all rows, at least
    sample_rows: int = 60
    sample_share: float = 0.1
    # A sample is used if there are at least this times as many rows in total
    sample_worth: int = 4
    # Relative gap on the sample, about that of its exact solution on all rows
    sample_gap: float = 0.1
    sample_steps: int = 100


class QuadraticSettings:
    """Settings of the penalised quadratic problems that Newton steps solve."""

    # The largest number of turns of coordinate descent and Newton steps
    most_rounds: int = 50
    # Sweeps of coordinate descent between Newton steps, for small problems
    sweeps: int = 5
    # Turns of both after which proximal points take fewer, as H may be singular; the weight of the
    # distance, in mean curvatures; and so few coefficients that these turns are faster
    rounds: int = 4
    proximal_ridge: float = 1e-3
    few_coefficients: int = 100
    # The most coefficients in groups for which Newton steps are faster than sweeps alone, as each
    # needs a new factor, and the most sweeps for more
    small_groups: int = 400
    sweeps_of_groups: int = 100

    # Without a Gram matrix, where accuracy costs passes over the columns

    # Sweeps of coordinate descent until conjugate gradients take their turn
    sweeps_by_columns: int = 10
    # The relative residual at which conjugate gradients stop, and their largest number of steps
    linear_accuracy: float = 0.5
    most_linear_steps: int = 500
    # Passes over the columns after which a new Newton step is more effective
    most_passes: int = 300


SETTINGS = MultiplierSettings()
SCHEDULE = ScheduleSettings(certify_at=1.0, every=30, patience=200)
QUADRATIC = QuadraticSettings()


class OutputQuadraticSettings:
    """Settings of the penalised quadratic problems in a matrix of coefficients."""

    # Sweeps if each reads X; they find the support, and conjugate gradients the values
    sweeps_by_products: int = 1
    halvings: int = 7
    # Turns of sweeps over a Gram matrix, which are cheap, after a failed Newton step
    sweeps_without_steps: int = 100
    # Additional factor of a curvature that was not an upper bound, and the largest number of such
    # increases
    bound_increase: float = 1.1
    most_bounds: int = 20
    # The relative residual at which conjugate gradients stop, and the largest number of steps
    linear_accuracy: float = 0.1
    most_linear_steps: int = 100


OUTPUT_QUADRATIC = OutputQuadraticSettings()
