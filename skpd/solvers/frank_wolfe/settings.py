"""The settings of the conditional gradient methods, each with its unit and its reason."""


class BallSettings:
    """Settings of the methods that are tried for an l1 ball."""

    # The most passes over X of block Frank-Wolfe, and the largest max_i c_i ||x_i||^2 curvature /
    # mu at which these are expected to suffice
    block_passes: float = 60.0
    largest_condition: float = 30.0
    # The curvature that is assumed for a kink of the loss
    kink_curvature: float = 1e4

    # The search for the multiplier

    # The relative gap of a penalised problem, as a share of the requested one, and the least one
    tol_factor: float = 0.1
    least_tol: float = 1e-13
    # The factor by which the multiplier decreases until the norm is too large, and the most
    # decreases
    multiplier_factor: float = 10.0
    most_decreases: int = 12
    # Factor of coefficients scaled to the sphere, which are inside the ball in spite of rounding
    inside: float = 1.0 - 1e-15


class TraceNormSettings:
    """Settings of primal-dual block Frank-Wolfe over the trace-norm ball."""

    # Primal steps end when this number of them has not reduced the gap to a share
    primal_patience: int = 4
    primal_progress: float = 0.5
    # Multiples from 0 to 1 of its last dual point among which the best one is looked for
    dual_multiples: int = 21

    # The fixed cost of a step, in multiplications of dense vectors: 0.25 ms
    step_overhead: float = 2e5
    # Steps after which X' theta is recomputed, as updates accumulate rounding errors
    refresh_every: int = 100

    # The share of the conjugate's largest curvature 1 / alpha that the line search assumes, as the
    # curvature on the ball is smaller. It decreases by the first factor in every step. If a step
    # decreases the dual by more than rounding, the step is undone and the share increases by the
    # second factor.
    curvature_decrease: float = 0.8
    curvature_increase: float = 4.0
    # Rounding errors as a share of the dual value, and as a ridge of the model of two moves, which
    # may be nearly parallel
    rounding: float = 1e-12


BALL = BallSettings()
TRACE_NORM = TraceNormSettings()
