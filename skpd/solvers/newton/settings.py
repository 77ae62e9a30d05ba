"""The tuned numbers of the method of multipliers: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["SETTINGS", "MultiplierSettings"]


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
    progress: float = 0.9

    # Rows left out, while their losses stay linear

    # They return once the gap is this share of that when they were left, or after so many steps
    thaw_gap: float = 0.1
    thaw_after: int = 20
    # The radius within which predictions may move: half the last where too many rows may bend,
    # and later so many times what they did move, and no less than this share of the last
    radius_factor: float = 2.0
    least_radius: float = 0.3

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


SETTINGS = MultiplierSettings()
