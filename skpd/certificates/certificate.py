"""What is proven of a model."""

from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

__all__ = ["Certificate", "DualBound"]


@dataclass(frozen=True)
class Certificate:
    """An interval [dual, primal] that holds the optimal objective value.

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
    coefficient_bounds : ndarray of shape (n_features, 2) or None
        For each coefficient an interval that holds it in every optimal model; ends are infinite
        where nothing is known. None for penalties that are no sum over coefficients or groups,
        and neither the l2 nor the l-infinity norm. For several outputs of shape (n_outputs,
        n_features, 2).
    proven_zero : ndarray of bool, of shape (n_features,), or None
        Which coefficients are 0 in every optimal model; None where nothing is known: losses
        with kinks, and penalties without an l1 norm or groups.
    evidence : object or None
        What the last two follow from (`skpd.certificates.coefficients`).
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

    @property
    def coefficient_bounds(self) -> Any:
        return None if self.evidence is None else self.evidence.bounds

    @property
    def proven_zero(self) -> Any:
        return None if self.evidence is None else self.evidence.zeros


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
