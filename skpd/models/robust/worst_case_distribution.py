"""The worst distribution for a linear classifier in a Wasserstein ball around data."""

import numpy as np
import scipy.sparse as sp

from ..._typing import Array, Indices, Matrix
from ...problems import Problem
from .lift import kappa_of

NEARLY = 1e-9  # the largest difference to a worst case that is only approached


def worst_masses(
    problem: Problem, margins: Array, norm: float
) -> tuple[Array, Array, Indices, Array]:
    """The masses of points, their labels, the rows they come from and the lengths of their moves.

    Parameters
    ----------
    problem : Problem
        The problem of the data at the centre of the ball.
    margins : ndarray of shape (n_samples,)
        Margins of the rows, y_i (x_i.w + b).
    norm : float
        Norm of w.
    """
    weights = problem.weights
    flipped, left = _flips(problem, margins, norm)
    rows = np.arange(len(weights))
    source = np.concatenate([rows, rows])
    mass = np.concatenate([weights - flipped, flipped])
    sign = np.concatenate([problem.y, -problem.y])
    margins = np.concatenate([margins, -margins])
    distance = np.zeros(len(mass))
    if left > 0.0 and norm > 0.0:
        hurt = (margins <= 1.0) & (mass > 0.0)
        if not hurt.any():  # then a little mass of the nearest point moves
            k = int(np.argmin(np.where(mass > 0.0, margins, np.inf)))
            share = min(1.0, NEARLY / (mass[k] * (margins[k] - 1.0)))
            source, sign = np.append(source, source[k]), np.append(sign, sign[k])
            mass, distance = np.append(mass, share * mass[k]), np.append(distance, 0.0)
            mass[k] -= mass[-1]
            hurt = np.arange(len(mass)) == len(mass) - 1
        distance[hurt] = left / float(np.sum(mass[hurt]))
    kept = np.flatnonzero(mass > 0.0)
    return mass[kept], sign[kept], source[kept], distance[kept]


def shifted_rows(X: Matrix, source: Indices, shift: Array, direction: Array) -> Matrix:
    """Selected rows, each moved by a multiple of one direction."""
    if sp.issparse(X):
        moves = sp.csr_array(shift[:, np.newaxis]) @ sp.csr_array(direction[np.newaxis])
        return sp.csr_array(X)[source] + moves
    return X[source] + shift[:, np.newaxis] * direction


def _flips(problem: Problem, margins: Array, norm: float) -> tuple[Array, float]:
    """The mass of each row that changes its label, and the rest of epsilon.

    A flip raises a row's loss by min(2 m, 1 + m) for the cost kappa; moving mass raises it by the
    norm of w for each unit of cost.
    """
    flipped, kappa = np.zeros(len(margins)), kappa_of(problem)
    if kappa == np.inf:
        return flipped, problem.alpha
    gains = np.minimum(2.0 * margins, 1.0 + margins)
    rows = np.flatnonzero(gains > kappa * norm)
    order = rows[np.argsort(-gains[rows], kind="stable")]
    before = kappa * (np.cumsum(problem.weights[order]) - problem.weights[order])
    affordable = np.maximum(problem.alpha - before, 0.0) / kappa
    flipped[order] = np.minimum(problem.weights[order], affordable)
    return flipped, max(problem.alpha - kappa * float(np.sum(flipped)), 0.0)


def steepest_direction(coef: Array, norm: float) -> Array:
    """The vector v of length 1 in the dual norm that maximises v.w."""
    if norm == 1:
        return np.sign(coef)
    if norm == 2:
        size = float(np.linalg.norm(coef))
        return coef / size if size > 0.0 else coef
    direction = np.zeros_like(coef)
    j = int(np.argmax(np.abs(coef)))
    direction[j] = np.sign(coef[j])
    return direction
