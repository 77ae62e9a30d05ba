"""The faces of the cone ||w||_q <= lam on which Newton steps for the robust SVM move.

On the boundary of the cone some of the variables (w, lam, b) depend on others. For q = inf the
coefficients at the height follow it, dw_j = s_j dlam. For q = 2 the radius follows the
coefficients, dlam = u.dw with u = w / ||w||, and for q = 1 it follows those with signs,
dlam = s.dw, while others stay 0. A step on a face is ``start + E v``, with a map E from the free
variables v; which face holds the minimiser of a quadratic model is found by active sets.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.linalg.blas import dger

from ..._typing import Array, Mask

ROUNDING = 1e-12  # relative rounding error of a norm, up to which lam counts as the norm of w

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Face:
    """The steps ``start + E v`` from a point (w, lam, b); without an intercept (w, lam).

    Parameters
    ----------
    lam : int
        The index of the variable lam, the number of coefficients.
    free : ndarray of bool, of shape (n_variables,)
        Whether a variable is free.
    start : ndarray of shape (n_variables,)
        The step onto the face.
    with_lam, of_lam : ndarray of shape (n_variables,)
        The changes of the others with lam, and that of lam with the others.
    is_sphere : bool
        Whether the face is curved, as for q = 2.
    """

    lam: int
    free: Mask
    start: Array
    with_lam: Array
    of_lam: Array
    is_sphere: bool = False

    def expand(self, v: Array) -> Array:
        """The product E v."""
        step: Array = self.free * v
        step += self.with_lam * step[self.lam]
        step[self.lam] += self.of_lam @ step
        return step

    def reduce(self, g: Array) -> Array:
        """The product E'g."""
        reduced: Array = g + self.of_lam * g[self.lam]
        reduced[self.lam] += self.with_lam @ g
        return self.free * reduced

    def reduce_matrix(self, matrix: Array) -> Array:
        """The product E'M E for a symmetric matrix M, of which this is the only copy."""
        reduced = matrix.copy()
        for side in (reduced, reduced.T):  # E'M, then its product with E
            row, change = side[self.lam].copy(), self.with_lam @ side
            outer = (row, self.of_lam) if side is reduced else (self.of_lam, row)
            dger(1.0, *outer, a=reduced.T, overwrite_a=True)
            side[self.lam] += change
            side[~self.free] = 0.0
        return reduced


@dataclass(frozen=True)
class NormCone:
    """The cone ||w||_q <= lam in the variables (w, lam, b), and its faces.

    Parameters
    ----------
    q : {1, 2, inf}
    n_coefficients : int
    """

    q: float
    n_coefficients: int

    def size(self, w: Array) -> float:
        """The norm of w."""
        return float(np.linalg.norm(w, self.q))

    def next_face(self, x: Array, face: Face | None, step: Array, g: Array) -> Face | None:
        """The face of the next step of an active-set method; None if the step is a minimiser.

        Parameters
        ----------
        x : ndarray of shape (n_variables,)
            A point of the cone.
        face : Face or None
            The last face; None at first.
        step : ndarray of shape (n_variables,)
            The step on the last face, or 0.
        g : ndarray of shape (n_variables,)
            The gradient after the step.
        """
        q, d = self.q, self.n_coefficients
        w, lam, of_w, of_lam = x[:d] + step[:d], float(x[d] + step[d]), g[:d], float(g[d])
        if q == inf:
            held = np.zeros(d) if face is None else face.with_lam[:d]
            outside = np.abs(w) >= lam * (1.0 - ROUNDING)
            outside &= (held == 0.0) & (np.sign(w) * of_w <= 0.0 if face is None else True)
            signs = np.where(held * of_w > 0.0, 0.0, held) + np.where(outside, np.sign(w), 0.0)
            same = face is not None and np.array_equal(signs, held)
            return None if same else self._of_height(x, signs)
        inside = lam > self.size(w) * (1.0 + ROUNDING)
        if face is None and (inside or of_lam < 0.0):
            zeros = np.zeros(len(x))
            return Face(d, np.ones(len(x), dtype=bool), zeros, zeros, zeros)
        if face is not None and (inside if face.free[d] else q == 2):
            return None
        if q == 2:
            return self._of_sphere(x, of_w)
        signs = np.sign(x[:d]) if face is None or face.free[d] else face.of_lam[:d]
        kept = np.where(w * signs < 0.0, 0.0, signs)
        entering = (signs == 0.0) & (np.abs(of_w) > max(of_lam, 0.0))
        kept = np.where(entering, -np.sign(of_w), kept)
        same = face is not None and not face.free[d] and np.array_equal(kept, signs)
        return None if same else self._of_signs(x, kept)

    def _of_height(self, x: Array, signs: Array) -> Face:
        """The face for q = inf on which the coefficients with signs are at the height."""
        d, with_lam, start = self.n_coefficients, np.zeros(len(x)), np.zeros(len(x))
        with_lam[:d] = signs
        start[:d] = np.where(signs != 0.0, signs * x[d] - x[:d], 0.0)
        return Face(d, with_lam == 0.0, start, with_lam, np.zeros(len(x)))

    def _of_signs(self, x: Array, signs: Array) -> Face:
        """The face for q = 1 on which the coefficients without a sign become 0."""
        d, start, free = self.n_coefficients, np.zeros(len(x)), np.ones(len(x), dtype=bool)
        start[:d] = np.where(signs == 0.0, -x[:d], 0.0)
        start[d] = signs @ x[:d] - x[d]
        free[:d] = signs != 0.0
        return self._of_norm(x, signs, free, start, False)

    def _of_sphere(self, x: Array, g: Array) -> Face:
        """The face for q = 2, on which lam is the norm of w; at w = 0 along the gradient g."""
        w, start = x[: self.n_coefficients], np.zeros(len(x))
        size, normal = self.size(w), w if np.any(w) else -g
        if x[len(w)] > size * (1.0 + ROUNDING):
            start[len(w)] = size - x[len(w)]
        normal = normal / max(self.size(normal), TINY)
        return self._of_norm(x, normal, np.ones(len(x), dtype=bool), start, True)

    def _of_norm(self, x: Array, slopes: Array, free: Mask, start: Array, sphere: bool) -> Face:
        """A face on which lam is the norm, whose derivative in w is ``slopes``."""
        free[self.n_coefficients] = False
        of_lam = np.zeros(len(x))
        of_lam[: self.n_coefficients] = slopes
        return Face(self.n_coefficients, free, start, np.zeros(len(x)), of_lam * free, sphere)

    def project(self, x: Array, lam_is_norm: bool) -> Array:
        """A point of the cone near x, with the radius that is the norm if that depends on it."""
        x, d = x.copy(), self.n_coefficients
        if self.q == inf:
            x[d] = max(float(x[d]), 0.0)
            x[:d] = np.clip(x[:d], -x[d], x[d])
            return x
        size = self.size(x[:d])
        x[d] = size if lam_is_norm else max(float(x[d]), size)
        return x
