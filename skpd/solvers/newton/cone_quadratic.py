"""Quadratic models of the robust SVM over the cone ||w||_q <= lam.

The minimiser of a model is found on the faces of the cone (`skpd.solvers.newton.norm_cone`) by
conjugate gradients with a diagonal preconditioner, over the rows with curvature alone, or by a
factor of the matrix where that costs less. If lam = ||w||_2, the face is curved: a step has the
additional curvature t (I - u u') in w, with u = w / ||w||_2 and t = (derivative in lam) / ||w||_2.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dger

from ..._typing import Array
from ...designs import Design, newton_cost
from ...designs.conjugate_gradients import conjugate_gradients
from ...designs.gram import OVERHEAD, CurvatureForm
from ...designs.threads import blas_threads_for
from ...kernels import project_epigraph
from ..interior.settings import SETTINGS as INTERIOR
from .norm_cone import Face, NormCone
from .settings import CONE

PAIR = 4.0  # the cost of products with X and its transpose for an entry, as in `newton_cost`


@dataclass
class ConeCurvature:
    """Second derivatives of the mean envelope in (w, lam, b), plus a diagonal.

    Parameters
    ----------
    design : Design
        The rows of X with curvature.
    predictions, mixed : ndarray of shape (n_rows,)
        The second derivatives in a prediction, and the mixed ones in a prediction and lam.
    lam : float
        The second derivative in lam.
    added : ndarray of shape (n_variables,)
        The diagonal.
    ones : bool
        Whether b is a variable.
    cost : float
        The cost of the linear systems that were solved, in the units of `newton_cost`.
    """

    form: ClassVar[CurvatureForm] = CurvatureForm.CONE

    design: Design
    predictions: Array
    mixed: Array
    lam: float
    added: Array
    ones: bool
    cost: float = 0.0

    def product(self, v: Array) -> Array:
        """The product of the matrix with a vector."""
        if self.is_formed:
            return np.asarray(self.matrix @ v)
        d = self.design.shape[1]
        z = self.design.matvec(np.ascontiguousarray(v[:d]))
        if self.ones:
            z = z + float(v[-1])
        slopes, image = self.predictions * z + self.mixed * float(v[d]), self.added * v
        image[:d] += self.design.rmatvec(slopes)
        image[d] += float(self.mixed @ z) + self.lam * float(v[d])
        if self.ones:
            image[-1] += float(np.sum(slopes))
        return image

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of the matrix."""
        diagonal, d = self.added.copy(), self.design.shape[1]
        diagonal[:d] += self.design.rmatmul_square(self.predictions[:, None])[:, 0]
        diagonal[d] += self.lam
        if self.ones:
            diagonal[-1] += float(np.sum(self.predictions))
        return diagonal

    @property
    def products_of_matrix(self) -> float:
        """The number of products that cost as much as the matrix and its factor."""
        cost = newton_cost(self.design, *self.design.shape) - OVERHEAD
        return cost / (PAIR * max(self.design.n_entries, 1))

    @cached_property
    def is_formed(self) -> bool:
        """Whether the matrix costs less than conjugate gradients."""
        is_small = len(self.added) <= INTERIOR.largest_system
        return is_small and self.products_of_matrix < CONE.fewest_products

    @cached_property
    def matrix(self) -> Array:
        """The matrix itself."""
        d = self.design.shape[1]
        others, full = np.delete(np.arange(len(self.added)), d), np.diag(self.added)
        full[np.ix_(others, others)] += self.design.gram(self.predictions, np.arange(d), self.ones)
        border = self.design.rmatvec(self.mixed)
        border = np.append(border, float(np.sum(self.mixed))) if self.ones else border
        full[d, others] = full[others, d] = border
        full[d, d] += self.lam
        return full


