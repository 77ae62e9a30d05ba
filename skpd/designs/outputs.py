"""The linear map of several outputs or tasks: the rows of W, one after the other, to predictions.

A matrix W of coefficients, of shape (n_features, n_outputs), is a vector here: entry (j, k) is at
j n_outputs + k. With one X for all outputs the predictions X W are a vector in the same way, that
of row i for output k at i n_outputs + k. With tasks every row belongs to one of them, and its
prediction is x_i' W[:, k] for its task k.
"""

from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np

from .._floats import EPSILON
from .._typing import Array, Indices
from .design import Design
from .gram import BLAS, newton_cost

__all__ = ["OutputsDesign", "SharedDesign", "newton_cost_of_outputs"]

TINY = 1e-150  # added to norms: what their squares can lose to underflow


class OutputsDesign:
    """A map made of a `Design` for each output, of the rows that belong to it.

    Parameters
    ----------
    parts : list of Design
        For each output the data of its rows, all with the same features.
    rows : list of ndarray or slice
        For each output the places of its rows among all.
    n_rows : int
    """

    shares_data: ClassVar[bool] = False  # whether all outputs have the same X
    most_copied_rows: ClassVar[float] = inf

    def __init__(self, parts: list[Design], rows: list[Any], n_rows: int) -> None:
        self.parts, self.places = parts, rows
        self.n_outputs, self.n_inputs = len(parts), parts[0].shape[1]
        self.shape = n_rows, self.n_inputs * self.n_outputs
        self.dense = parts[0].dense

    @property
    def n_entries(self) -> int:
        """Entries of the data that a product reads."""
        return sum(part.n_entries for part in self.parts)

    def _columns(self, k: int) -> slice:
        """The places of the coefficients of output k."""
        return slice(k, None, self.n_outputs)

    def features_of(self, columns: Indices) -> Indices:
        """The features of increasing coefficients, each once."""
        features = columns // self.n_outputs
        found: Indices = features[np.diff(features, prepend=-1) > 0]
        return found

    def _over_outputs(self, function: Any, *given: Array) -> Array:
        """function(part, ...) of the parts of row vectors, as coefficients."""
        out = np.zeros(self.shape[1])
        for k, part in enumerate(self.parts):
            rows = self.places[k]
            out[self._columns(k)] = function(part, *(np.ascontiguousarray(x[rows]) for x in given))
        return out

    # A number for each output

    def spread(self, values: Array) -> Array:
        """For each row the number of its output."""
        rows = np.empty(self.shape[0])
        for place, value in zip(self.places, values, strict=True):
            rows[place] = value
        return rows

    def sums(self, rows: Array) -> Array:
        """For each output the sum over its rows."""
        return np.array([rows[place].sum() for place in self.places])

    # Products

    def matvec(self, coef: Array) -> Array:
        """The predictions, of shape (n_rows,)."""
        out = np.empty(self.shape[0])
        for k, part in enumerate(self.parts):
            out[self.places[k]] = part.matvec(np.ascontiguousarray(coef[self._columns(k)]))
        return out

    def rmatvec(self, rows: Array) -> Array:
        """The transpose of `matvec`."""
        return self._over_outputs(Design.rmatvec, rows)

    def rmatvec_some(self, rows: Array, columns: Indices) -> Array:
        """Entries of `rmatvec`."""
        return self.rmatvec(rows)[columns]

    def work_on(self, columns: Indices) -> float:
        """About the time of `rmatvec_some` over that of `rmatvec`."""
        return 1.0

    def matvec_bounded(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """The predictions plus a constant, and a bound on their rounding errors."""
        z, error = np.empty(self.shape[0]), np.empty(self.shape[0])
        for k, part in enumerate(self.parts):
            own = np.ascontiguousarray(coef[self._columns(k)])
            z[self.places[k]], error[self.places[k]] = part.matvec_bounded(own, intercept)
        return z, error

    def rmatvec_bounded(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """The transpose of `matvec` on weights * rows, and a bound on its rounding error."""
        return self._with_errors(Design.rmatvec_bounded, weights, rows)

    def rmatvec_compensated(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """The same in twice the working precision."""
        return self._with_errors(Design.rmatvec_compensated, weights, rows)

    def _with_errors(self, function: Any, weights: Array, rows: Array) -> tuple[Array, Array]:
        """function(part, ...) of the parts of two row vectors: coefficients and their errors."""
        product, error = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for k, part in enumerate(self.parts):
            own = np.ascontiguousarray(rows[self.places[k]])
            own_weights = np.ascontiguousarray(weights[self.places[k]])
            if not (own.any() and own_weights.any()):
                continue
            columns = self._columns(k)
            product[columns], error[columns] = function(part, own_weights, own)
        return product, error

    def matvec_compensated(self, coef: Array, intercept: float) -> tuple[Array, Array, Array]:
        """The predictions plus a constant as sums (high, low), and a bound on their errors."""
        high, low, error = (np.empty(self.shape[0]) for _ in range(3))
        for k, part in enumerate(self.parts):
            own, rows = np.ascontiguousarray(coef[self._columns(k)]), self.places[k]
            high[rows], low[rows], error[rows] = part.matvec_compensated(own, intercept)
        return high, low, error

    # Sums of sizes and squares

    def column_sums(self, weights: Array) -> Array:
        return self._over_outputs(Design.column_sums, weights)

    def column_norms(self, weights: Array) -> Array:
        return self._over_outputs(Design.column_norms, weights)

    def row_sums(self) -> Array:
        out = np.empty(self.shape[0])
        for rows, part in zip(self.places, self.parts, strict=True):
            out[rows] = part.row_sums()
        return out

    def table(self, columns: Indices) -> Array:
        """Some of the columns as an array, 0 for rows of other outputs than the column's."""
        out = np.zeros((self.shape[0], len(columns)))
        features, outputs = np.divmod(columns, self.n_outputs)
        for k in np.unique(outputs):
            own = np.flatnonzero(outputs == k)
            rows: Any = np.arange(self.shape[0])[self.places[k]]
            out[np.ix_(rows, own)] = self.parts[k].table(features[own])
        return out

    # Others

    def shift_of_columns(self, weights: Array, far: float) -> Array | None:
        """What features far from 0 may be shifted by, for each output, or None."""
        shift = np.zeros(self.shape[1])
        for k, part in enumerate(self.parts):
            own = np.ascontiguousarray(weights[self.places[k]])
            found = part.shift_of_columns(own / float(np.sum(own)), far)
            if found is not None:
                shift[self._columns(k)] = found
        return shift if shift.any() else None

    def shifted(self, shift: Array) -> "OutputsDesign":
        """The data less a number in every column of each output, copied where it is not 0."""
        parts = []
        for k, part in enumerate(self.parts):
            own = np.ascontiguousarray(shift[self._columns(k)])
            parts.append(part.shifted(own) if own.any() else part)
        return OutputsDesign(parts, self.places, self.shape[0])

    @property
    def by_columns(self) -> "OutputsDesign":
        """The same data stored column by column."""
        parts = [part.by_columns for part in self.parts]
        return OutputsDesign(parts, self.places, self.shape[0])

    def shared_by(self, n_parallel: int) -> "OutputsDesign":
        """The same data, for so many that use it or parts of it at the same time."""
        parts = [part.shared_by(n_parallel) for part in self.parts]
        return OutputsDesign(parts, self.places, self.shape[0])

    def rows_of(self, samples: Indices) -> Indices:
        """The rows of some samples, of which each has one."""
        return samples

    def whole_rows(self, rows: Indices) -> Indices:
        """Those and the others that cannot be told from them."""
        return rows

    def rows(self, indices: Indices) -> "OutputsDesign":
        """Some of the rows, copied; one that is named twice is there twice."""
        output, within = np.empty(self.shape[0], int), np.empty(self.shape[0], int)
        for k, (part, own) in enumerate(zip(self.parts, self.places, strict=True)):
            output[own], within[own] = k, np.arange(part.shape[0])
        counts = np.bincount(output[indices], minlength=self.n_outputs)
        order = np.argsort(output[indices], kind="stable")
        places = np.split(order, np.cumsum(counts)[:-1])
        parts = [
            part.rows(within[indices[own]]) for part, own in zip(self.parts, places, strict=True)
        ]
        return OutputsDesign(parts, places, len(indices))


def newton_cost_of_outputs(
    design: OutputsDesign, n_rows: float, n_columns: float, couples: bool
) -> float:
    """What a Newton step on some rows and coefficients costs, in the units of `newton_cost`.

    The curvature has a Gram matrix of the features for each output, or, where the loss couples
    them, for each pair.
    """
    K, share = design.n_outputs, n_rows / max(design.shape[0], 1)
    grams = sum(newton_cost(part, share * part.shape[0], n_columns / K) for part in design.parts)
    if couples:
        grams *= 0.5 * (K + 1)
    return grams + n_columns**3 / (3.0 * BLAS)


class SharedDesign(OutputsDesign):
    """The same X for all outputs, read once for all of them.

    Parameters
    ----------
    base : Design
        X of shape (n_samples, n_features).
    n_outputs : int
    """

    shares_data: ClassVar[bool] = True

    def __init__(self, base: Design, n_outputs: int) -> None:
        rows = [slice(k, None, n_outputs) for k in range(n_outputs)]
        super().__init__([base] * n_outputs, rows, base.shape[0] * n_outputs)
        self.base = base

    @property
    def n_entries(self) -> int:
        return self.base.n_entries

    def spread(self, values: Array) -> Array:
        return np.tile(values, self.base.shape[0])

    def sums(self, rows: Array) -> Array:
        found: Array = rows.reshape(-1, self.n_outputs).sum(axis=0)
        return found

    def matvec(self, coef: Array) -> Array:
        W = coef.reshape(self.n_inputs, self.n_outputs)
        active = np.flatnonzero(W.any(axis=1))
        if len(active) == 0:
            return np.zeros(self.shape[0])
        return np.ravel(self.base.matmul(W, active))

    def rmatvec(self, rows: Array) -> Array:
        return np.ravel(self.base.rmatmul(rows.reshape(-1, self.n_outputs)))

    def rmatvec_some(self, rows: Array, columns: Indices) -> Array:
        some = self.features_of(columns)
        product = self.base.rmatmul(rows.reshape(-1, self.n_outputs), some)
        places = np.searchsorted(some, columns // self.n_outputs)
        found: Array = product[places, columns % self.n_outputs]
        return found

    def work_on(self, columns: Indices) -> float:
        return self.base.work_on(self.features_of(columns))

    def matvec_bounded(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """As above; errors by the inequality of Cauchy and Schwarz for each row and output."""
        W = coef.reshape(self.n_inputs, self.n_outputs)
        z = self.matvec(coef) + intercept
        error = np.outer(self._row_norms, np.linalg.norm(W, axis=0)) * self._rounding_of_rows
        error += (error > 0.0) * EPSILON * abs(intercept)
        return z, np.ravel(error)

    def rmatvec_bounded(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """As above; errors by the inequality of Cauchy and Schwarz for each entry."""
        scaled = weights * rows
        product = self.rmatvec(scaled)
        norms = np.linalg.norm(scaled.reshape(-1, self.n_outputs), axis=0)
        error = np.outer(self._column_norms, norms) * self._rounding_of_columns
        return product, np.ravel(error)

    @cached_property
    def _row_norms(self) -> Array:
        return self.base.row_norms() + TINY

    @cached_property
    def _column_norms(self) -> Array:
        return self.base.column_norms(np.ones(self.base.shape[0])) + TINY

    @cached_property
    def _rounding_of_rows(self) -> float:
        """The relative error of a sum over the entries of a row, in any order."""
        return (self.base.longest_row + 8.0) * EPSILON

    @cached_property
    def _rounding_of_columns(self) -> float:
        return (float(np.max(self.base.column_counts, initial=0)) + 8.0) * EPSILON

    def column_sums(self, weights: Array) -> Array:
        return np.ravel(self.base.rmatmul_absolute(weights.reshape(-1, self.n_outputs)))

    def column_norms(self, weights: Array) -> Array:
        return self._of_weights(weights, self.base.column_norms)

    def _of_weights(self, weights: Array, function: Any) -> Array:
        """A function of the weights of each output, called once where they are the same."""
        by_output = weights.reshape(-1, self.n_outputs)
        if np.all(by_output == by_output[:, :1]):
            return np.repeat(function(np.ascontiguousarray(by_output[:, 0])), self.n_outputs)
        columns = [function(np.ascontiguousarray(own)) for own in by_output.T]
        return np.ravel(np.column_stack(columns))

    def row_sums(self) -> Array:
        return np.repeat(self.base.row_sums(), self.n_outputs)

    def shift_of_columns(self, weights: Array, far: float) -> Array | None:
        own = np.ascontiguousarray(weights[:: self.n_outputs])
        shift = self.base.shift_of_columns(own / float(np.sum(own)), far)
        return None if shift is None else np.repeat(shift, self.n_outputs)

    def shifted(self, shift: Array) -> "SharedDesign":
        """X less a number in every column, copied."""
        base = self.base.shifted(np.ascontiguousarray(shift[:: self.n_outputs]))
        return SharedDesign(base, self.n_outputs)

    @property
    def by_columns(self) -> "SharedDesign":
        return SharedDesign(self.base.by_columns, self.n_outputs)

    def shared_by(self, n_parallel: int) -> "SharedDesign":
        return SharedDesign(self.base.shared_by(n_parallel), self.n_outputs)

    def rows_of(self, samples: Indices) -> Indices:
        """The rows of some samples, one for each output."""
        return np.ravel(np.add.outer(samples * self.n_outputs, np.arange(self.n_outputs)))

    def whole_rows(self, rows: Indices) -> Indices:
        """All rows of the samples that some rows belong to."""
        return self.rows_of(np.unique(rows // self.n_outputs))

    def rows(self, indices: Indices) -> "SharedDesign":
        """Whole samples, copied."""
        samples = indices[:: self.n_outputs] // self.n_outputs
        return SharedDesign(self.base.rows(samples), self.n_outputs)
