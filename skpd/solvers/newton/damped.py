"""Damped Newton steps and conjugate gradients, for the last digits of certificates."""

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
        The right side, of any shape; 0 for entries at which x is to be 0.
    diagonal : ndarray
        The preconditioner, positive and of the same shape.
    accuracy : float
        The squared norm of the residual at which to stop, relative to that of ``right``.
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
    """A step along the solution of (H + damping D) x = right, with damping for descent.

    Parameters
    ----------
    product, right, accuracy
        See `conjugate_gradients`.
    diagonal, majorant : ndarray
        The diagonal of H, and the diagonal D, an upper bound on it for all variables.
    damping : float
        The first damping to try.
    search : callable
        Performs a line search along a step. Returns the decrease of the objective divided by its
        slope along the step (1/2 for a full step on a quadratic objective), and 0 without descent.

    Returns
    -------
    damping : float or None
        The first damping of the next step; None if there was no descent.
    """
    # a least curvature for variables without any, such as the coefficients of empty columns
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
