"""The faces of the cone ||w||_q <= lam on which Newton steps for the robust SVM move.

On the boundary of the cone some of the unknowns (w, b, lam) depend on others. For q = inf the
coefficients at the height follow it, dw_j = s_j dlam. For q = 2 the radius follows the
coefficients, dlam = u.dw with u = w / ||w||, and for q = 1 it follows those with signs,
dlam = s.dw, while others stay 0. A step on a face is ``start + E v``, with a map E from the free
unknowns v; which face holds the minimiser of a quadratic model is found by active sets.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dger

from ..._typing import Array
from .settings import SETTINGS


class Face(NamedTuple):
    """The steps ``start + E v`` from a point.

    Parameters
    ----------
    free : ndarray of bool, of shape (n_features + 2,)
        Whether an unknown is free.
    start : ndarray of shape (n_features + 2,)
        The step onto the face.
    with_lam, of_lam : ndarray of shape (n_features + 2,)
        The changes of the others with lam, and that of lam with the others.
    is_sphere : bool
        Whether the face is curved, as for q = 2.
    """

    free: np.ndarray
    start: Array
    with_lam: Array
    of_lam: Array
    is_sphere: bool = False

    def expand(self, v: Array) -> Array:
        """The product E v."""
        step: Array = self.free * v
        step += self.with_lam * step[-1]
        step[-1] += self.of_lam @ step
        return step

    def reduce(self, g: Array) -> Array:
        """The product E'g."""
        reduced: Array = g + self.of_lam * g[-1]
        reduced[-1] += self.with_lam @ g
        return self.free * reduced

    def reduce_matrix(self, matrix: Array) -> Array:
        """The product E'M E for a symmetric matrix M, of which this is the only copy."""
        reduced = matrix.copy()
        for side in (reduced, reduced.T):  # E'M, then its product with E
            row, change = side[-1].copy(), self.with_lam @ side
            outer = (row, self.of_lam) if side is reduced else (self.of_lam, row)
            dger(1.0, *outer, a=reduced.T, overwrite_a=True)
            side[-1] += change
            side[~self.free] = 0.0
        return reduced


def _size(q: float, w: Array) -> float:
    return float(np.linalg.norm(w, q))


def _inner(n: int) -> Face:
    zeros = np.zeros(n)
    return Face(np.ones(n, dtype=bool), zeros, zeros, zeros)


def _of_norm(x: Array, slopes: Array, free: Array, start: Array, is_sphere: bool) -> Face:
    """A face on which lam is the norm, whose derivative in w is ``slopes``."""
    free[-1] = False
    of_lam = np.zeros(len(x))
    of_lam[:-2] = slopes
    return Face(free, start, np.zeros(len(x)), of_lam * free, is_sphere)


def _of_height(x: Array, signs: Array) -> Face:
    """The face for q = inf on which the coefficients with signs are at the height."""
    with_lam, start = np.zeros(len(x)), np.zeros(len(x))
    with_lam[:-2] = signs
    start[:-2] = np.where(signs != 0.0, signs * x[-1] - x[:-2], 0.0)
    return Face(with_lam == 0.0, start, with_lam, np.zeros(len(x)))


def _of_signs(x: Array, signs: Array) -> Face:
    """The face for q = 1 on which the coefficients without a sign become 0."""
    start, free = np.zeros(len(x)), np.ones(len(x), dtype=bool)
    start[:-2] = np.where(signs == 0.0, -x[:-2], 0.0)
    start[-1] = _size(1, x[:-2]) - x[-1] - np.abs(start[:-2]).sum()
    free[:-2] = signs != 0.0
    return _of_norm(x, signs, free, start, False)


def _of_sphere(x: Array) -> Face:
    size, start = _size(2, x[:-2]), np.zeros(len(x))
    if x[-1] > size * (1.0 + SETTINGS.norm_rounding):
        start[-1] = size - x[-1]
    return _of_norm(x, x[:-2] / size, np.ones(len(x), dtype=bool), start, True)


def next_face(q: float, x: Array, face: Face | None, step: Array, g: Array) -> Face | None:
    """The face of the next step of an active-set method; None if the step is a minimiser.

    Parameters
    ----------
    q : {1, 2, inf}
    x : ndarray of shape (n_features + 2,)
        A point of the cone.
    face : Face or None
        The last face; None at first.
    step : ndarray of shape (n_features + 2,)
        The step on the last face, or 0.
    g : ndarray of shape (n_features + 2,)
        The gradient after the step.
    """
    w, lam = x[:-2] + step[:-2], float(x[-1] + step[-1])
    if q == inf:
        held = np.zeros(len(w)) if face is None else face.with_lam[:-2]
        outside = np.abs(w) >= lam * (1.0 - SETTINGS.norm_rounding)
        outside &= (held == 0.0) & (np.sign(w) * g[:-2] <= 0.0 if face is None else True)
        signs = np.where(held * g[:-2] > 0.0, 0.0, held) + np.where(outside, np.sign(w), 0.0)
        same = face is not None and np.array_equal(signs, held)
        return None if same else _of_height(x, signs)
    inside = lam > _size(q, w) * (1.0 + SETTINGS.norm_rounding)
    if face is None and (inside or g[-1] < 0.0):
        return _inner(len(x))
    if face is not None and (inside if face.free[-1] else q == 2):
        return None
    if q == 2:
        return _of_sphere(x)
    signs = np.sign(x[:-2]) if face is None or face.free[-1] else face.of_lam[:-2]
    kept = np.where(w * signs < 0.0, 0.0, signs)
    entering = (signs == 0.0) & (np.abs(g[:-2]) > max(float(g[-1]), 0.0))
    kept = np.where(entering, -np.sign(g[:-2]), kept)
    same = face is not None and np.array_equal(kept, signs)
    return None if same else _of_signs(x, kept)


def into_cone(q: float, x: Array, lam_is_norm: bool) -> Array:
    """A point of the cone near x, with the radius that is the norm if that depends on it."""
    x = x.copy()
    if q == inf:
        x[-1] = max(float(x[-1]), 0.0)
        x[:-2] = np.clip(x[:-2], -x[-1], x[-1])
        return x
    size = _size(q, x[:-2])
    x[-1] = size if lam_is_norm else max(float(x[-1]), size)
    return x
