"""The compiled kernels: products with the data, passes over the rows, projections and methods.

Their bindings are in the folder `bind`, and the formulas in the headers that those name. Arguments
are positional. Vectors have an entry for each row (n) or column (d), or the shape that is said.
They and tables are contiguous, and are read and written in place. A ``ValueError`` tells of shapes
that do not fit each other.
"""

from collections.abc import Sequence
from typing import TypeAlias, type_check_only

import numpy as np
from numpy.typing import NDArray

from .._typing import Array, Indices, Numbers

_Places: TypeAlias = NDArray[np.int32]
_Entries: TypeAlias = NDArray[np.float64] | NDArray[np.float32]

# Data

class Matrix:
    """A dense or sparse matrix X (n, d), whose arrays are borrowed."""

    @staticmethod
    def dense(table: _Entries, by_columns: bool = False, n_threads: int = 1, /) -> Matrix:
        """Makes a dense matrix from a table that is contiguous along its rows or its columns."""
    @staticmethod
    def sparse(
        data: _Entries,
        indices: _Places | Indices,
        indptr: _Places | Indices,
        n_rows: int,
        n_columns: int,
        by_row: bool,
        n_threads: int = 1,
        /,
    ) -> Matrix:
        """Makes a sparse matrix from the arrays of its CSR (by_row) or CSC format."""
    @property
    def n_rows(self) -> int:
        """The number n of rows."""
    @property
    def n_columns(self) -> int:
        """The number d of columns."""
    @property
    def by_row(self) -> bool:
        """Whether the matrix is stored by rows."""
    @property
    def n_entries(self) -> int:
        """The number of stored entries."""
    def matvec(self, coef: Array, /) -> Array:
        """Returns X coef."""
    def rmatvec(self, rows: Array, /) -> Array:
        """Returns X' rows."""
    def rmatvec_some(self, rows: Array, columns: Indices, /) -> Array:
        """Returns X_W' rows for the columns W of a matrix that is dense or stored by columns."""
    def matvec_absolute(self, coef: Array, /) -> Array:
        """Returns |X| coef."""
    def rmatvec_absolute(self, rows: Array, /) -> Array:
        """Returns |X|' rows."""
    def matvec_square(self, coef: Array, /) -> Array:
        """Returns (X * X) coef."""
    def rmatvec_square(self, rows: Array, /) -> Array:
        """Returns (X * X)' rows."""
    def matvec_compensated(self, coef: Array, intercept: float, /) -> tuple[Array, Array, Array]:
        """Returns X coef + intercept as a sum high + low, and a bound on its error."""
    def matvec_bounded(self, coef: Array, intercept: float, /) -> tuple[Array, Array]:
        """Returns X coef + intercept and a bound on its rounding error."""
    def rmatvec_bounded(self, weights: Array, rows: Array, /) -> tuple[Array, Array]:
        """Returns X' (weights * rows) and a bound on its rounding error."""
    def rmatvec_compensated(self, weights: Array, rows: Array, /) -> tuple[Array, Array, Array]:
        """Returns X' (weights * rows) as a sum high + low, and a bound on its error."""
    def gram(self, h: Array, columns: Indices, ones: bool, out: Array, /) -> None:
        """Writes out = X_W' diag(h) X_W over increasing columns W, and over ones if asked."""
    def dual_descent(
        self,
        loss: _AnyLoss,
        y: Array,
        weights: Array,
        theta: Array,
        alpha: float,
        constant: float,
        threshold: float,
        offset: float,
        seed: int,
        /,
    ) -> DualDescent:
        """Makes a `DualDescent` for a loss of one prediction; y, weights and theta (n)."""
    def class_descent(
        self,
        y: Array,
        weights: Array,
        theta: Array,
        alpha: float,
        constant: float,
        offsets: Array,
        seed: int,
        /,
    ) -> DualDescent:
        """Makes one for the loss of Crammer and Singer; y and theta (n * n_classes)."""

