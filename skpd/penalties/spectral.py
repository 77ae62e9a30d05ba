"""Penalties on the singular values of a matrix of coefficients."""

from dataclasses import dataclass

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._immutable_base import attribute_of_part
from .._typing import Array
from .base import Penalty, PenaltyCones, Structure, cached_attribute
from .norms import L2Norm


@dataclass(frozen=True)
class Spectral(Penalty):
    """A penalty on the singular values of a matrix, R(W) = r(sigma(W)).

    If r is invariant under permutations and changes of sign of its entries, R is convex, its
    conjugate is that of r at the singular values, and its prox is that of r applied to the
    singular values (Lewis, 1995, The convex analysis of unitarily invariant matrix functions).
    ``L1()`` gives the trace norm, ``SquaredL2()`` half the squared Frobenius norm, and
    ``SquaredL2OnL1Ball()`` half the squared Frobenius norm on a ball of the trace norm.

    Parameters
    ----------
    of_values : Penalty
        The function r, which must be invariant under permutations and changes of sign.
    n_outputs : int, default=None
        The length of a row, if coefficients are the rows of a matrix one after the other; by
        default coefficients are matrices.

    Raises
    ------
    ValueError
        If r does not have this invariance.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import L1, Spectral
    >>> Spectral(L1()).prox(np.diag([3.0, 0.5]), 1.0)
    array([[2., 0.],
           [0., 0.]])
    """

    of_values: Penalty
    n_outputs: int | None = None
    structure = Structure.SPECTRAL
    has_ties = True
    is_finite = attribute_of_part("of_values.is_finite")

    def __post_init__(self) -> None:
        if not self.of_values.symmetric:
            raise ValueError(
                "of_values of Spectral must be a penalty that is the same for every sign and "
                f"every order of the coefficients, got {self.of_values!r}."
            )

    def for_n_features(self, n_features: int) -> "Spectral":
        if self.n_outputs is not None and n_features % self.n_outputs:
            raise ValueError(
                f"n_outputs of Spectral must divide the number of coefficients, {n_features}, got "
                f"{self.n_outputs}."
            )
        return self

    @property
    def has_cones_of_outputs(self) -> bool:
        """Whether R is the trace norm, or a multiple of half the squared norm on its ball."""
        structure = self.of_values.structure
        is_sum = self.of_values.is_norm and structure is Structure.SEPARABLE
        return self.n_outputs is not None and (is_sum or structure is Structure.BALL)

    def shape_of(self, n_coefficients: int) -> tuple[int, int]:
        """The shape of the matrix whose rows are so many coefficients, one after the other."""
        assert self.n_outputs is not None
        return n_coefficients // self.n_outputs, self.n_outputs

    def _matrix(self, w: Array) -> Array:
        return w if self.n_outputs is None else w.reshape(-1, self.n_outputs)

    of_conjugate_arguments = attribute_of_part("of_values")

    @cached_attribute
    def of_one_output(self) -> Penalty | None:
        """The penalty of a single column, whose Euclidean norm is its one singular value."""
        if self.n_outputs is None:
            return None
        return L2Norm() if self.of_values.is_norm else Spectral(self.of_values, 1)

    def value(self, w: Array) -> float:
        """The value R(W), rounded up."""
        return self.of_values.value(self._values(w))

    def _values(self, w: Array) -> Array:
        return largest_singular_values(self._matrix(w))

    def prox(self, w: Array, step: Array | float) -> Array:
        """The prox with the smallest of the steps, which `step_sizes` makes equal."""
        left, values, right = np.linalg.svd(self._matrix(w), full_matrices=False)
        shrunk = self.of_values.prox(values, float(np.min(step)))
        return ((left * shrunk) @ right).reshape(w.shape)

    def conjugate(self, v: Array, alpha: float) -> float:
        return self.of_values.conjugate(self._values(v), alpha)

    def support(self, v: Array, radius: float) -> float:
        return self.of_values.support(self._values(v), radius)

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        return self.of_values.bounded_conjugate(self._values(v), alpha, radius)

    def largest_alpha(self, v: Array) -> float:
        return self.of_values.largest_alpha(self._values(v))

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        shape = self.shape_of(cones.n_coefficients)
        if self.of_values.structure is Structure.BALL:
            cones.add_separable(l2=alpha * self.of_values.without_ridge()[0])
            cones.add_trace_norm_ball(shape, self.of_values.l1_radius)
            return
        cones.add_trace_norm(shape, alpha * float(np.max(self.of_values.terms[0])))

    def feasible(self, w: Array) -> Array:
        """The nearest point where R is finite."""
        if self.is_finite or self.value(w) < np.inf:
            return w
        matrix = self._matrix(w)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        # a relative margin for the rounding errors of all singular values
        margin = 1e-12 + 2.0 * min(matrix.shape) * singular_value_rounding(matrix.shape)
        nearest: Array = (left * (self.of_values.feasible(values) * (1.0 - margin))) @ right
        return nearest.reshape(w.shape)

    def conjugate_arguments(self, v: Array, error: Array) -> tuple[Array, Array]:
        """The singular values and bounds on their errors.

        By Weyl's inequality these are at most the Frobenius norm of the error of the matrix.
        """
        values = self._values(v)
        return values, np.full_like(values, kernels.euclidean_norm(np.ravel(error)))


def largest_singular_values(matrix: Array) -> Array:
    """Upper bounds on the singular values of a matrix, in decreasing order."""
    if not matrix.any():
        return np.zeros(min(matrix.shape))
    if not np.isfinite(matrix).all():
        return np.full(min(matrix.shape), np.inf)
    nonzero = matrix[:, matrix.any(axis=0)]  # mean rows of one output have one column
    values = np.zeros(min(matrix.shape))
    computed = np.linalg.svd(nonzero, compute_uv=False)
    values[: len(computed)] = computed
    return values + singular_value_rounding(matrix.shape) * float(values[0])


def singular_value_rounding(shape: tuple[int, ...]) -> float:
    """A bound on the errors of computed singular values, relative to the largest of them."""
    return 4.0 * (sum(shape) + 16) * EPSILON
