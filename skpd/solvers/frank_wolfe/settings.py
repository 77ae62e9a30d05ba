"""The tuned numbers of the conditional gradient methods: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["BALL", "BLOCKS", "TRACE_NORM", "BallSettings", "BlockSettings", "TraceNormSettings"]


@dataclass(frozen=True)
class BlockSettings:
    """Numbers of primal-dual block Frank-Wolfe over the l1 ball, beside those of its theory."""

    # Entries of X and of the iterates between two looks at Ctrl-C: a fraction of a second
    pause_entries: float = 2e8
    # Iterations at most, after which the products are computed anew: they are changed by every
    # iteration, and so is their rounding error
    refresh_every: int = 1000


@dataclass(frozen=True)
class BallSettings:
    """Numbers of what is tried over the l1 ball."""

    # Passes over X that block Frank-Wolfe gets, and the largest max_i c_i ||x_i||^2 curvature / mu
    # at which these are likely to do
    block_passes: float = 60.0
    largest_condition: float = 30.0
    # The curvature of the loss that a kink counts for
    kink_curvature: float = 1e4

    # The search for the multiplier

    # The relative gap of a penalised problem, as a share of that asked for, and the least
    tol_factor: float = 0.1
    least_tol: float = 1e-13
    # The multiplier falls by this factor from the largest one, so often at most, until the norm
    # is too large
    multiplier_factor: float = 10.0
    most_decreases: int = 12
    # Accuracy of the logarithm of the multiplier, and steps to it at most: the gap ends it before
    root_accuracy: float = 1e-14
    most_root_steps: int = 100
    # What stretched coefficients are multiplied by, to be inside the ball in spite of rounding
    inside: float = 1.0 - 1e-15


@dataclass(frozen=True)
class TraceNormSettings:
    """Numbers of primal-dual block Frank-Wolfe over the trace-norm ball."""

    # The rank of the first update; it grows whenever that is not enough
    first_rank: int = 8
    # Steps in the primal alone end where so many have not reduced the gap to this share
    primal_patience: int = 4
    primal_progress: float = 0.5
    # Multiples from 0 to 1 of its last dual point among which the best one is looked for
    dual_multiples: int = 21

    # When to ask for a certificate: where the estimated gap is this share of that asked for, or of
    # that at the last check; and so often, with the line search and with the steps of the theory
    near_goal: float = 0.9
    check_progress: float = 0.1
    check_every: int = 200
    check_every_of_theory: int = 25

    # Steps after which X' theta is computed anew, rid of the rounding of its changes
    refresh_every: int = 100

    # The share of the conjugate's largest curvature that the line search counts with: on the ball
    # it bends less than 1 / alpha. It falls by the first factor with every step; where a step has
    # lowered the dual by more than rounding, a share of its value, that step is undone and the
    # share grows by the second.
    curvature_decrease: float = 0.8
    curvature_increase: float = 4.0
    value_rounding: float = 1e-12
    # What is added to the diagonal of the model of two moves, which may be nearly the same
    regularisation: float = 1e-12

    # Singular values

    # Columns of the subspace beyond the rank, and iterations, each from the subspace before
    extra_columns: int = 8
    subspace_sweeps: int = 2
    # Singular values below this share of the largest are rounding
    value_noise: float = 1e-11


BLOCKS = BlockSettings()
BALL = BallSettings()
TRACE_NORM = TraceNormSettings()
