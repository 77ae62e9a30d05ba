"""The settings of the interior-point methods, each with its unit and its reason."""

from ..certificate_schedule import ScheduleSettings

# Rounding limits the products after so many iterations without progress. An iteration that
# decreases the gap by a large factor may be the last that rounding allows.
SCHEDULE = ScheduleSettings(certify_at=10.0, decrease=1.0 / 30.0, patience=20)


class InteriorSettings:
    """Settings of the interior-point method, which no proof depends on.

    "The gap" is the estimate of the primal-dual gap at the current point: the products of slacks
    and multipliers, and what the residuals of the optimality conditions cost.
    """

    # A subproblem, whose solution may be inexact, ends after so many iterations without progress,
    # and so many in total, where 10 to 30 are usual.
    inner_patience: int = 8
    inner_iterations: int = 60

    # Newton steps

    # Products, as a share of the requested gap, below which only residuals are reduced, by steps
    # that do not change the products, until a step leaves more than the second share of the
    # residuals. With decreasing products, rounding errors would limit the residuals.
    products_goal: float = 0.1
    residual_progress: float = 0.5
    # A step aims at products of their share that remains after the predictor, to this power
    # (Mehrotra, 1992) ...
    centring_power: int = 3
    # ... and at least this share of the residuals times that share, as residuals hardly decrease
    # with slacks near the boundary, but not at products that grow by more than the factor.
    residual_share: float = 0.15
    largest_growth: float = 3.0
    # A step ends before the boundary, by a share of the distance: this share of what remains of
    # the products after the predictor, and at least the second number. Iterates too near to the
    # boundary could take short steps only.
    boundary_distance: float = 0.1
    least_boundary_distance: float = 0.005
    # A step is halved, at most this number of times, until the error of its Newton model is at
    # most the sum of products and residuals.
    model_halvings: int = 10

    # The initial radius lam of the robust SVM, in units of the inverse of epsilon or of the size
    # of X
    first_radius: float = 10.0
    # Initial values in the middle of their range, as a share of its end: the multiplier of a flip,
    # those of |w_j| <= t, and the part of an elastic-net ball's radius that goes to the l1 norm
    first_share: float = 0.5

    # Linear systems

    # Rows or features of a system at most: its matrix takes 128 MB, as do the X of several outputs
    # and the decomposition for a trace norm at most.
    largest_system: int = 4000
    # The most features for which a matrix over the features is used even if there are fewer rows,
    # as it is as fast and needs no refinement
    few_features: int = 1000
    # Several outputs: the coefficients for each row of an output from which a matrix over the rows
    # is used, which is less exact
    features_per_row: float = 2.0
    # Shares of the diagonal to add until a matrix is positive definite in floating-point numbers
    regularisation: tuple[float, ...] = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
    # Multiplications in A'A up to which A is decomposed, in about a millisecond
    largest_decomposition: float = 3e5
    # The same limit for several outputs, which have many coefficients and rows for few samples;
    # the decomposition takes as long as the rest of an iteration
    largest_outputs_decomposition: float = 2e7
    # The regularisation of A, as a share of the norms of its columns: that of the diagonal of A'A
    # is its square.
    root_regularisation: float = 1e-9
    # The same for several unknowns without a penalty, which prevents a drift along directions that
    # do not change predictions, as with an intercept and one-hot features
    free_root_regularisation: float = 1e-6
    # Refinements of a solution of the rows' system at most, and the residual, relative to the
    # right side, at which they stop; rounds of refinements while the residual is larger than the
    # next share; and the share from which on a step would lead nowhere
    refinements: int = 8
    refined_residual: float = 1e-13
    refinement_rounds: int = 4
    usual_residual: float = 1e-6
    largest_residual: float = 1e-2
    # The least second derivative of a smooth loss, which may vanish by rounding
    least_curvature: float = 1e-12

    # Data

    # Ratio of spread to mean below which a feature is constant up to rounding
    constant_spread: float = 1e-13
    # Share of stored entries above which a sparse X is copied to an array for faster products
    dense_share: float = 0.25

    # The cost of a run: the number of iterations, and the additional cost of one, in the units of
    # `skpd.designs.newton_cost`
    expected_iterations: int = 25
    iteration_overhead: float = 4e5
    # How many times as fast products are with matrices over the rows of several outputs, of 1,000
    # to 4,000 rows, as with those of `newton_cost`
    large_matrices: float = 4.0


SETTINGS = InteriorSettings()