class DualProducts:
    """The products p = X' diag(weights) theta (d) of a sequence of theta (n)."""

    def __init__(self, matrix: Matrix, weights: Array, /) -> None:
        """Starts at theta = 0, on a matrix that is stored by columns."""
    def take(self, theta: Array, threshold: float, coef: Array | None, /) -> bool:
        """Updates p to theta; returns whether p or the bounds have changed."""
    def product(self) -> Array:
        """Returns p (d)."""
    def error(self) -> Array:
        """Returns bounds (d) on the errors of p."""

class ScaledColumns:
    """Columns of A = diag(h)^(1/2) X for X (n, d) and h (n), without the rows with h_i = 0."""

    def __init__(self, matrix: Matrix, h: Array, columns: Indices, ones: bool, /) -> None:
        """Takes these columns of X, multiplied by h^(1/2), after h^(1/2) if ones is true."""
    @property
    def n_rows(self) -> int:
        """The number m of rows with h_i > 0."""
    @property
    def size(self) -> int:
        """The number of columns."""
    def squares(self) -> Array:
        """Returns ||A_a||^2 of every column a (size)."""
    def descend(
        self,
        indices: Indices,
        g: Array,
        w: Array,
        ridge: Array,
        penalty: SeparableCoordinates | GroupedCoordinates,
        p: Array,
        s: Array,
        sweeps: int,
        tol: float,
        /,
    ) -> tuple[float, int]:
        """Sweeps of coordinate descent, which update p (k) and s = A (p - w) (m).

        Returns the last change of a gradient and the number of sweeps.
        """
    def newton_step(
        self,
        indices: Indices,
        g: Array,
        w: Array,
        ridge: Array,
        penalty: SeparableCoordinates | GroupedCoordinates,
        p: Array,
        s: Array,
        max_steps: int,
        tol: float,
        /,
    ) -> int:
        """A Newton step on the support of p; returns the number of conjugate gradients."""

def sampled_products(
    left: Array, right: Array, rows: _Places, columns: _Places, out: Array, /
) -> None:
    """Writes out_e = sum_k left[rows_e, k] right[columns_e, k]."""

# Losses

@type_check_only
class _Loss:  # what all losses of one prediction have
    def smoothed_derivatives(
        self,
        y: Array,
        weights: Array,
        theta: Array,
        z: Array,
        sigma: float,
        derivative: Array,
        gradient: Array,
        curvature: Array,
        /,
    ) -> tuple[float, float]:
        """Writes two derivatives of the smoothed losses; returns their primal and dual sums."""
    def rows_that_bend(
        self,
        y: Array,
        theta: Array,
        z: Array,
        sigma: float,
        derivative: Array,
        curvature: Array,
        radius: float,
        /,
    ) -> Indices:
        """Returns the rows whose smoothed loss has a curvature within the radius of z."""
    def smoothed_slope(
        self,
        y: Array,
        weights: Array,
        theta: Array,
        z: Array,
        direction: Array,
        step: float,
        sigma: float,
        /,
    ) -> float:
        """Returns the slope of the smoothed losses along a direction."""
    def prox_conjugate(self, y: Array, theta: Array, step: Array, /) -> Array:
        """Returns argmin over x of l*(y_i, x) + (x - theta_i)^2 / (2 step_i) for each row."""

@type_check_only
class _BendingLoss(_Loss):  # a loss that has a curvature wherever it has a slope
    def newton_steps(
        self,
        matrix: Matrix,
        y: Array,
        weights: Array,
        penalty: SeparableCoordinates,
        goal: NewtonGoal,
        settings: NewtonSettings,
        max_steps: int,
        variables: Array,
        derivative: Array,
        /,
    ) -> int:
        """Minimises over the variables (d or d + 1), from their values; returns the steps' number.

        Writes the variables and the derivatives of the losses (n).
        """

class HingeLoss(_BendingLoss):
    """The hinge losses have phi*(u) = u + curvature u^2 / 2 on [lower, 0]."""

    def __init__(self, lower: float, curvature: float, /) -> None: ...

class GeneralizedHingeLoss(_Loss):
    """The generalised hinge loss has phi*(u) = max(u, -1) on [-slope, 0]."""

    def __init__(self, slope: float, /) -> None: ...

