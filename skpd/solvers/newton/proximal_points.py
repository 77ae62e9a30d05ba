"""Penalised quadratic problems by proximal points, each by Newton's method on its dual.

    minimise over P   q(P) + R(P),    q(P) = <G, P - W> + <P - W, H (P - W)> / 2

The proximal point of a centre C is the minimiser of q + R + sum_j (P_j - C_j)^2 / (2 step_j), and
the centre of the next (Rockafellar, 1976). The steps are equal, but for coordinates in units that
make their curvatures far from the mean. The point is Z(Y) = prox(C - step dq(Y)) for a Y with
Y = Z(Y), where the concave dual function of Y has its maximum. Newton's method for this equation
(Li, Sun and Toh, 2018) moves Y by Z - Y + E, where

    (H + d2R(Z) + diag(1 / step)) E = -H (Z - Y)

on the coordinates at no kink of R, and E is 0 on others.

Coordinate descent with Newton steps at P itself is faster where few coordinates change, but may
take hundreds of steps with more coordinates than rows of data, where H is singular.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, cast

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..._typing import Array
from ..certificate_schedule import StallDetector
from .settings import PROXIMAL_POINTS as SETTINGS


class PenalisedQuadratic(Protocol):
    """The curvature H and the penalty R; arrays have the shape of P."""

    @property
    def curvatures(self) -> Array:
        """The diagonal of H, or its means where `prox` needs equal steps, in a shape like P."""

    def times(self, change: Array) -> Array:
        """The product of H with a change of P."""

    def prox(self, V: Array, step: Array) -> Array:
        """The minimiser of sum_j (P_j - V_j)^2 / (2 step_j) + R(P)."""

    def solve(self, right: Array, Z: Array, ridge: Array, precise: bool) -> tuple[Array, Array]:
        """The solution E of (H + d2R(Z) + diag(ridge)) E = right at no kink, and H E.

        Without ``precise`` a solution of few digits suffices.
        """


def minimise_by_proximal_points(model: PenalisedQuadratic, P: Array, R: Array, tol: float) -> None:
    """Update P to a minimiser, and its gradient R of q, up to changes ``tol`` of the gradient.

    The iteration ends early at a system that is singular in spite of its ridge, and where rounding
    errors keep it from the tolerance.
    """
    curvatures = model.curvatures
    mean = np.mean(curvatures)
    if mean > 0.0:
        curvatures = np.where(curvatures > SETTINGS.least_curvature * mean, curvatures, mean)
        band = SETTINGS.curvature_band
        scales = np.clip(mean, curvatures / band, curvatures * band)
        with suppress(LinAlgError):
            _iterate(model, SETTINGS.first_step / scales, P, R, tol)


def sweep_while_it_converges(
    turn: Callable[[], float], tol: float, most_turns: int, *, ends_early: bool = True
) -> bool:
    """Take turns of sweeps before proximal points; return whether they reach the tolerance.

    With ``ends_early`` they end where changes do not decrease so fast that the turns that are left
    would suffice.

    Parameters
    ----------
    turn : callable
        Takes some sweeps, and returns the last change of a gradient.
    tol : float
    most_turns : int
    ends_early : bool, default=True
    """
    last, n_first = np.inf, max(SETTINGS.first_turns, int(SETTINGS.first_share * most_turns))
    for n_turns in range(most_turns):
        change = turn()
        if change <= tol:
            return True
        if ends_early and n_turns >= n_first:
            n_left = most_turns - n_turns - 1
            if not (change < last and change * (change / last) ** n_left <= tol):
                return False
        last = change
    return False


def _iterate(model: PenalisedQuadratic, step: Array, P: Array, R: Array, tol: float) -> None:
    centre, Y, slope = P.copy(), P.copy(), R.copy()  # Y and the gradient of q there
    n_steps, precise = 0, False  # the number for this proximal point
    stall = StallDetector(SETTINGS.patience)
    for n_iter in range(SETTINGS.most_steps):
        Z = model.prox(centre - step * slope, step)
        residual, pull = Z - Y, (centre - Z) / step
        response = model.times(residual)
        P[:], R[:] = Z, slope + response
        error = _largest(response + pull)
        if error <= tol or stall.is_over(n_iter, error):
            break
        if _largest(response) <= SETTINGS.inner_share * _largest(pull):
            centre, Y, slope = Z, Z, R.copy()
            if n_steps <= SETTINGS.few_steps:
                step = step * SETTINGS.step_factor
            n_steps = 0
            continue
        precise |= n_steps >= SETTINGS.single_steps
        correction, of_correction = model.solve(response, Z, 1.0 / step, precise)
        change, of_change = residual - correction, response - of_correction
        n_steps += 1
        length, first = 1.0, float(np.sum(of_change * residual))
        while length >= SETTINGS.least_length:
            after = slope + length * of_change
            ahead = model.prox(centre - step * after, step) - (Y + length * change)
            if float(np.sum(of_change * ahead)) >= -SETTINGS.slope_share * first:
                break
            length *= 0.5
        Y, slope = Y + length * change, slope + length * of_change


def solution_of_positive(matrix: Array, right: Array, precise: bool) -> Array:
    """The solution with a positive definite matrix, in single precision unless ``precise``.

    Raises
    ------
    LinAlgError
    """
    if not precise:
        with suppress(LinAlgError):
            return solution_of_positive(matrix.astype(np.float32), right, True)
    factor = cho_factor(matrix, lower=True, check_finite=False)
    return cast(Array, cho_solve(factor, right, check_finite=False))


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
