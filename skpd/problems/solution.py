"""Points of a problem (`Point`) and the results of solvers (`Solution`)."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Array
from ..certificates import Certificate


@dataclass(frozen=True)
class Point:
    """A primal point (coef, intercept) with a dual point.

    For several outputs coef is a matrix, with an intercept for each output.
    """

    coef: Array
    intercept: Any
    dual_coef: Any


@dataclass(frozen=True)
class Solution:
    """The result of a solver, with its certificate.

    Attributes
    ----------
    coef : ndarray of shape (n_features,) or (n_features, n_outputs)
    intercept : float or ndarray of shape (n_outputs,)
    dual_coef : ndarray of shape (n_samples,), or the problem's own type
        The dual point theta of the certificate. None along paths that moments determine
        (`skpd.problems.moments`), whose dual points are residuals of models.
    certificate : Certificate
    n_iter : int
    converged : bool
        Whether the relative gap reached the tolerance.
    history : structured ndarray
        The best certified interval over time in the fields n_iter, seconds, primal, dual and gap,
        and the bounds of each recorded iterate in iterate_primal and iterate_dual.
    interrupted : bool
        Whether Ctrl-C ended the solver.
    stopped : bool
        Whether a callback of the caller ended the solver.
    method : str
        The name of the method that finished.
    before_rounding : float
        The relative gap before coefficients were rounded to float32; infinite if they were not.
    """

    coef: Array
    intercept: Any
    dual_coef: Any
    certificate: Certificate
    n_iter: int
    converged: bool
    history: NDArray[np.void]
    interrupted: bool = False
    stopped: bool = False
    method: str = ""
    before_rounding: float = inf