class LogisticLoss(_BendingLoss):
    """The logistic loss is phi(t) = log(1 + exp(-t))."""

    def __init__(self) -> None: ...
    def values(self, t: Array, /) -> Array:
        """Returns phi(t_i)."""
    def conjugates(self, u: Array, /) -> Array:
        """Returns phi*(u_i), which is inf outside its domain."""

class ResidualLoss(_BendingLoss):
    """Losses of residuals: phi*(u) = tube |u| + curvature u^2 / 2 on [lower, upper]."""

    def __init__(self, lower: float, upper: float, tube: float, curvature: float, /) -> None: ...

class PiecewiseLinearLoss(_Loss):
    """phi is linear between breakpoints (m), where it has the values (m), with slopes (m + 1)."""

    def __init__(
        self, breakpoints: Sequence[float], slopes: Sequence[float], values: Sequence[float], /
    ) -> None: ...

_AnyLoss: TypeAlias = (
    HingeLoss | GeneralizedHingeLoss | LogisticLoss | PiecewiseLinearLoss | ResidualLoss
)
_SmoothLoss: TypeAlias = HingeLoss | LogisticLoss | ResidualLoss

@type_check_only
class _DevianceLoss(_BendingLoss):  # half the unit deviance of a Tweedie distribution, log link
    def __init__(self, power: float, /) -> None: ...
    def values(self, s: Array, r: Array, /) -> Array:
        """Returns s_i phi(r_i), or e^(a r_i) / a if s_i = 0."""
    def derivatives(self, s: Array, r: Array, /) -> Array:
        """Returns s_i phi'(r_i), or e^(a r_i) if s_i = 0."""
    def conjugates(self, s: Array, theta: Array, /) -> Array:
        """Returns l*(y_i, theta_i) - theta_i log y_i."""

class PoissonLoss(_DevianceLoss):
    """Half the unit deviance of the Poisson distribution, of the power 1, with a log link."""

class GammaLoss(_DevianceLoss):
    """Half the unit deviance of the gamma distribution, of the power 2, with a log link."""

class TweedieLoss(_DevianceLoss):
    """Half the unit deviance of a Tweedie distribution of another power, with a log link."""

class NegativeBinomialLoss(_BendingLoss):
    """Half the unit deviance of the negative binomial distribution with a log link."""

    def __init__(self, k: float, /) -> None: ...

class NewtonGoal:
    """The gap at which Newton steps on a small table end."""

    def __init__(
        self,
        constant: float,
        tol: float,
        least: float,
        likely: float,
        sizes: Sequence[float],
        /,
    ) -> None: ...

class NewtonSettings:
    """The settings of Newton steps on a small table."""

    def __init__(
        self,
        accuracy: float,
        full_step_slope: float,
        line_search_slope: float,
        slope_rounding: float,
        halvings: int,
        sweeps: int,
        rounds: int,
        /,
    ) -> None: ...

class OrderedPinballs:
    """The pinball losses of quantiles (K) in order; all vectors have n K entries."""

    def __init__(self, quantiles: Sequence[float], /) -> None: ...
    def nearest(self, t: Array, /) -> Array:
        """Returns the nearest non-decreasing rows to those of t."""
    def derivatives(
        self, y: Array, theta: Array, z: Array, sigma: float, /
    ) -> tuple[Array, Array, Array]:
        """Returns the envelope's gradient, and d and e of its Hessian (diag(d) - e e') / sigma."""
    def smoothed_derivatives(
        self,
        y: Array,
        weights: Array,
        theta: Array,
        z: Array,
        sigma: float,
        derivative: Array,
        gradient: Array,
        curvature: Array,
        factor: Array,
        /,
    ) -> tuple[float, float, Array]:
        """Writes the derivatives of the envelope; returns the primal and dual sums, and overlaps.

        The overlaps (K - 1) are by how much each prediction but the last exceeds the next at most.
        """
    def smoothed_slope(
        self,
        y: Array,
        weights: Array,
        theta: Array,
        z: Array,
        direction: Array,
        step: float,
        sigma: float,
        /,
    ) -> float:
        """Returns the slope of the weighted sum of envelopes along a direction, at a step."""
    def entries_that_bend(
        self, y: Array, theta: Array, z: Array, sigma: float, radius: float, /
    ) -> Indices:
        """Returns the entries whose levels bend, or may after a change of z of this radius."""

