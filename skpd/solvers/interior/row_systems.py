"""Linear systems of Newton steps with a matrix over the rows, for data of many features."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array, Table
from ...designs import Design
from ...designs.conjugate_gradients import conjugate_gradients
from .settings import SETTINGS
from .systems import NewtonSystem, cholesky, solved


class RowSystem(NewtonSystem):
    """A Newton system with a matrix over the rows, by Woodbury's identity and refinement.

    It is used if there are fewer rows than features. D must be positive, without rows E. For
    H = R R, the matrix over the rows is I + R X D^-1 X' R; here X has the coefficients' columns
    only, and those of the intercepts are additional borders.
    """

    def factorise(self) -> None:
        d = self.n_coefficients
        self.d = self.diagonal[:d]
        values, vectors = np.linalg.eigh(self.curvature_of_rows())
        roots = np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors
        self.roots = roots @ np.swapaxes(vectors, 1, 2)
        matrix = self._gram_of_rows(1.0 / self.d)
        if self.groups is not None:  # D^-1 = diag(1 / d) + sum_g s_g y_g y_g' with signs s_g
            starts, scales, v = self.groups
            y = v / self.d[: starts[-1]]  # coefficients without a group follow the others
            left = np.maximum(1.0 - scales * np.add.reduceat(v * y, starts[:-1]), EPSILON)
            y *= np.repeat(np.sqrt(np.abs(scales) / left), np.diff(starts))
            self.group_inverse = starts, np.sign(scales), y
            # the sums over each group of the features times y, of shape (n_groups, n_rows)
            of_groups = sp.csr_array((y, np.arange(len(y)), starts), (len(scales), self.n_core))
            sums = self._times_rows(of_groups)
            matrix += Design(sums).gram(np.sign(scales), np.arange(len(self.h)), False)
        matrix = np.ascontiguousarray(self._of_root(self._of_root(matrix).T))
        matrix.ravel()[:: len(matrix) + 1] += 1.0
        self.factor = cholesky(matrix.T)
        if self.n_core > d:  # the columns of intercepts are additional borders
            ones, others = self.design.table(np.arange(d, self.n_core)), self.borders[d:]
            weighted = self._of_root(self._of_root(ones))
            pivots = ones.T @ weighted + np.diag(self.diagonal[d:])
            self.corner = np.block([[pivots, others], [others.T, self.corner]])
            self.borders = np.hstack([self._for_each(self._rmatvec, weighted), self.borders[:d]])

    def _of_root(self, v: Array) -> Array:
        """The product R v, for a vector or a table."""
        if self.blocks is None:
            return (self.roots[:, 0, 0] * v.T).T
        return (self.roots @ v.reshape(*self.roots.shape[:2], -1)).reshape(v.shape)

    def _with_intercepts(self, of_coefficients: Array) -> Array:
        """A vector over the coefficients, and 0 for the columns of intercepts."""
        return np.append(of_coefficients, np.zeros(self.n_core - self.n_coefficients))

    def _matvec(self, w: Array) -> Array:
        """The product X w."""
        v, w = np.empty(len(self.h)), self._with_intercepts(w)
        for rows, columns, design in self.outputs:
            v[rows] = design.matvec(w[columns])
        return v

    def _rmatvec(self, v: Array) -> Array:
        """The product X'v."""
        w = np.empty(self.n_core)
        for rows, columns, design in self.outputs:
            w[columns] = design.rmatvec(v[rows])
        return w[: self.n_coefficients]

    def _gram_of_rows(self, of_features: Array) -> Array:
        """The matrix X diag(of_features) X'."""
        matrix, h = np.zeros((len(self.h),) * 2), self._with_intercepts(of_features)
        for rows, columns, design in self.outputs:
            every = np.arange(len(rows))
            matrix[np.ix_(rows, rows)] = design.transposed.gram(h[columns], every, False)
        return matrix

    def _times_rows(self, table: sp.csr_array) -> Table:
        """The product with X', for a table with a column for each unknown."""
        outputs = [output for output in self.outputs if len(output.rows)]
        places = np.argsort(np.concatenate([output.rows for output in outputs]))
        parts = [table[:, columns] @ design.as_given.T for _, columns, design in outputs]
        whole: Table = sp.hstack(parts, "csr") if sp.issparse(parts[0]) else np.hstack(parts)
        return whole[:, places]

    @staticmethod
    def _for_each(function: Callable[[Array], Array], table: Array) -> Array:
        """The results of a function for the columns of a table."""
        return np.stack([function(np.ascontiguousarray(column)) for column in table.T], axis=1)

    def solve_core(self, right: Array) -> Array:
        return self._refined(right) if right.ndim == 1 else self._for_each(self._refined, right)

    def _inverse_of_penalty(self, right: Array) -> Array:
        solution = right / self.d
        if self.groups is not None:
            starts, signs, y = self.group_inverse
            end = starts[-1]
            sums = signs * np.add.reduceat(y * right[:end], starts[:-1])
            solution[:end] += np.repeat(sums, np.diff(starts)) * y
        return solution

    def _penalty(self, x: Array) -> Array:
        image = self.d * x
        if self.groups is not None:
            starts, scales, v = self.groups
            end = starts[-1]
            sums = np.add.reduceat(v * x[:end], starts[:-1])
            image[:end] -= np.repeat(scales * sums, np.diff(starts)) * v
        return image

    def _woodbury(self, right: Array) -> Array:
        first = self._inverse_of_penalty(right)
        rows = solved(self.factor, self._of_root(self._matvec(first)))
        return first - self._inverse_of_penalty(self._rmatvec(self._of_root(rows)))

    def _refined(self, right: Array) -> Array:
        """The solution refined by conjugate gradients, which start again while it is inexact.

        Woodbury's identity suffers from cancellation where a feature is active.

        Raises
        ------
        LinAlgError
            If the residual remains large.
        """

        def product(x: Array) -> Array:
            rows = self._of_root(self._of_root(self._matvec(x)))
            return self._penalty(x) + self._rmatvec(rows)

        size, solution, residual = kernels.max_abs(right), np.zeros_like(right), right
        for _ in range(SETTINGS.refinement_rounds):
            iterate = conjugate_gradients(
                product, self._woodbury, residual, max_iter=SETTINGS.refinements,
                target=SETTINGS.refined_residual * size,
            )  # fmt: skip
            solution = solution + iterate.solution
            residual = right - product(solution)  # that of the iteration accumulates errors
            if kernels.max_abs(residual) <= SETTINGS.usual_residual * size:
                return solution
        if not kernels.max_abs(residual) <= SETTINGS.largest_residual * size:
            raise LinAlgError("a Newton system over the rows cannot be solved")
        return solution
