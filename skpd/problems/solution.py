"""Points of a problem, and what a solver returns."""

from dataclasses import dataclass
from math import inf
from typing import Any

from ..certificates import Certificate

__all__ = ["Point", "Solution"]


@dataclass(frozen=True)
class Point:
    """A primal point (coef, intercept) beside a dual point.

    For several outputs they are a matrix, with an intercept for each output.
    """

    coef: Any
    intercept: Any
    dual_coef: Any


@dataclass(frozen=True)
class Solution:
    """What a solver found, with its certificate.

    Attributes
    ----------
    coef : ndarray of shape (n_features,) or (n_features, n_outputs)
    intercept : float or ndarray of shape (n_outputs,)
    dual_coef : ndarray of shape (n_samples,) or as the problem has it
        The dual point theta of the certificate.
    certificate : Certificate
    n_iter : int
    converged : bool
        Whether the relative gap reached the tolerance.
    history : structured ndarray
        Fields n_iter, seconds, primal, dual, gap: the best certified interval over time; and
        iterate_primal, iterate_dual: that of each recorded iterate by itself.
    interrupted : bool
        Whether Ctrl-C ended the solver.
    stopped : bool
        Whether the caller ended it after a check.
    method : str
        The method that reported last.
    before_rounding : float
        The relative gap before coefficients were rounded to float32; infinite where they were not.
    """

    coef: Any
    intercept: Any
    dual_coef: Any
    certificate: Certificate
    n_iter: int
    converged: bool
    history: Any
    interrupted: bool = False
    stopped: bool = False
    method: str = ""
    before_rounding: float = inf
