"""Penalised quadratic models on a working set, by coordinate descent and Newton steps.

Coordinate descent finds the support, on which the penalty is smooth, and a Newton step the values
on it; both are repeated in turns. How they are computed depends on the form of the curvature.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from ..._typing import Array, Indices
from ...designs.curvature_form import CurvatureForm
from ...penalties import Structure
from .output_quadratic import minimise_blocks, minimise_by_products
from .penalty_of_model import GroupedPart, SeparablePart
from .settings import QUADRATIC, SETTINGS, Accuracy


class QuadraticModel(ABC):
    """The model g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p) on a working set.

    Parameters
    ----------
    curvature : MatrixCurvature, ColumnCurvature, SystemCurvature, RowBlocks or OutputColumns
        H on the working set, followed by the intercept if there is one.

    Attributes
    ----------
    accuracy : Accuracy
        The accuracies to which Newton steps minimise such models.
    """

    accuracy: ClassVar[Accuracy]

    def __init__(self, curvature: Any) -> None:
        self.curvature = curvature

    @abstractmethod
    def minimise(
        self, gradient: Array, w: Array, penalty: Any, alpha: float, columns: Indices, tol: float
    ) -> Array:
        """The minimiser p of the model.

        Parameters
        ----------
        gradient, w : ndarray of shape (m,)
        penalty : Penalty
            A separable penalty or a sum over groups.
        alpha : float
        columns : ndarray of shape (n_columns,)
            The features of the working set, increasing and with whole groups.
        tol : float
            The largest change of a gradient at which to stop.
        """


class _VectorModel(QuadraticModel):
    """A model of a vector of coefficients, whose groups are put side by side."""

    def minimise(
        self, gradient: Array, w: Array, penalty: Any, alpha: float, columns: Indices, tol: float
    ) -> Array:
        if penalty.structure is Structure.SEPARABLE:
            part = SeparablePart(penalty, alpha, columns)
            return self._minimise(self.curvature, gradient, w, part, tol)
        grouped = GroupedPart(penalty, alpha, columns)
        ridge = np.zeros(len(w))
        ridge[: len(columns)] = alpha * penalty.group_ridge
        gradient = gradient + ridge * w
        order = np.append(grouped.order, np.arange(len(columns), len(w)))
        curvature, minimiser = self.curvature.rearranged(order, ridge), np.empty_like(w)
        minimiser[order] = self._minimise(curvature, gradient[order], w[order], grouped, tol)
        self.curvature.passes = curvature.passes
        return minimiser

    @abstractmethod
    def _minimise(self, curvature: Any, gradient: Array, w: Array, part: Any, tol: float) -> Array:
        """The minimiser of the model, for columns in the order of ``part``."""


class _ByMatrix(_VectorModel):
    accuracy = SETTINGS.accuracy_by_matrix

    def _minimise(self, curvature: Any, gradient: Array, w: Array, part: Any, tol: float) -> Array:
        p = w.copy()
        part.minimise(curvature, p, gradient.copy(), tol)
        return p


class _ByColumns(_VectorModel):
    """A model whose curvature is given by columns; Newton steps use conjugate gradients."""

    accuracy = SETTINGS.accuracy_by_columns

    def _minimise(self, curvature: Any, gradient: Array, w: Array, part: Any, tol: float) -> Array:
        columns = curvature.columns
        p, response = w.copy(), np.zeros(columns.n_rows)  # A (p - w)
        model = (curvature.indices, gradient, w, curvature.ridge, part.coordinates, p, response)
        for _ in range(QUADRATIC.most_rounds):
            change, sweeps = columns.descend(*model, QUADRATIC.sweeps_by_columns, tol)
            curvature.passes += 2 * sweeps
            if change <= tol or curvature.passes > QUADRATIC.most_passes:
                break
            max_steps, accuracy = QUADRATIC.most_linear_steps, QUADRATIC.linear_accuracy
            curvature.passes += 2 * columns.newton_step(*model, max_steps, accuracy)
        return p


class _BySystem(QuadraticModel):
    """A model of a squared penalty without bounds, whose minimiser solves a linear system."""

    accuracy = SETTINGS.accuracy_by_products

    def minimise(
        self, gradient: Array, w: Array, penalty: Any, alpha: float, columns: Indices, tol: float
    ) -> Array:
        ridge = np.zeros(len(w))
        l2 = np.broadcast_to(penalty.terms[1], len(columns))  # of all features
        ridge[: len(columns)] = alpha * l2
        step: Array = self.curvature.solution(-gradient - ridge * w, ridge, tol)
        return w + step


class _ByBlocks(QuadraticModel):
    accuracy = SETTINGS.accuracy_by_blocks

    def minimise(
        self, gradient: Array, w: Array, penalty: Any, alpha: float, columns: Indices, tol: float
    ) -> Array:
        return minimise_blocks(self.curvature, gradient, w, penalty, alpha, columns, tol)


class _ByProducts(QuadraticModel):
    accuracy = SETTINGS.accuracy_by_products

    def minimise(
        self, gradient: Array, w: Array, penalty: Any, alpha: float, columns: Indices, tol: float
    ) -> Array:
        return minimise_by_products(self.curvature, gradient, w, penalty, alpha, columns, tol)


_MODELS: dict[CurvatureForm, type[QuadraticModel]] = {
    CurvatureForm.MATRIX: _ByMatrix,
    CurvatureForm.COLUMNS: _ByColumns,
    CurvatureForm.BLOCKS: _ByBlocks,
    CurvatureForm.PRODUCTS: _ByProducts,
    CurvatureForm.SYSTEM: _BySystem,
}


def quadratic_model(curvature: Any) -> QuadraticModel:
    """The model of a curvature, by the form in which it is given."""
    return _MODELS[curvature.form](curvature)
