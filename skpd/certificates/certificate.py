"""What is proven of a model."""

from dataclasses import dataclass
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
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kind: str
    radius: float
    intercept_radius: float
    radius_kind: str = "monotone"


class DualBound(NamedTuple):
    """A lower bound on the optimal value and the dual point it was computed from.

    ``by_free_sums`` is what the sums over free coordinates have taken off it.
    """

    value: float
    kind: str
    theta: Any
    radius: float = inf
    intercept_radius: float = inf
    radius_kind: str = "monotone"
    by_free_sums: float = 0.0