class RiskSets:
    """The risk sets of n censored times, ordered by strata and times, with log S_l of terms."""

    def __init__(
        self,
        starts: Indices,
        last: Indices,
        log_weights: Array,
        event_weights: Array,
        entries: Indices,
        efron: bool,
        /,
    ) -> None:
        """Takes starts (n_groups + 1), last (n_groups), both weights (n) and entries (n or 0)."""
    @property
    def max_terms(self) -> int:
        """The largest number of terms of a group."""
    def log_sums(self, z: Array, /) -> tuple[Array, float, float]:
        """Returns log S_l (n_terms), their weighted sum, and the sum of its magnitudes."""
    def marginals(self, z: Array, log_sums: Array, /) -> Array:
        """Returns for each row (n) the weighted sum of its probabilities in the terms."""
    def entropy_of_events(self, z: Array, log_sums: Array, scale: float, /) -> tuple[float, float]:
        """Returns the weighted entropies of the events, and the sum of their magnitudes."""

def chain_forward(
    starts: Indices,
    nodes: Array,
    transitions: Array,
    range: float,
    log_partition: Array,
    forward: Array,
    potentials: Array,
    /,
) -> None:
    """The forward pass of scaled sum-product: writes log_partition, forward and potentials.

    Chains start at starts (n_chains + 1), nodes and forward (n_tokens, K), transitions and
    potentials (K, K).
    """

def chain_backward(
    starts: Indices,
    nodes: Array,
    range: float,
    forward: Array,
    potentials: Array,
    backward: Array,
    marginals: Array,
    counts: Array,
    /,
) -> None:
    """The backward pass after `chain_forward`: writes backward, marginals and counts."""

def chain_log_sums(
    starts: Indices, nodes: Array, transitions: Array, log_partition: Array, /
) -> None:
    """Writes log_partition (n_chains) for scores of any scale."""

def chain_best_labels(
    starts: Indices, nodes: Array, transitions: Array, values: Array, labels: Indices, /
) -> None:
    """Max-product: writes values (n_chains) and labels (n_tokens)."""

# Penalties and quadratics

class SeparableCoordinates:
    """The penalty sum_j alpha (l1_j |p_j| + l2_j p_j^2 / 2) within bounds."""

    def __init__(
        self,
        n_penalised: int,
        alpha: float,
        l1: Numbers,
        l2: Numbers,
        lower: Numbers,
        upper: Numbers,
        /,
    ) -> None:
        """Takes numbers, or arrays with n_penalised entries."""

class GroupedCoordinates:
    """The penalty l1 ||p||_1 + sum_g weights_g ||p_g||_2 of neighbouring groups."""

    def __init__(self, l1: float, weights: Array, starts: Indices, /) -> None:
        """Borrows weights (n_groups) and starts (n_groups + 1)."""

class SupportSystem:
    """The Cholesky factor of H + D on one support after another."""

    def __init__(self) -> None: ...

def minimise_separable(
    system: SupportSystem,
    H: Array,
    columns: Indices,
    penalty: SeparableCoordinates,
    p: Array,
    r: Array,
    sweeps: int,
    tol: float,
    rounds: int,
    /,
) -> bool:
    """Alternates coordinate descent and Newton steps; returns whether the former settled.

    Writes p and r (k); columns (n_penalised) name coordinates.
    """

def minimise_grouped(
    H: Array,
    penalty: GroupedCoordinates,
    p: Array,
    r: Array,
    sweeps: int,
    tol: float,
    rounds: int,
    /,
) -> float:
    """Alternates block coordinate descent and Newton steps, which write p and r.

    Returns the largest change of a gradient in the last sweep of the former.
    """

def move_shares(
    H: Array,
    e: Array,
    slopes: Array,
    a: Array,
    accuracy: float,
    least_share: float,
    max_steps: int,
    /,
) -> tuple[bool, float]:
    """Moves the shares a of planes to the minimum.

    Returns whether they settled, and the multiplier of a.s = 0.
    """

