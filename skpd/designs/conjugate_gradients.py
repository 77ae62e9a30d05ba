"""Linear systems by preconditioned conjugate gradients."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Array

Product = Callable[[Array], Array]


class LinearIterate(NamedTuple):
    """An approximate solution of a linear system.

    Attributes
    ----------
    solution, residual : ndarray
    n_steps : int
    """

    solution: Array
    residual: Array
    n_steps: int


def conjugate_gradients(
    product: Product, precondition: Product, right: Array, *, max_iter: int, share: float = 0.0,
    target: float = -1.0,
) -> LinearIterate:  # fmt: skip
    """The approximate solution of H x = right, started at 0.

    Parameters
    ----------
    product, precondition : callable
        The products with the positive semidefinite H and with an approximate inverse of it.
    right : ndarray
        The right side, of any shape.
    max_iter : int
        The largest number of steps.
    share : float, default=0.0
        The squared norm of the residual at which to stop, relative to that of ``right``, in the
        norm of the preconditioner.
    target : float, default=-1.0
        The maximum norm of the residual at which to stop.
    """
    solution, direction, residual = np.zeros_like(right), np.zeros_like(right), right
    first, before = np.nan, 1.0
    for k in range(max_iter):
        if target >= 0.0 and float(np.max(np.abs(residual))) <= target:
            return LinearIterate(solution, residual, k)
        z = precondition(residual)
        size = float(np.vdot(residual, z))
        first = size if k == 0 else first
        if not size > share * first:
            return LinearIterate(solution, residual, k)
        direction, before = z + size / before * direction, size
        image = product(direction)
        bend = float(np.vdot(direction, image))
        if not bend > 0.0:
            return LinearIterate(solution, residual, k)
        length = size / bend
        solution, residual = solution + length * direction, residual - length * image
    return LinearIterate(solution, residual, max_iter)
