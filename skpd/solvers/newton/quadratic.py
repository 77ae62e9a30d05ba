"""Penalised quadratic models on a working set, by coordinate descent and Newton steps.

Coordinate descent finds the support, on which the penalty is smooth, and a Newton step the values
on it; both are repeated in turns. How they are computed depends on the form of the curvature.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...designs.curvature_form import CurvatureForm
from ...penalties import Penalty, Structure
from ...penalties.weighted import restricted
from .output_quadratic import minimise_blocks, minimise_by_products
from .settings import QUADRATIC, SETTINGS, Accuracy


class QuadraticModel(NamedTuple):
    """The model g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p) on a working set.

    Attributes
    ----------
    curvature : MatrixCurvature, ColumnCurvature, SystemCurvature, GramMatrices or OutputColumns
        H on the working set, followed by the intercept if there is one.
    accuracy : Accuracy
        The accuracies to which Newton steps minimise such models.
    minimiser : callable
        The method for this form of H, with H and the parameters of `minimise`.
    """

    curvature: Any
    accuracy: Accuracy
    minimiser: Callable[..., Array]

    def minimise(
        self, gradient: Array, w: Array, penalty: Penalty, alpha: float, columns: Indices,
        tol: float,
    ) -> Array:  # fmt: skip
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
        return self.minimiser(self.curvature, gradient, w, penalty, alpha, columns, tol)


def _minimise_vector(
    H: Any, gradient: Array, w: Array, penalty: Penalty, alpha: float, columns: Indices, tol: float
) -> Array:
    """The minimiser for a vector of coefficients, whose groups are put side by side."""
    minimise = _by_matrix if H.form is CurvatureForm.MATRIX else _by_columns
    if penalty.structure is Structure.SEPARABLE:
        of_features = restricted(penalty, columns)
        terms = of_features.kernel_terms(alpha, len(columns))
        return minimise(H, gradient, w, terms, tol, columns)
    labels = penalty.labels[columns]
    order = np.argsort(labels, kind="stable")
    labels = labels[order]
    first = np.diff(labels, prepend=-1) > 0  # whether a feature is the first of its group
    l1, weights = penalty.group_terms
    starts, weights = np.append(np.flatnonzero(first), len(labels)), alpha * weights[labels[first]]
    coordinates = kernels.GroupedCoordinates(alpha * l1, weights, starts)
    ridge = np.zeros(len(w))
    ridge[: len(columns)] = alpha * penalty.group_ridge
    gradient = gradient + ridge * w
    order = np.append(order, np.arange(len(columns), len(w)))
    rearranged, minimiser = H.rearranged(order, ridge), np.empty_like(w)
    minimiser[order] = minimise(rearranged, gradient[order], w[order], coordinates, tol)
    H.passes = rearranged.passes
    return minimiser


def _by_matrix(
    H: Any, gradient: Array, w: Array, coordinates: Any, tol: float, names: Indices | None = None
) -> Array:
    """The minimiser of a model by its matrix, where ``names`` are those of separable coordinates.

    Equal names denote equal coordinates in all models, whose factors are kept.
    """
    p, r, sweeps, rounds = w.copy(), gradient.copy(), QUADRATIC.sweeps, QUADRATIC.most_rounds
    if names is None:
        if len(p) > QUADRATIC.small_groups:
            sweeps, rounds = QUADRATIC.sweeps_of_groups, 1
        kernels.minimise_grouped(H.matrix, coordinates, p, r, sweeps, tol, rounds)
    else:
        sweeps += min(len(p) // 20, 20)
        few = len(p) <= QUADRATIC.few_coefficients
        first = rounds if few else QUADRATIC.rounds
        settled = kernels.minimise_separable(
            H.system, H.matrix, names, coordinates, p, r, sweeps, tol, first
        )
        if not (settled or few):
            _by_proximal_points(H.matrix, names, coordinates, p, r, sweeps, tol)
    return p


def _by_proximal_points(
    H: Array, names: Indices, coordinates: Any, p: Array, r: Array, sweeps: int, tol: float
) -> None:
    """Minimise a model whose matrix may be singular by minimisers near the last one.

    Each adds half a squared distance from the last (Rockafellar, 1976), with a weight that makes
    the matrix regular, so that few Newton steps find it.
    """
    ridge = QUADRATIC.proximal_ridge * float(np.mean(H.diagonal()))
    system, damped = kernels.SupportSystem(), H.copy()
    damped.ravel()[:: len(H) + 1] += ridge
    for _ in range(QUADRATIC.most_rounds):
        before = p.copy()
        kernels.minimise_separable(
            system, damped, names, coordinates, p, r, sweeps, tol, QUADRATIC.most_rounds
        )
        pull = ridge * (p - before)
        r -= pull
        if kernels.max_abs(pull) <= tol:
            break


def _by_columns(
    H: Any, gradient: Array, w: Array, coordinates: Any, tol: float, names: Indices | None = None
) -> Array:
    """The minimiser of a model by columns; Newton steps use conjugate gradients."""
    columns = H.columns
    p, response = w.copy(), np.zeros(columns.n_rows)  # A (p - w)
    model = (H.indices, gradient, w, H.ridge, coordinates, p, response)
    for _ in range(QUADRATIC.most_rounds):
        change, sweeps = columns.descend(*model, QUADRATIC.sweeps_by_columns, tol)
        H.passes += 2 * sweeps
        if change <= tol or H.passes > QUADRATIC.most_passes:
            break
        max_steps, accuracy = QUADRATIC.most_linear_steps, QUADRATIC.linear_accuracy
        H.passes += 2 * columns.newton_step(*model, max_steps, accuracy)
    return p


def _by_system(
    H: Any, gradient: Array, w: Array, penalty: Penalty, alpha: float, columns: Indices, tol: float
) -> Array:
    """The minimiser for a squared penalty without bounds, which solves a linear system."""
    ridge = np.zeros(len(w))
    l2 = np.broadcast_to(penalty.terms[1], len(columns))  # of all features
    ridge[: len(columns)] = alpha * l2
    step: Array = H.solution(-gradient - ridge * w, ridge, tol)
    return w + step


_METHODS: dict[CurvatureForm, tuple[Accuracy, Callable[..., Array]]] = {
    CurvatureForm.MATRIX: (SETTINGS.accuracy_by_matrix, _minimise_vector),
    CurvatureForm.COLUMNS: (SETTINGS.accuracy_by_columns, _minimise_vector),
    CurvatureForm.BLOCKS: (SETTINGS.accuracy_by_blocks, minimise_blocks),
    CurvatureForm.PRODUCTS: (SETTINGS.accuracy_by_products, minimise_by_products),
    CurvatureForm.SYSTEM: (SETTINGS.accuracy_by_products, _by_system),
}


def quadratic_model(curvature: Any) -> QuadraticModel:
    """The model of a curvature, by the form in which it is given."""
    return QuadraticModel(curvature, *_METHODS[curvature.form])