def minimise_over_cone(
    curvature: ConeCurvature, gradient: Array, x: Array, cone: NormCone
) -> Array:
    """The minimiser over the cone of the model with this gradient and curvature at x, nearly.

    The faces that are tried may repeat. If they do not end with a decrease of the model, they are
    followed by accelerated projected gradient steps on the model (Beck and Teboulle, 2009).

    Raises
    ------
    LinAlgError
        If no step decreases the model.
    """
    with blas_threads_for(len(x)), np.errstate(all="ignore"):
        for minimise in (_minimise_on_faces, _minimise_by_projection):
            p = minimise(curvature, gradient, x, cone)
            if float((p - x) @ gradient) < 0.0:
                return p
    raise LinAlgError("no step decreases the model")


def _minimise_by_projection(
    curvature: ConeCurvature, gradient: Array, x: Array, cone: NormCone
) -> Array:
    """The point of the cone after accelerated projected gradient steps."""
    d, p, y, momentum = cone.n_coefficients, x, x, 1.0
    bound = float(np.sum(curvature.diagonal))  # the trace, above all eigenvalues
    for _ in range(CONE.projected_steps):
        moved = y - (gradient + curvature.product(y - x)) / bound
        moved[:d], moved[d] = project_epigraph(moved[:d], float(moved[d]), cone.q, 1.0)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        y = moved + (momentum - 1.0) / following * (moved - p)
        p, momentum = moved, following
    curvature.cost += PAIR * CONE.projected_steps * curvature.design.n_entries
    return p


def _minimise_on_faces(
    curvature: ConeCurvature, gradient: Array, x: Array, cone: NormCone
) -> Array:
    """The point of the cone that the steps on faces lead to; x if they do not come to an end."""
    step, slope, face = np.zeros_like(x), gradient, None
    for _ in range(CONE.most_faces):
        following = cone.next_face(x, face, step, slope)
        if following is None:
            break
        face = following
        step = face.start + _step_on(face, curvature, gradient, x)
        slope = gradient + curvature.product(step)
    else:
        return x
    return x if face is None else cone.project(x + step, not face.free[face.lam])


def _step_on(face: Face, curvature: ConeCurvature, gradient: Array, x: Array) -> Array:
    """The step along a face to about the minimiser of the quadratic model."""
    right, bending, d = -face.reduce(gradient + curvature.product(face.start)), 0.0, face.lam
    normal = face.of_lam[:d]
    if face.is_sphere:
        size = float(np.linalg.norm(x[:d]))
        bending = (
            max(float(gradient[d]), 0.0) / size
            if size > 0.0
            else CONE.at_zero * float(np.max(curvature.diagonal))
        )

    def product(v: Array) -> Array:
        image = face.reduce(curvature.product(face.expand(v)))
        if bending:
            image[:d] += bending * (v[:d] - float(normal @ v[:d]) * normal)
        return image

    if not curvature.is_formed:
        max_steps = int(curvature.products_of_matrix)
        diagonal = curvature.diagonal.copy()
        diagonal[:d] += bending
        if face.free[d]:
            radius = np.zeros_like(right)
            radius[d] = 1.0
            diagonal[d] = float(product(radius)[d])
        diagonal[diagonal <= 0.0] = 1.0
        iterate = conjugate_gradients(
            product, lambda r: r / diagonal, right, most=max_steps, share=CONE.linear_accuracy
        )
        curvature.cost += PAIR * iterate.n_steps * curvature.design.n_entries
        if iterate.n_steps < max_steps:
            return face.expand(iterate.solution)
    curvature.cost += newton_cost(curvature.design, *curvature.design.shape)
    return face.expand(_solution(face, curvature.matrix, bending, right))


def _solution(face: Face, matrix: Array, bending: float, right: Array) -> Array:
    """The solution of the Newton system on a face by a Cholesky factor."""
    matrix = face.reduce_matrix(matrix)
    normal = np.zeros_like(right)
    normal[: face.lam] = face.of_lam[: face.lam]
    dger(-bending, normal, normal, a=matrix.T, overwrite_a=True)
    added = np.where(face.free, 0.0, 1.0)
    added[: face.lam] += bending
    # variables without any curvature do not change
    added += np.where(matrix.diagonal() + added > 0.0, 0.0, 1.0)
    matrix[np.diag_indices_from(matrix)] += added
    factor = cho_factor(matrix.T, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, right))
