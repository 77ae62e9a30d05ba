"""What is proven of a model."""

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR
from math import ceil, inf, log10
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from .digits import rounded

__all__ = ["Certificate", "DualBound"]

DIGITS = 6  # that are shown of an objective value, or more where its bound shares these
OF_GAP = 2  # digits in which the two then differ


@dataclass(frozen=True)
class Certificate:
    """An interval [dual, primal] that holds the optimal objective value.

    Printed, its bounds are rounded to the side on which they hold; `proven_digits` has the digits
    of the optimal value that they fix.

    Attributes
    ----------
    primal : float
        Objective value of the model.
    dual : float
        A lower bound on the objective value of every model.
    gap : float
        primal - dual, which bounds how far the model is from optimal.
    relative_gap : float
        gap over the objective value of the best constant prediction. It has no unit
        and is what ``tol`` is compared with.
    kind : {"exact", "scaling", "lipschitz"}
        Which bound was the best, see `skpd.certificates`.
    radius : float
        The radius B such that R(w) <= B at every optimum, as used by "lipschitz".
    radius_kind : {"monotone", "initial", "coordinate"}
        Where B comes from: the best objective value seen, over alpha; that of the best
        constant prediction, which is what the former is until a model is better; or, asked
        for by name (see `dual_bound`), the former for every coefficient alone.
    intercept_radius : float
        Half the length of the interval that holds every optimal intercept; 0 without one.
    coefficient_bounds : ndarray of shape (n_features, 2)
        For each coefficient an interval that holds it in every optimal model; ends are infinite
        where nothing is known, as with penalties that are no sum over coefficients or groups,
        and neither the l2 nor the l-infinity norm. For several outputs of shape (n_outputs,
        n_features, 2).
    proven_zero : ndarray of bool, of shape (n_features,) or (n_outputs, n_features)
        Which coefficients are proven to be 0 in every optimal model; none where nothing is
        known, as with losses with kinks, and penalties without an l1 norm or groups.
    evidence : object or None
        What the last two follow from (`skpd.certificates.coefficients`).
    coef_shape : tuple of int
        The shape of ``proven_zero``; (0,) for models without coefficients of features, such as
        kernel machines, and for certificates that do not know them.

    Examples
    --------
    >>> from skpd import Certificate
    >>> print(Certificate(0.5, 0.375, 0.125, 0.25, "scaling", 2.5, 1.0))
    objective 0.5, lower bound 0.375: at most 0.13 above the optimum, relative gap 0.25 (scaling)
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kind: str
    radius: float
    intercept_radius: float
    radius_kind: str = "monotone"
    evidence: Any = field(default=None, repr=False, compare=False)
    coef_shape: tuple[int, ...] = field(default=(0,), repr=False, compare=False)

    @property
    def coefficient_bounds(self) -> Array:
        bounds = None if self.evidence is None else self.evidence.bounds
        return np.tile([-inf, inf], (*self.coef_shape, 1)) if bounds is None else bounds

    @property
    def proven_zero(self) -> Array:
        zeros = None if self.evidence is None else self.evidence.zeros
        return np.zeros(self.coef_shape, dtype=bool) if zeros is None else zeros

    def __str__(self) -> str:
        digits = DIGITS
        if 0.0 < self.gap < abs(self.primal) < inf:
            digits = max(DIGITS, OF_GAP + 1 + ceil(log10(abs(self.primal) / self.gap)))
        lower = rounded(self.dual, digits, ROUND_FLOOR)
        upper = rounded(self.primal, digits, ROUND_CEILING)
        gap, relative_gap = (
            rounded(value, OF_GAP, ROUND_CEILING) for value in (self.gap, self.relative_gap)
        )
        return (
            f"objective {upper}, lower bound {lower}: at most {gap} above the optimum, "
            f"relative gap {relative_gap} ({self.kind})"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


class DualBound(NamedTuple):
    """A lower bound on the optimal value and the dual point it was computed from.

    ``by_free_sums`` is what the sums over free coordinates have taken off it, ``conjugate``
    what the conjugate of the penalty has, or a bound on that. ``slopes`` are -A' diag(c) theta on
    the coefficients and bounds on its errors.
    """

    value: float
    kind: str
    theta: Any
    radius: float = inf
    intercept_radius: float = inf
    radius_kind: str = "monotone"
    by_free_sums: float = 0.0
    conjugate: float = 0.0
    slopes: Any = None
