"""The penalty in a quadratic model of a vector of coefficients."""

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...designs.gram import MatrixCurvature
from ...penalties import GroupElasticNet, GroupL2, Penalty
from ...penalties.weighted import restricted
from .settings import QUADRATIC


class GroupedPart:
    """The penalty alpha R on the working set, with R = sum_j l1 |w_j| + sum_g weight_g ||w_g||."""

    def __init__(self, penalty: GroupL2 | GroupElasticNet, alpha: float, columns: Indices) -> None:
        labels = penalty.labels[columns]
        l1, group_weights = penalty.group_terms
        self.order = np.argsort(labels, kind="stable")
        labels = labels[self.order]
        first = np.diff(labels, prepend=-1) > 0  # whether a feature is the first of its group
        starts = np.append(np.flatnonzero(first), len(labels))
        weights = alpha * group_weights[labels[first]]
        self.coordinates = kernels.GroupedCoordinates(alpha * l1, weights, starts)

    def minimise(self, curvature: MatrixCurvature, p: Array, r: Array, tol: float) -> None:
        """Update p to a minimiser of the model, and the gradient r of its smooth part."""
        kernels.minimise_grouped(
            curvature.matrix, self.coordinates, p, r, QUADRATIC.sweeps, tol, QUADRATIC.most_rounds
        )


class SeparablePart:
    """The penalty alpha R on the working set, R = sum_j l1 |w_j| + l2 w_j^2 / 2 within bounds."""

    def __init__(self, penalty: Penalty, alpha: float, columns: Indices) -> None:
        self.columns = columns
        self.coordinates = restricted(penalty, columns).kernel_terms(alpha, len(columns))

    def minimise(self, curvature: MatrixCurvature, p: Array, r: Array, tol: float) -> None:
        """Update p to a minimiser of the model, and the gradient r of its smooth part."""
        sweeps = QUADRATIC.sweeps + min(len(p) // 20, 20)
        kernels.minimise_separable(
            curvature.system, curvature.matrix, self.columns, self.coordinates, p, r, sweeps,
            tol, QUADRATIC.most_rounds,
        )  # fmt: skip
