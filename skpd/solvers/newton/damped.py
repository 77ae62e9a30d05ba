"""What the Newton methods for a certificate's last digits share."""

from collections.abc import Callable

import numpy as np

from ..._typing import Array
from .settings import DAMPED

__all__ = ["conjugate_gradients", "damped_step"]


def conjugate_gradients(
    product: Callable[[Array], Array], right: Array, diagonal: Array, accuracy: float
) -> Array:
    """Solve H x = right by conjugate gradients, preconditioned by a diagonal.

    Parameters
    ----------
    product : callable
        The product with the positive semidefinite H.
    right : ndarray
        Of any shape; zero where x is to be zero.
    diagonal : ndarray
        Of the same shape, positive.
    accuracy : float
        The squared norm of the residual to stop at, relative to that of ``right``.
    """
    x, r = np.zeros_like(right), right
    scaled = r / diagonal
    q, rho = scaled, float(np.sum(r * scaled))
    first = rho
    for _ in range(min(DAMPED.most_linear_steps, 2 * right.size + 10)):
        if not rho > accuracy * first:
            break
        image = product(q)
        bend = float(np.sum(q * image))
        if not bend > 0.0:
            break
        x, r = x + rho / bend * q, r - rho / bend * image
        scaled = r / diagonal
        rho, before = float(np.sum(r * scaled)), rho
        q = scaled + rho / before * q
    return x


def damped_step(
    product: Callable[[Array], Array],
    right: Array,
    diagonal: Array,
    majorant: Array,
    accuracy: float,
    damping: float,
    search: Callable[[Array], float],
) -> float | None:
    """A step along the solution of (H + damping D) x = right, with the damping that it takes.

    Parameters
    ----------
    product, right, accuracy
        As for `conjugate_gradients`.
    diagonal, majorant : ndarray
        The diagonal of H, and D: a bound on it wherever the variables are.
    damping : float
        Where to begin.
    search : callable
        Goes along a step; by how much the objective fell, relative to its slope along the
        step, which is 1/2 where the objective is quadratic, and 0 if it did not.

    Returns
    -------
    damping : float or None
        Where the next step may begin; None if there was no descent.
    """
    # for variables without curvature, such as the coefficients of empty columns
    floor = DAMPED.least_curvature * float(np.max(diagonal)) + np.finfo(float).tiny
    for _ in range(DAMPED.most_dampings):
        larger = max(DAMPED.damping_increase * damping, DAMPED.least_damping)
        added = damping * majorant + floor
        step = conjugate_gradients(
            lambda x, added=added: product(x) + added * x,  # type: ignore[misc]
            right,
            diagonal + added,
            accuracy,
        )
        gain = search(step)
        if gain > DAMPED.good_gain:
            return DAMPED.damping_decrease * damping if damping > DAMPED.least_damping else 0.0
        if gain > 0.0:
            return damping if gain > DAMPED.fair_gain else larger
        damping = larger
    return None