def active_or_violating(
    w: Array,
    gradient: Array,
    terms: SeparableCoordinates,
    step: float,
    steps: Array | None,
    expected: Array | None,
    /,
) -> tuple[Indices, Array, float]:
    """Returns the coordinates that are active or violating, their violations, and the largest."""

def descend_rows(
    H: Array,
    shares: Array,
    mask: Array,
    weights: Array,
    l1: float,
    l2: float,
    P: Array,
    R: Array,
    sweeps: int,
    tol: float,
    until_settled: bool,
    /,
) -> float:
    """Descends over the rows of P (m, K) with H (m, m, 1 or K) given by matrices; writes P and R.

    Returns the last change of a gradient.
    """

def descend_outputs(
    X: Matrix,
    features: Indices,
    ones: bool,
    d: Array,
    e: Array,
    diagonal: Array,
    ridge: Array,
    G: Array,
    W: Array,
    weights: Array,
    l1: float,
    l2: float,
    P: Array,
    U: Array,
    sweeps: int,
    tol: float,
    until_settled: bool,
    /,
) -> float:
    """Descends over the rows of P (m, K) with H given by columns; writes P and U (n, K).

    Returns the last change of a gradient.
    """

def coupled_gram(
    X: Matrix, d: Array, e: Array, index: Indices, ones: Indices, H: Array, /
) -> None:
    """Writes H = sum_i x_i x_i' (x) (diag(d_i) - e_i e_i') on the entries with an index."""

class IntervalStep:
    """A direction of the arguments, slacks and multipliers of `IntervalTerms`."""

class IntervalTerms:
    """The terms of an interior-point method at an iterate (s, u, slacks)."""

    def __init__(
        self,
        s: Array,
        sign: Array,
        weights: Array,
        lower: Array,
        upper: Array | None,
        width: Array,
        slope: Array,
        q: float,
        share: float,
        /,
    ) -> None:
        """Starts at s, with slacks of at least width."""
    def multipliers(self) -> Array:
        """Returns sign * u, the derivatives of the terms in the image."""
    def gradient(self) -> Array:
        """Returns sign * weights * u, the derivatives of the weighted terms in the image."""
    def products(self) -> float:
        """Returns sum_k c_k slack_k distance_k over the bounds, with distances of u from them."""
    def products_after(self, step: IntervalStep, primal: float, dual: float, /) -> float:
        """Returns `products` after a step of these lengths in the slacks and the multipliers."""
    def factorise(self) -> Array:
        """Returns the curvature (n) in the image without slacks and multipliers."""
    def shift(self, mu: float | None, affine: IntervalStep | None, /) -> Array:
        """Returns the change (n) of the gradient for a fixed image."""
    def direction(self, image: Array, /) -> IntervalStep:
        """Returns the direction of everything else that goes with a direction (n) of the image."""
    def largest_steps(self, step: IntervalStep, /) -> tuple[float, float]:
        """Returns the largest lengths (primal, dual) without a negative slack or distance."""
    def move(self, step: IntervalStep, primal: float, dual: float, /) -> None:
        """Takes a step of length primal in the slacks and of length dual in the multipliers."""
    def towards_kinks(self, step: IntervalStep, /) -> NDArray[np.uint8]:
        """Whether d slack / slack < d distance / distance along the step, at all bounds (n)."""

# Methods

class DualDescent:
    """Dual coordinate descent with its iterates v and theta."""

    def run(
        self, target: float, max_epochs: int, max_visits: float, /
    ) -> tuple[int, float, float]:
        """Runs epochs up to one of the limits; returns their number, that of visits, and the gap.

        The gap is inf if it is not known.
        """
    def recentre(self) -> float:
        """Moves the offset to the intercept; returns the imbalance of theta."""
    def refresh(self) -> None:
        """Computes v from theta, without the rounding errors of updates."""
    def theta(self) -> Array:
        """Returns the dual point theta (n), or (n * n_classes)."""
    def variables(self) -> Array:
        """Returns the primal point v (d + 1), or the padded table of the classes."""

