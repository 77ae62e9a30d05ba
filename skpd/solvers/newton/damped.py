"""Damped Newton steps and conjugate gradients, for the last digits of certificates."""

from collections.abc import Callable

import numpy as np

from ..._typing import Array
from ..conjugate_gradients import conjugate_gradients
from .settings import DAMPED


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
    product : callable
        The product with the positive semidefinite H.
    right : ndarray
        The right side, of any shape; 0 for entries at which x is to be 0.
    accuracy : float
        The squared norm of the residual at which to stop, relative to that of ``right``.
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
    most = min(DAMPED.most_linear_steps, 2 * right.size + 10)
    for _ in range(DAMPED.most_dampings):
        larger = max(DAMPED.damping_increase * damping, DAMPED.least_damping)
        added = damping * majorant + floor
        found = conjugate_gradients(
            lambda x, added=added: product(x) + added * x,  # type: ignore[misc]
            lambda x, added=added: x / (diagonal + added),  # type: ignore[misc]
            right, most=most, share=accuracy,
        )  # fmt: skip
        gain = search(found.solution)
        if gain > DAMPED.good_gain:
            return DAMPED.damping_decrease * damping if damping > DAMPED.least_damping else 0.0
        if gain > 0.0:
            return damping if gain > DAMPED.fair_gain else larger
        damping = larger
    return None
