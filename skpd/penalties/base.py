"""What every penalty knows of itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from functools import partial
from math import inf, nan
from typing import ClassVar, NamedTuple

import numpy as np

from .._typing import Array, Indices
from .._values import Value
from .intervals import Slopes

__all__ = ["FreeFeatures", "Norm", "Penalty", "Structure"]


def _half_square(norm, alpha):
    """norm^2 / (2 alpha), without underflow of the square; its limit where alpha underflows."""
    if alpha == 0.0:
        return inf if norm > 0.0 else 0.0
    return 0.5 * norm * (norm / alpha)


class FreeFeatures(NamedTuple):
    """Coefficients that a penalty leaves free, and the bounds that they have."""

    columns: Indices
    lower: Array
    upper: Array


NO_FEATURES = FreeFeatures(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


class Structure(Enum):
    """What a penalty is a sum of, as methods that work on parts of the coefficients ask.

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
    WHOLE
        Anything else.
    """

    SEPARABLE = "separable"
    GROUPED = "grouped"
    BALL = "ball"
    CHAINED = "chained"
    MAXIMUM = "maximum"
    SPECTRAL = "spectral"
    OF_NORM = "of_norm"
    WHOLE = "whole"

    @property
    def in_parts(self) -> bool:
        """Whether it is a sum over coefficients or groups of them."""
        return self in (Structure.SEPARABLE, Structure.GROUPED)


class Penalty(Value, ABC):
    """A convex penalty R >= 0 on the coefficients with R(0) = 0.

    Attributes
    ----------
    structure : Structure
    is_norm : bool
        Whether R is a norm, or one on the non-negative coefficients, and has a ``dual_norm``.
    is_quadratic : bool
        Whether R(t w) = t^2 R(w).
    free_level : bool
        Whether R is the same for w + m, whatever the constant m. The level, the mean of w,
        is then left to the loss (`skpd.problems.free_directions`): `support`, `bounded_conjugate`
        and `dual_norm` are suprema over the w of level 0.
    of_neighbours : bool
        Whether R is a sum of differences of neighbouring coefficients alone.
    free_features : FreeFeatures
        The coefficients of which R does not depend, but for bounds. They are left to the loss
        as well: suprema are over the w that are 0 there.
    group_order : ndarray of int or None
        Of a penalty of groups, the coefficients group by group, those without a penalty last.
    even : bool
        Whether R(-w) = R(w).
    symmetric : bool
        Whether R is the same for every sign and every order of the coefficients.
    is_finite : bool
        Whether R is finite everywhere.
    l1_radius : float
        The radius of the l1 ball outside of which R is infinite; inf where there is none.
    """

    structure: ClassVar[Structure] = Structure.WHOLE
    is_quadratic: ClassVar[bool] = False
    free_level: ClassVar[bool] = False
    of_neighbours: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    # what may follow from the parameters of a penalty, a class may say once for all as well

    @property
    def is_norm(self) -> bool:
        return False

    @property
    def free_features(self) -> FreeFeatures:
        return NO_FEATURES

    @property
    def group_order(self) -> "Indices | None":
        return None

    @property
    def even(self) -> bool:
        return True

    @property
    def is_finite(self) -> bool:
        return True

    @property
    def l1_radius(self) -> float:
        return inf

    def bind(self, n_features: int):
        """The penalty for coefficients of this length.

        Raises
        ------
        ValueError
            If the penalty does not fit ``n_features`` features.
        """
        return self

    @abstractmethod
    def value(self, w: Array) -> float:
        """R(w); inf outside its domain."""

    @abstractmethod
    def prox(self, w: Array, step: Array | float) -> Array:
        """argmin over x of sum_j (x_j - w_j)^2 / (2 step_j) + R(x).

        Parameters
        ----------
        w : ndarray of shape (n_features,)
        step : float or ndarray of shape (n_features,)
            As `step_sizes` allows.
        """

    @abstractmethod
    def conjugate(self, v: Array, alpha: float) -> float:
        """(alpha R)*(v) = sup over w of v.w - alpha R(w)."""

    @abstractmethod
    def support(self, v: Array, radius: float) -> float:
        """An upper bound on sup of v.w over R(w) <= radius."""

    def support_by_radius(self, v: Array) -> Callable[[float], float]:
        """`support` of one v, as a function of the radius."""
        return partial(self.support, v)

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
        """(a, Q, b) with R = a ||w||_2^2 / 2 + b Q, a as large as that can be; Q may be None."""
        return 0.0, self, 1.0

    def widest(self, v: Array, error: Array) -> Array:
        """The point of the box v - error <= . <= v + error with the largest conjugate and support.

        As it is here for penalties of the absolute values of w.
        """
        return v + np.copysign(error, v)

    def reduced(self, v: Array, error: Array) -> tuple[Array, Array]:
        """What of v the conjugate depends on, and the error of that: v itself in most cases.

        It may overwrite v.
        """
        return v, error

    @property
    def of_one_output(self) -> "Penalty | None":
        """That of a column of a matrix whose others are 0, for a penalty of matrices, if known."""
        return None

    @property
    def of_reduced(self) -> "Penalty":
        """The penalty whose conjugate takes what `reduced` returns."""
        return self

    def intervals(self, slopes: Slopes, most: float, radius: float) -> Array | None:
        """For each coefficient an interval of the w with alpha R(w) - v.w <= most, if known.

        Parameters
        ----------
        slopes : Slopes
            v, bounds on its errors, and alpha.
        most : float
            At least the least value of alpha R(w) - v.w.
        radius : float
            R(w) is at most this.

        Returns
        -------
        intervals : ndarray of shape (n_features, 2) or None
        """
        return None

    def zeros(self, slopes: Slopes) -> "np.ndarray | None":
        """Which coefficients are 0 wherever alpha R(w) - v.w is least, if that is known.

        Parameters
        ----------
        slopes : Slopes
            v, bounds on its errors, and alpha.

        Returns
        -------
        zeros : ndarray of bool, of shape (n_features,), or None
        """
        return None

    def step_sizes(self, step: Array) -> Array:
        """The largest step sizes, none above ``step``, for which `prox` has its closed form."""
        return np.full_like(step, np.min(step))


class Norm(Penalty):
    """A penalty that is a norm: its conjugate is the indicator of a dual ball."""

    is_norm: ClassVar[bool] = True

    @abstractmethod
    def dual_norm(self, v: Array) -> float:
        """R°(v) = sup of v.w over R(w) <= 1."""

    def conjugate(self, v: Array, alpha: float) -> float:
        return 0.0 if self.dual_norm(v) <= alpha else inf

    def support(self, v: Array, radius: float) -> float:
        return _product(radius, self.dual_norm(v))

    def support_by_radius(self, v: Array) -> Callable[[float], float]:
        norm = self.dual_norm(v)
        return lambda radius: _product(radius, norm)

    def largest_alpha(self, v: Array) -> float:
        return self.dual_norm(v)

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        return _product(radius, max(self.dual_norm(v) - alpha, 0.0))


def _product(radius: float, norm):
    return 0.0 if norm == 0.0 else radius * norm