class PairDescent:
    """Sequential minimal optimisation on a kernel matrix K (n, n)."""

    def run(self, target: float, max_steps: float, /) -> tuple[float, float]:
        """Takes steps up to one of the limits; returns their number and the gap."""
    def missing_rows(self, most: int, /) -> Indices:
        """Returns the missing rows of K that violate more than the others, largest first."""
    def add_rows(self, rows: Indices, values: Array, /) -> None:
        """Gives the values (n_rows, n) of rows of K."""
    def refresh(self) -> None:
        """Computes z from theta, without the rounding errors of updates."""
    def theta(self) -> Array:
        """Returns the dual point theta (n)."""
    def intercept(self) -> float:
        """Returns the intercept that belongs to theta, 0 without one."""

def pair_descent(
    loss: _AnyLoss, diagonal: Array, y: Array, weights: Array, alpha: float, has_intercept: bool, /
) -> PairDescent:
    """Makes a `PairDescent` for a loss of quadratic pieces; diagonal, y and weights (n)."""

class RandomCoordinates:
    """A random coordinate method with its iterates w (d)."""

    def run(self, steps: int, /) -> None:
        """Takes so many steps, each along a column drawn at random."""
    @property
    def n_coordinates(self) -> int:
        """The number of coordinates."""
    def refresh(self) -> None:
        """Computes X w from w, without the rounding errors of updates."""
    def variables(self) -> Array:
        """Returns the coefficients w (d), and the intercept if there is a column of ones."""
    def sums(self) -> Array:
        """Returns the sum of the variables after each of the steps, which is empty for approx."""

def random_coordinate_descent(
    transpose: Matrix,
    loss: _SmoothLoss,
    smoothness: float,
    y: Array,
    weights: Array,
    terms: SeparableCoordinates,
    alpha: float,
    ones: bool,
    w: Array,
    seed: int,
    per_step: int,
    /,
) -> RandomCoordinates:
    """Makes coordinate descent on columns, from w (d) on."""

def approx(
    transpose: Matrix,
    loss: _SmoothLoss,
    smoothness: float,
    y: Array,
    weights: Array,
    terms: SeparableCoordinates,
    alpha: float,
    ones: bool,
    w: Array,
    seed: int,
    per_step: int,
    /,
) -> RandomCoordinates:
    """Makes APPROX on columns, from w (d) on."""

def row_coordinate_descent(
    matrix: Matrix,
    loss: _AnyLoss,
    y: Array,
    weights: Array,
    conjugate: ResidualLoss,
    ridge: float,
    v: Array,
    seed: int,
    per_step: int,
    /,
) -> RandomCoordinates:
    """Makes coordinate descent on the dual, from v (n) on."""

def row_approx(
    matrix: Matrix,
    loss: _AnyLoss,
    y: Array,
    weights: Array,
    conjugate: ResidualLoss,
    ridge: float,
    v: Array,
    seed: int,
    per_step: int,
    /,
) -> RandomCoordinates:
    """Makes APPROX on the dual, from v (n) on."""

class BlockFrankWolfe:
    """Primal-dual block Frank-Wolfe with its iterates x (d) and theta (n)."""

    def run(self, target: float, max_iter: int, max_entries: float, /) -> tuple[int, float]:
        """Iterates up to one of the limits; returns the number of iterations and the gap."""
    def recentre(self) -> float:
        """Moves the offset to the intercept, and returns sum_i c_i theta_i."""
    def refresh(self) -> None:
        """Recomputes the products of x and theta, without the rounding errors of updates."""
    def theta(self) -> Array:
        """Returns the dual point theta (n)."""
    def variables(self) -> Array:
        """Returns the primal point x followed by the intercept's coordinate (d + 1)."""
    @property
    def entries(self) -> float:
        """The number of entries of the matrix that have been read."""

