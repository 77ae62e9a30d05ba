"""The tuned numbers of the interior-point methods: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["FACES", "SETTINGS", "FaceSettings", "InteriorSettings"]


@dataclass(frozen=True)
class InteriorSettings:
    """Numbers of the interior-point method. None has a part in a proof.

    "The gap" is the estimate of the primal-dual gap at the current point: the products of slacks
    and multipliers, and what the residuals of the optimality conditions cost.
    """

    # When to end, and when to ask for a certificate

    # Iterations without the gap falling to this share of the least one, after which rounding keeps
    # the products from falling and the method ends unfinished
    patience: int = 20
    progress: float = 0.9
    # The gap, in units of that asked for, at which the certified one may be small enough
    near_goal: float = 10.0
    # Else it is certified where the gap has fallen by this factor since the last certificate, or
    # after so many iterations: what was reached must not be lost if rounding ends the run.
    check_factor: float = 30.0
    check_every: int = 10

    # Newton steps

    # Products, as a share of the gap asked for, below which only residuals are reduced: by steps
    # that leave the products as they are, until one of these leaves more than the other share of
    # the residuals. Steps to smaller products keep residuals up by rounding.
    products_goal: float = 0.1
    residual_progress: float = 0.5
    # A step aims at the products that are left after the predictor, as a share, to this power
    # (Mehrotra, 1992) ...
    centring_power: int = 3
    # ... and at no less than this share of the residuals times that share, as residuals can hardly
    # fall with slacks at the boundary, but not at products that grow by more than the factor.
    residual_share: float = 0.15
    largest_growth: float = 3.0
    # A step ends before the boundary, by a share of the way there: this share of what the
    # predictor leaves of the products, and at least the other. Iterates that come too near have
    # short steps from then on.
    boundary_distance: float = 0.1
    least_boundary_distance: float = 0.005
    # A step is halved, so many times at most, until the error of its Newton model is at most this
    # multiple of the products and residuals.
    model_error: float = 1.0
    model_halvings: int = 10

    # Where to begin, for the robust SVM: the radius lam, in units of the inverse of epsilon or of
    # the size of X, and the multiplier of a flip, as a share of epsilon / kappa
    first_radius: float = 10.0
    first_flip: float = 0.5
    # The multipliers of |w_j| <= t, as a share of what they sum to at the optimum over their
    # number: all begin well inside.
    first_slope: float = 0.5
    # The part of an elastic-net ball's radius that goes to the l1 norm
    first_l1_part: float = 0.5

    # Linear systems

    # Rows or features of a system at most: its matrix takes 128 MB.
    largest_system: int = 4000
    # Numbers in the X of several outputs, and in the decomposition for a trace norm: 128 MB
    largest_table: float = 16e6
    # Features that take a matrix of their own even where the rows are fewer: it is as fast, and
    # needs no refinement
    few_features: int = 1000
    # Shares of the diagonal to add until a matrix is positive definite in floating-point numbers
    regularisation: tuple[float, ...] = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
    # Multiplications in A'A up to which A is decomposed: that takes less than a millisecond
    largest_decomposition: float = 2e5
    # The same where digits matter more than time, rows of the penalty included: 0.1 s
    largest_precise_decomposition: float = 2e8
    # The same for several outputs, whose coefficients and rows are many for few samples: as many
    # milliseconds as the rest of an iteration
    largest_outputs_decomposition: float = 2e7
    # The regularisation of A, as a share of the norms of its columns: that of the diagonal of A'A
    # is its square.
    root_regularisation: float = 1e-9
    # The same for unknowns without a penalty where they are several: along directions in which
    # they change nothing together, as an intercept and one-hot features do, they would drift.
    free_root_regularisation: float = 1e-6
    # Refinements of a solution of the rows' system at most, and the residual, relative to the
    # right side, at which they stop
    refinements: int = 8
    refined_residual: float = 1e-13
    # The second derivative of the logistic loss at least, where it would vanish
    least_logistic_curvature: float = 1e-12

    # Data

    # Spread over mean of a feature that is constant but for rounding
    constant_spread: float = 1e-13
    # Share of entries from which on a sparse X is copied as an array: products are faster then
    dense_share: float = 0.25

    # What a run costs: iterations, and that of one beside that of any Newton step, in the units of
    # `skpd.designs.newton_cost`
    expected_iterations: int = 25
    iteration_overhead: float = 4e5


@dataclass(frozen=True)
class FaceSettings:
    """Numbers of the method for the l-infinity norm of many features."""

    # Free coefficients to begin with, and that may join at a time, at least
    first_free: int = 300
    # Relative gap to which the first working set is solved: it is far from the last one
    first_tol: float = 0.03
    # The gap to which the next one is, as a share of the last; and any at most, as a share of that
    # asked for
    tol_factor: float = 0.1
    least_tol: float = 0.3
    # Products, as a share of that gap, below which only residuals are reduced
    products_goal: float = 0.1
    # Relative distance from the height at which a coefficient of a loss with kinks joins it
    height_distance: float = 1e-3
    # Iterations for a working set at most
    most_steps: int = 60


SETTINGS = InteriorSettings()
FACES = FaceSettings()
