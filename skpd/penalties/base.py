"""The interface of all penalties (`Penalty`), and of norms (`Norm`)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from functools import cached_property
from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from .. import kernels
from .._immutable_base import Value
from .._typing import Array, Indices, Mask
from .implied_intervals import Slopes, Terms


def _half_square(norm, alpha):
    """The value norm^2 / (2 alpha), without underflow of the square; its limit for alpha = 0."""
    if alpha == 0.0:
        return inf if norm > 0.0 else 0.0
    return 0.5 * norm * (norm / alpha)


# the conic programme of `Penalty.add_cones`
PenaltyCones = Any
Kind = TypeVar("Kind")


def cached_attribute(function: Callable[[Any], Kind]) -> Kind:
    """A cached property, which to type checkers is an attribute of the type that it returns.

    So it may override an attribute that is a constant of other classes.
    """
    return cast(Kind, cached_property(function))


class FreeFeatures(NamedTuple):
    """The indices of coefficients that a penalty leaves free, and the bounds on them."""

    columns: Indices
    lower: Array
    upper: Array


NO_FEATURES = FreeFeatures(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


class Structure(Enum):
    """The structure of a penalty, by which solvers choose a method.

    SEPARABLE
        Functions of one coefficient each, given by ``terms``.
    GROUPED
        An l1 norm and Euclidean norms of groups, given by ``group_terms`` and ``labels``.
    BALL
        The indicator of an l1 ball, or half a squared norm on it.
    CHAINED
        Among others, absolute differences of neighbouring coefficients.
    MAXIMUM
        The largest size of a coefficient.
    SPECTRAL
        A function of the singular values of a matrix of coefficients.
    OF_NORM
        A convex increasing ``function`` of a ``norm``.
    NOT_SEPARABLE
        Anything else.
    """

    SEPARABLE = "separable"
    GROUPED = "grouped"
    BALL = "ball"
    CHAINED = "chained"
    MAXIMUM = "maximum"
    SPECTRAL = "spectral"
    OF_NORM = "of_norm"
    NOT_SEPARABLE = "not separable"

    @property
    def is_block_separable(self) -> bool:
        """Whether the penalty is a sum over coefficients or groups of them."""
        return self in (Structure.SEPARABLE, Structure.GROUPED)


class Penalty(Value, ABC):
    """A convex penalty R >= 0 on the coefficients with R(0) = 0.

    Attributes
    ----------
    structure : Structure
    terms : tuple
        With `Structure.SEPARABLE`, l1, l2, lower and upper of the functions
        ``l1 |w_j| + l2 w_j^2 / 2`` on [lower, upper] whose sum R is: numbers, or arrays with a
        number for each coefficient (`SeparablePenalty`).
    is_norm : bool
        Whether R is a norm, or a norm restricted to coefficients of given signs, and has a
        ``dual_norm``.
    is_quadratic : bool
        Whether R(t w) = t^2 R(w).
    free_level : bool
        Whether R(w + m) = R(w) for every constant m. The level of w, its mean, then depends on
        the loss only (`skpd.problems.free_directions`), and `support`, `bounded_conjugate` and
        `dual_norm` are suprema over the w of level 0.
    of_neighbours : bool
        Whether R is a sum of absolute differences of neighbouring coefficients and nothing else.
    free_features : FreeFeatures
        The coefficients on which R does not depend except for bounds. They also depend on the
        loss only: suprema are over the w that are 0 there.
    group_order : ndarray of int or None
        For a penalty of groups, the indices of the coefficients sorted by group, those without a
        penalty last.
    even : bool
        Whether R(-w) = R(w).
    symmetric : bool
        Whether R is invariant under permutations and changes of sign of the coefficients.
    is_finite : bool
        Whether R is finite everywhere.
    l1_radius : float
        The radius of the l1 ball outside of which R is infinite; inf where there is none.
    of_one_output : Penalty or None
        The restriction of a penalty of matrices to matrices with one non-zero column. None where
        there is no class for it, and for penalties of vectors.
    has_cones : bool
        Whether R has a representation by cones, for the interior-point method (`add_cones`).
    has_cones_of_outputs : bool
        Whether R has one for the coefficients of several outputs, side by side.
    has_ties : bool
        Whether solutions have equal neighbours, equal largest sizes or singular values of 0.
    strong_convexity : float
        A mu, as large as is known, for which R(w) - mu ||w||^2 / 2 is convex.
    """

    # a class may override these by constants, or by a `cached_attribute`
    structure: Structure = Structure.NOT_SEPARABLE
    terms: Terms
    is_norm: bool = False
    is_quadratic: bool = False
    free_level: bool = False
    of_neighbours: bool = False
    even: bool = True
    symmetric: bool = False
    is_finite: bool = True
    l1_radius: float = inf
    of_one_output: "Penalty | None" = None
    free_features: FreeFeatures = NO_FEATURES
    has_cones: bool = False
    has_ties: bool = False
    group_order: Indices | None = None
    strong_convexity: float = 0.0

    @property
    def has_cones_of_outputs(self) -> bool:
        # the neighbours of a coefficient belong to other outputs
        return self.has_cones and self.structure is not Structure.CHAINED

    def for_n_features(self, n_features: int):
        """The penalty for coefficients of this length.

        Raises
        ------
        ValueError
            If the penalty does not fit ``n_features`` features.
        """
        return self

    @abstractmethod
    def value(self, w: Array) -> float:
        """The value R(w); inf outside the domain of R."""

    def value_within(self, w: Array, accuracy: float) -> float:
        """The value, which may be larger by this accuracy where that takes less time."""
        return self.value(w)

    @abstractmethod
    def prox(self, w: Array, step: Array | float) -> Array:
        """The proximal point, argmin over x of sum_j (x_j - w_j)^2 / (2 step_j) + R(x).

        Parameters
        ----------
        w : ndarray of shape (n_features,)
        step : float or ndarray of shape (n_features,)
            Step sizes that `step_sizes` returns unchanged.
        """

    @abstractmethod
    def conjugate(self, v: Array, alpha: float) -> float:
        """The conjugate (alpha R)*(v) = sup over w of v.w - alpha R(w)."""

    @abstractmethod
    def support(self, v: Array, radius: float) -> float:
        """An upper bound on sup of v.w over R(w) <= radius."""

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        """An upper bound on sup of v.w - alpha R(w) over R(w) <= radius."""
        return self.conjugate(v, alpha)

    def largest_alpha(self, v: Array) -> float:
        """The least alpha with conjugate(v, alpha) = 0; nan where that is not known."""
        return nan

    def feasible(self, w: Array) -> Array:
        """The nearest point where R is finite."""
        return w

    def without_ridge(self) -> "tuple[float, Penalty | None, float]":
        """The parts (a, Q, b) of R = a ||w||_2^2 / 2 + b Q with the largest a.

        Q is None where R has no part besides the ridge.
        """
        return 0.0, self, 1.0

    # What only some penalties have: norms, those of single coefficients, of matrices, of groups

    if TYPE_CHECKING:

        def dual_norm(self, v: Array) -> float: ...

        def coordinate_conjugate(self, v: Array, alpha: float, radius: float) -> float: ...

        # The number of outputs of a matrix, and its shape for a number of coefficients.
        @property
        def n_outputs(self) -> int | None: ...

        def shape_of(self, n_coefficients: int) -> tuple[int, int]: ...

        # The group of each coefficient, the l1 norm's weight and those of groups, and the ridge.
        @property
        def labels(self) -> Indices: ...

        @property
        def group_terms(self) -> tuple[float, Array]: ...

        @property
        def group_ridge(self) -> float: ...

    @property
    def is_ridge(self) -> bool:
        """Whether R is a multiple of the squared l2 norm."""
        ridge, others, _ = self.without_ridge()
        return ridge > 0.0 and others is None

    def worst_case(self, v: Array, error: Array) -> Array:
        """The point of the box v - error <= . <= v + error with the largest conjugate and support.

        The implementation here is for penalties of the absolute values of w.
        """
        return v + np.copysign(error, v)

    def conjugate_arguments(self, v: Array, error: Array) -> tuple[Array, Array]:
        """The numbers on which the conjugate at v depends, and bounds on their errors.

        They are v itself in most cases, and the singular values for penalties of these. The
        function may overwrite v.
        """
        return v, error

    @property
    def of_conjugate_arguments(self) -> "Penalty":
        """The penalty whose conjugate is a function of `conjugate_arguments`."""
        return self

    def intervals(self, slopes: Slopes, bound: float, radius: float) -> Array | None:
        """Intervals that contain the coefficients of every w with alpha R(w) - v.w <= bound.

        Parameters
        ----------
        slopes : Slopes
            v, bounds on its errors, and alpha.
        bound : float
            The upper bound on alpha R(w) - v.w; at least the least value of that function.
        radius : float
            An upper bound on R(w).

        Returns
        -------
        intervals : ndarray of shape (n_features, 2) or None
            None where the penalty has no such bounds.
        """
        return None

    def zeros(self, slopes: Slopes) -> Mask | None:
        """A mask of the coefficients that are 0 at every minimiser of alpha R(w) - v.w.

        Parameters
        ----------
        slopes : Slopes
            v, bounds on its errors, and alpha.

        Returns
        -------
        zeros : ndarray of bool, of shape (n_features,), or None
            None where the penalty has no such rule.
        """
        return None

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        """Add the functions of which alpha R consists to a conic programme.

        It has ``n_coefficients``. For a penalty of groups they are in the order of
        `Penalty.group_order`, and ``starts`` has the start of each group, followed by the end of
        the last one. The methods add

        ``add_separable(l1=0, l2=0, lower=-inf, upper=inf)``
            ``l1_j |w_j| + l2_j w_j^2 / 2`` on [lower_j, upper_j] for every coefficient.
        ``add_group_norms(starts, weights)``
            ``weight_g ||w_g||_2`` for every group.
        ``add_largest_size(weight)``
            ``weight max_j |w_j|``.
        ``add_l1_ball(radius)``
            The constraint ``||w||_1 <= radius``.
        ``add_elastic_net_ball(radius, l1_ratio)``
            The constraint ``l1_ratio ||w||_1 + (1 - l1_ratio) ||w||_2^2 / 2 <= radius``.
        ``add_differences(weight)``
            ``weight sum_j |w_{j+1} - w_j|``.

        and in programmes of several outputs also

        ``add_largest_sizes(starts, weights)``
            ``weight_g max_j |w_gj|`` for every group.
        ``add_squared_sums(starts, weight)``
            ``weight sum_g (sum_j |w_gj|)^2``.
        ``add_squared_sum_of_norms(starts, weight)``
            ``weight (sum_g ||w_g||_2)^2``.
        ``add_trace_norm(shape, weight)``
            weight times the trace norm of the matrix of this shape whose rows make up w.
        ``add_trace_norm_ball(shape, radius)``
            The constraint that this trace norm is at most the radius.
        """
        raise NotImplementedError

    def with_extra_coefficient(self, n_features: int, weight: float) -> "Penalty | None":
        """The penalty R(w) + weight abs(t) of w and one more coefficient t.

        None where there is no class for it. `skpd.penalties.weighted.with_extra_coefficient`
        extends a sum over coefficients by its terms.
        """
        return None

    def step_sizes(self, step: Array) -> Array:
        """The largest step sizes, none above ``step``, for which `prox` has its closed form."""
        return np.full_like(step, np.min(step))

    def kernel_terms(self, alpha: float, n_features: int) -> kernels.SeparableCoordinates:
        """The compiled object that solvers use for alpha R, a sum over coefficients."""
        return kernels.SeparableCoordinates(n_features, alpha, *self.terms)


class Norm(Penalty):
    """A penalty that is a norm: its conjugate is the indicator of a dual ball."""

    is_norm = True

    @abstractmethod
    def dual_norm(self, v: Array) -> float:
        """The dual norm R°(v) = sup of v.w over R(w) <= 1."""

    def conjugate(self, v: Array, alpha: float) -> float:
        return 0.0 if self.dual_norm(v) <= alpha else inf

    def support(self, v: Array, radius: float) -> float:
        return _product(radius, self.dual_norm(v))

    def largest_alpha(self, v: Array) -> float:
        return self.dual_norm(v)

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        return _product(radius, max(self.dual_norm(v) - alpha, 0.0))


def _product(radius: float, norm):
    return 0.0 if norm == 0.0 else radius * norm