def block_frank_wolfe(
    matrix: Matrix,
    loss: _AnyLoss,
    y: Array,
    weights: Array,
    theta: Array,
    mu: float,
    radius: float,
    constant: float,
    offset: float,
    line_search: bool,
    eta: float,
    dual_step: float,
    sparsity: int,
    n_coordinates: int,
    /,
) -> BlockFrankWolfe:
    """Makes a `BlockFrankWolfe` on a matrix (n, d) stored by rows."""

class Incremental:
    """Incremental methods for the distributionally robust SVM, with their iterate."""

    def subgradient_pass(self, rows: Indices, step: float, batch: int, /) -> None:
        """Takes projected subgradient steps for mini-batches of these rows."""
    def proximal_pass(
        self, rows: Indices, step: float, batch: int = 1, tol: float = 0.0, /
    ) -> None:
        """Takes proximal updates of the means of mini-batches of these rows.

        Each lasts until no multiplier changes by more than tol in a sweep.
        """
    def move(self, w: Array, radius: float, intercept: float, /) -> None:
        """Sets the iterate to w (d), the radius and the intercept."""
    def w(self) -> Array:
        """Returns the coefficients w (d)."""
    def multipliers(self) -> tuple[Array, Array]:
        """Returns the multipliers p and r (n) of each row at its last visit."""
    @property
    def radius(self) -> float:
        """The radius lam >= ||w||."""
    @property
    def intercept(self) -> float:
        """The intercept b."""

def incremental(
    matrix: Matrix,
    y: Array,
    weights: Array,
    norm: float,
    epsilon: float,
    kappa: float,
    ridge: float,
    fit_intercept: bool,
    /,
) -> Incremental:
    """Makes an `Incremental` that starts at w = 0, on a matrix (n, d) stored by rows."""

# Projections, proximal operators and norms

def project_epigraph(
    point: Array, radius: float, norm: float, aperture: float = 1.0, /
) -> tuple[Array, float]:
    """Projects (point, radius) onto {(w, lam): ||w|| <= aperture lam}; returns w (d) and lam.

    The norm is 1, 2 or inf.
    """

def project_box_hyperplane(
    point: Array, lower: Array, upper: Array, normal: Array, metric: Array, total: float, /
) -> Array:
    """Returns argmin of sum_i metric_i (x_i - point_i)^2 in the box where normal . x = total."""

def project_l1_ball(point: Array, radius: float, /) -> Array:
    """Returns the projection of point onto {||x||_1 <= radius}."""

def prox_of_largest_entries(x: Array, order: Indices, starts: Indices, radii: Array, /) -> Array:
    """Returns argmin over z of ||z - x||^2 / 2 + sum_g radii_g max_j |z_gj|, groups of order."""

def prox_total_variation(y: Array, weight: float, /) -> Array:
    """Returns argmin over x of ||x - y||^2 / 2 + weight sum_k |x_{k+1} - x_k|."""

def total_variation_dual_norm(v: Array, error: float, /) -> float:
    """Returns sup of v.w over sum_k |w_{k+1} - w_k| <= 1, sum_k w_k = 0."""

def fused_dual_norm(v: Array, error: float, l1: float, l2: float, /) -> float:
    """Returns sup of v.w over l1 ||w||_1 + l2 sum_k |w_{k+1} - w_k| <= 1."""

def group_norms(x: Array, order: Indices, starts: Indices, /) -> Array:
    """Returns the Euclidean norm of each group of x[order]; starts (n_groups + 1)."""

def sparse_group_dual_norms(
    x: Array, starts: Indices, weights: Array, l1_ratio: float, /
) -> Array:
    """Returns the dual norm of each group of a sparse group lasso; weights (n_groups)."""

def dot(a: Array, b: Array, /) -> float:
    """Returns a . b, computed by one thread."""

def compensated_dot(a: Array, b: Array, c: Array | None = None, /) -> tuple[float, float]:
    """Returns sum_i a_i b_i c_i in twice the working precision, and a bound on its error."""

def max_abs(x: Array, /) -> float:
    """Returns max_j |x_j|, which is 0 for no entries."""

def sum_abs(x: Array, /) -> float:
    """Returns sum_j |x_j|."""

def euclidean_norm(x: Array, /) -> float:
    """Returns ||x||_2, which neither underflows nor overflows on the way."""
