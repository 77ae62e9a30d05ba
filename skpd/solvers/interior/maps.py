"""The linear maps from the unknowns to the arguments of the terms of an objective.

The unknowns are the coefficients, the intercept if there is one, and additional unknowns of a
penalty (such as the height of an epigraph), in this order.
"""

from typing import Protocol

import numpy as np
import scipy.sparse as sp

from ..._typing import Array, Indices, Numbers
from ...designs import Design
from .systems import NewtonSystem


class Map(Protocol):
    """The interface of a linear map A of the unknowns."""

    def times(self, x: Array) -> Array:
        """The product A x."""

    def add_adjoint(self, v: Array, out: Array) -> None:
        """Add A'v to ``out``."""

    def add_curvature(self, h: Array, system: NewtonSystem) -> None:
        """Add A' diag(h) A to the system."""

    def of_predictions(self, v: Array) -> Array:
        """Derivatives in predictions of which A x is a function, from those in A x."""
        return v

    def set_where(self, chosen: Array, values: Array, x: Array) -> None:
        """Set the chosen values of A x exactly, by changing x, if they are single unknowns."""
        return


class Predictions(Map):
    """The map to X w + b, where X has a last column of ones if there is an intercept."""

    def __init__(self, design: Design) -> None:
        self.design, self.size = design, design.shape[1]

    def times(self, x: Array) -> Array:
        return self.design.matvec(x[: self.size])

    def add_adjoint(self, v: Array, out: Array) -> None:
        out[: self.size] += self.design.rmatvec(v)

    def add_curvature(self, h: Array, system: NewtonSystem) -> None:
        system.add_rows(h)


class OutputDifferences(Predictions):
    """The map to differences z_ik - z_i,k+1 of predictions of neighbouring outputs.

    Parameters
    ----------
    design : Design
        X, whose rows are those of all outputs of the first sample, then of the second.
    n_outputs : int
    """

    def __init__(self, design: Design, n_outputs: int) -> None:
        super().__init__(design)
        self.n_outputs = n_outputs

    def times(self, x: Array) -> Array:
        return np.ravel(-np.diff(super().times(x).reshape(-1, self.n_outputs), axis=1))

    def of_predictions(self, v: Array) -> Array:
        table = v.reshape(-1, self.n_outputs - 1)
        return np.ravel(np.diff(table, axis=1, prepend=0.0, append=0.0))

    def add_adjoint(self, v: Array, out: Array) -> None:
        super().add_adjoint(self.of_predictions(v), out)

    def add_curvature(self, h: Array, system: NewtonSystem) -> None:
        roots = np.sqrt(h).reshape(-1, self.n_outputs - 1, 1)
        system.blocks = roots * np.diff(np.eye(self.n_outputs), axis=0)


class Coefficients(Map):
    """The map to some of the coefficients.

    Parameters
    ----------
    indices : ndarray of int
        The coefficients.
    """

    def __init__(self, indices: Indices) -> None:
        self.indices = indices

    def times(self, x: Array) -> Array:
        return x[self.indices]

    def add_adjoint(self, v: Array, out: Array) -> None:
        out[self.indices] += v

    def set_where(self, chosen: Array, values: Array, x: Array) -> None:
        x[self.indices[chosen]] = values

    def add_curvature(self, h: Array, system: NewtonSystem) -> None:
        system.diagonal[self.indices] += h


class WithColumn(Map):
    """The map to A x + t a, with an additional unknown t and a given column a.

    Parameters
    ----------
    image : Map
        The map A.
    column : float or ndarray of shape (n_terms,)
        The column a, or the number in all its entries.
    place : int
        The index of t among the unknowns.
    """

    def __init__(self, image: Map, column: Numbers, place: int) -> None:
        self.image, self.column, self.place = image, column, place

    def times(self, x: Array) -> Array:
        return self.image.times(x) + x[self.place] * self.column

    def add_adjoint(self, v: Array, out: Array) -> None:
        self.image.add_adjoint(v, out)
        out[self.place] += float(np.sum(self.column * v))

    def add_curvature(self, h: Array, system: NewtonSystem) -> None:
        self.image.add_curvature(h, system)
        weighted = h * self.column
        self.image.add_adjoint(weighted, system.border(self.place))
        system.add_corner(self.place, self.place, float(np.sum(self.column * weighted)))


class Differences(Map):
    """The map to the differences w_{j+1} - w_j."""

    def __init__(self, n_coefficients: int) -> None:
        self.size = n_coefficients

    def times(self, x: Array) -> Array:
        return np.diff(x[: self.size])

    def add_adjoint(self, v: Array, out: Array) -> None:
        out[1 : self.size] += v
        out[: self.size - 1] -= v

    def add_curvature(self, h: Array, system: NewtonSystem) -> None:
        differences = sp.diags_array(
            (-np.sqrt(h), np.sqrt(h)), offsets=(0, 1), shape=(len(h), self.size)
        )
        system.penalty_rows = differences


class Combinations(Map):
    """The map to C w for a matrix C.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_coefficients)
        C, in the basis of the coefficients.
    rows : ndarray of int
        The rows of C among those of the Newton system's matrix.
    """

    def __init__(self, matrix: Array, rows: Indices) -> None:
        self.matrix, self.rows = matrix, rows

    def times(self, x: Array) -> Array:
        return self.matrix @ x[: self.matrix.shape[1]]

    def add_adjoint(self, v: Array, out: Array) -> None:
        out[: self.matrix.shape[1]] += v @ self.matrix

    def set_where(self, chosen: Array, values: Array, x: Array) -> None:
        rows = self.matrix[chosen]
        single = np.count_nonzero(rows, axis=1) == 1
        columns = np.argmax(rows != 0.0, axis=1)[single]
        x[columns] = values[single] / rows[single, columns]

    def add_curvature(self, h: Array, system: NewtonSystem) -> None:
        system.add_rows(h, self.rows)
