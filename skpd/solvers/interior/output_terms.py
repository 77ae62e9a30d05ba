"""The terms of losses of several predictions, with a block of curvature for each row.

The bound on the loss of a row is eliminated from a Newton step. The remaining block is R'R, and
its root R is added to the system (`skpd.solvers.interior.output_systems`).
"""

from math import inf
from typing import NamedTuple, cast

import numpy as np

from ..._typing import Array
from ...designs import Design
from ...losses import Loss
from .cones import EuclideanNorms
from .maps import Map, OutputDifferences
from .settings import SETTINGS
from .slack_multiplier_pairs import ConeVector, Maxima
from .systems import NewtonSystem
from .terms import DualTerm, Intervals, Smooth


class CoupledRows(NamedTuple):
    """The data of terms of the rows.

    Attributes
    ----------
    image : Map
        The map to the predictions z, with the outputs of a row side by side.
    y : ndarray of shape (n_samples, n_outputs)
        Targets, or 1 for the class of a row and 0 for other classes.
    weights : ndarray of shape (n_samples,)
        The weights c.
    x : ndarray of shape (n_unknowns,)
        The initial unknowns.
    """

    image: Map
    y: Array
    weights: Array
    x: Array


def _root_of_spread(r: Array) -> Array:
    """The roots diag(sqrt(r)) (I - 1 r' / sum(r)) of diag(r) - r r' / sum(r), for rows r."""
    shares = r / np.sum(r, axis=1, keepdims=True)
    centred = np.eye(r.shape[1]) - shares[:, np.newaxis]
    return cast(Array, np.sqrt(r)[:, :, np.newaxis] * centred)


class LargestScores(Maxima, DualTerm):
    """The term sum_i c_i max_k (z_ik + [k is not y_i] - z_iy), the loss of Crammer and Singer.

    Parameters
    ----------
    rows : CoupledRows
    """

    axis = 1

    def __init__(self, rows: CoupledRows) -> None:
        image, y, weights, x = rows
        self.image, self.y, self.weights = image, y, weights[:, np.newaxis]
        scores = self._scores(x) + (1.0 - y)
        self.slack = 1.0 + np.max(scores, axis=1, keepdims=True) - scores
        self.dual = np.full(y.shape, 1.0 / y.shape[1])
        self.degree = y.shape[1] * float(np.sum(weights))

    @property
    def multipliers(self) -> Array:
        return np.ravel(self.dual / self._sums(self.dual) - self.y)

    def _scores(self, x: Array) -> Array:
        z = self.image.times(x).reshape(self.y.shape)
        return z - self._sums(self.y * z)

    def _add_adjoint(self, dual: Array, out: Array) -> None:
        in_z = dual - self._sums(dual) * self.y
        self.image.add_adjoint(np.ravel(self.weights * in_z), out)

    def factorise(self, system: NewtonSystem) -> None:
        self._differentiate()
        system.add_blocks(_root_of_spread(self.weights * self.ratio))


class RowNorms(EuclideanNorms, DualTerm):
    """The term sum_i c_i ||z_i - y_i||_2.

    Parameters
    ----------
    rows : CoupledRows
    width : float
        The initial size of residuals.
    """

    def __init__(self, rows: CoupledRows, width: float) -> None:
        image, y, weights, x = rows
        n, n_outputs = y.shape
        heads = np.ones(n)
        super().__init__(np.arange(n + 1) * n_outputs, heads, 1.0, width * heads)
        self.image, self.weights, self.n_outputs = image, weights, n_outputs
        residual = image.times(x) - np.ravel(y)
        norms = np.sqrt(self.groups.sums(residual * residual))
        self.slack = ConeVector(width + norms, residual)
        self.degree = float(np.sum(weights))

    @property
    def multipliers(self) -> Array:
        return -self.dual.tail

    def _arguments(self, x: Array) -> Array:
        return self.image.times(x)

    def _add_adjoint(self, dual: ConeVector, out: Array) -> None:
        self.image.add_adjoint(-self.groups.spread(self.weights) * dual.tail, out)

    def move_onto_kinks(self, x: Array) -> None:
        """Change nothing, as residuals are not unknowns."""

    def _product(self, slack: ConeVector, dual: ConeVector) -> float:
        tails = self.groups.sums(slack.tail * dual.tail)
        return float(self.weights @ (slack.head * dual.head + tails))

    def factorise(self, system: NewtonSystem) -> None:
        """Add the blocks (I - 2 v v' / (2 v_0^2 - 1)) / size to the system.

        Their roots are (I - k v v') / sqrt(size).
        """
        scaling = self.scale()
        inside = 2.0 * scaling.head * scaling.head - 1.0
        self.of_head = inside / scaling.size
        v = scaling.tail.reshape(-1, self.n_outputs)
        k = 2.0 / (inside * (1.0 + np.sqrt(1.0 / inside)))
        roots = np.eye(self.n_outputs) - k[:, None, None] * (v[:, :, None] * v[:, None, :])
        system.add_blocks(roots * np.sqrt(self.weights / scaling.size)[:, None, None])


class SoftmaxRows(Smooth):
    """The smooth term sum_i c_i (log sum_k exp(z_ik) - z_iy).

    Parameters
    ----------
    rows : CoupledRows
    loss : Loss
        The softmax loss.
    """

    def __init__(self, rows: CoupledRows, loss: Loss) -> None:
        image, y, weights, x = rows
        self.y, self.loss, self.shape = np.ravel(y), loss, y.shape
        super().__init__(image, np.zeros(y.size), np.repeat(weights, y.shape[1]), x)

    def derivative(self, s: Array) -> Array:
        return self.loss.gradient(self.y, s)

    def factorise(self, system: NewtonSystem) -> None:
        p = np.maximum(self.multipliers + self.y, SETTINGS.least_curvature)
        p = p.reshape(self.shape)
        self.p = p / np.sum(p, axis=1, keepdims=True)
        system.add_blocks(_root_of_spread(self.weights.reshape(self.shape) * self.p))

    def model_change(self, s_step: Array) -> Array:
        change = s_step.reshape(self.shape)
        return np.ravel(self.p * (change - np.sum(self.p * change, axis=1, keepdims=True)))


class OutputsInOrder(Intervals):
    """The constraints z_i1 <= ... <= z_iK for the outputs of every row.

    Parameters
    ----------
    rows : CoupledRows
    design : Design
        The design of the predictions.
    width : float
        The initial distance of neighbours.
    """

    image: OutputDifferences

    def __init__(self, rows: CoupledRows, design: Design, width: float) -> None:
        n_outputs = rows.y.shape[1]
        super().__init__(
            OutputDifferences(design, n_outputs), lower=0.0, upper=inf,
            weights=np.repeat(rows.weights, n_outputs - 1), x=rows.x, width=width,
        )  # fmt: skip

    @property
    def multipliers(self) -> Array:
        """The derivatives of the term in the predictions."""
        return self.image.of_predictions(super().multipliers)
