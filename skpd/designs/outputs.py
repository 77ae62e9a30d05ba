"""The linear map from the coefficients W of several outputs or tasks to their predictions.

The coefficients W of shape (n_features, n_outputs) are stored as a vector, with W_jk at the index
j n_outputs + k. With one X for all outputs, the predictions X W are stored as a vector with that
of sample i for output k at i n_outputs + k. With tasks, every row belongs to one task k, and its
prediction is x_i' W[:, k].
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._floats import EPSILON
from .._immutable_base import attribute_of_part
from .._typing import Array, Indices, Numbers
from .design import Design, RowsOfSamples, keeps_last
from .gram import BLAS, OVERHEAD, PRODUCTS, SWEEPS, newton_cost

LARGEST_MATRIX = 4000  # most coefficients of coupled outputs for which a matrix is formed, 128 MB
PASSES = 100.0  # cost of products with X for a model, in BLAS multiplications for each entry

# The features of a working set for each entry of a column of X from which sweeps use the columns,
# see `skpd.designs.outputs_gram`: a step then reads one of them twice, and otherwise a row of the
# Gram matrix once
WIDE = 2.0
# The expected systems of a step on a support, and the most of its features for each sample: steps
# on data of 60 to 400 samples took 8 to 20 systems
SYSTEMS, OF_SYSTEM = 12.0, 2.0
TINY = 1e-150  # added to norms as a bound on the effect of underflow of squares


def positions_in(features: Indices, wanted: Indices) -> Indices:
    """The positions of some indices in an increasing list, without a search.

    All of them must be in the list.
    """
    positions = np.empty(int(features[-1]) + 1 if len(features) else 0, dtype=np.intp)
    positions[features] = np.arange(len(features))
    return positions[wanted]


class OutputsDesign(RowsOfSamples):
    """The map of several outputs, with a `Design` of the rows of each output.

    Parameters
    ----------
    parts : list of Design
        The data of the rows of each output, all with the same features.
    rows : list of ndarray or slice
        The indices of the rows of each output among all rows.
    n_rows : int
    """

    def __init__(self, parts: list[Design], rows: list[Indices | slice], n_rows: int) -> None:
        self.parts, self.row_indices = parts, rows
        self.n_outputs, self.n_inputs = len(parts), parts[0].shape[1]
        self.shape = n_rows, self.n_inputs * self.n_outputs
        self.dense = parts[0].dense

    @property
    def n_entries(self) -> int:
        """The number of entries of the data that a product reads."""
        return sum(part.n_entries for part in self.parts)

    def _columns(self, k: int) -> slice:
        """The indices of the coefficients of output k."""
        return slice(k, None, self.n_outputs)

    def features_of(self, columns: Indices) -> Indices:
        """The distinct features of coefficients given by increasing indices."""
        features = columns // self.n_outputs
        return features[np.diff(features, prepend=-1) > 0]

    def _over_outputs(self, function: Callable, n_parts: int, *vectors: Array) -> Any:
        """The results of function(part, ...) for the outputs: some numbers for each coefficient.

        The arguments are the entries of given row vectors that belong to each output. The numbers
        are 0 for outputs with a vector of 0.
        """
        results = np.zeros((n_parts, self.shape[1]))
        for k, part in enumerate(self.parts):
            of_output = [np.ascontiguousarray(x[self.row_indices[k]]) for x in vectors]
            if all(x.any() for x in of_output):
                results[:, self._columns(k)] = function(part, *of_output)
        return (*results,)

    # Vectors with a number for each output

    def spread(self, values: Array) -> Array:
        """The number of the output of each row, of shape (n_rows,)."""
        rows = np.empty(self.shape[0])
        for place, value in zip(self.row_indices, values, strict=True):
            rows[place] = value
        return rows

    def sums(self, rows: Array) -> Array:
        """The sum over the rows of each output, of shape (n_outputs,)."""
        return np.array([rows[place].sum() for place in self.row_indices])

    # Products

    def matvec(self, coef: Array) -> Array:
        """The predictions, of shape (n_rows,)."""
        return self._predicted(Design.matvec, 1, coef)[0]

    def _predicted(
        self,
        function: Callable,
        n_parts: int,
        coef: Array,
        *arguments: Numbers,
    ) -> Any:
        """The results of function(part, ...) for the outputs: some numbers for each row."""
        results = np.empty((n_parts, self.shape[0]))
        for k, part in enumerate(self.parts):
            of_output = np.ascontiguousarray(coef[self._columns(k)])
            results[:, self.row_indices[k]] = function(part, of_output, *arguments)
        return (*results,)

    def rmatvec(self, rows: Array) -> Array:
        """The transpose of `matvec`."""
        return self._over_outputs(Design.rmatvec, 1, rows)[0]

    def rmatvec_some(self, rows: Array, columns: Indices) -> Array:
        """The given entries of `rmatvec`."""
        return self.rmatvec(rows)[columns]

    def matvec_bounded(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """The predictions plus a constant, and a bound on their rounding errors."""
        return self._predicted(Design.matvec_bounded, 2, coef, intercept)

    def rmatvec_bounded(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """The transpose of `matvec` on weights * rows, and a bound on its rounding error."""
        return self._over_outputs(Design.rmatvec_bounded, 2, weights, rows)

    def rmatvec_compensated(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """The result of `rmatvec_bounded` in twice the working precision."""
        return self._over_outputs(Design.rmatvec_compensated, 2, weights, rows)

    def matvec_compensated(self, coef: Array, intercept: float) -> tuple[Array, Array, Array]:
        """The predictions plus a constant as sums (high, low), and a bound on their errors."""
        return self._predicted(Design.matvec_compensated, 3, coef, intercept)

    # Sums of sizes and squares

    def column_sums(self, weights: Array) -> Array:
        return self._over_outputs(Design.column_sums, 1, weights)[0]

    def column_norms(self, weights: Array) -> Array:
        return self._over_outputs(Design.column_norms, 1, weights)[0]

    def row_sums(self) -> Array:
        out = np.empty(self.shape[0])
        for rows, part in zip(self.row_indices, self.parts, strict=True):
            out[rows] = part.row_sums()
        return out

    def table(self, columns: Indices) -> Array:
        """A subset of the columns as an array, which are 0 for the rows of other outputs."""
        out = np.zeros((self.shape[0], len(columns)))
        features, outputs = np.divmod(columns, self.n_outputs)
        for k in np.unique(outputs):
            of_output = np.flatnonzero(outputs == k)
            rows = np.arange(self.shape[0])[self.row_indices[k]]
            out[np.ix_(rows, of_output)] = self.parts[k].table(features[of_output])
        return out

    # Shifts, copies and subsets

    def shift_of_columns(self, weights: Array, far: float) -> Array | None:
        """The shift of features far from 0, for each output; None if there are none."""

        def of_part(part: Design, of_output: Array) -> Numbers:
            results = part.shift_of_columns(of_output / float(np.sum(of_output)), far)
            return 0.0 if results is None else results

        shift = self._over_outputs(of_part, 1, weights)[0]
        return shift if shift.any() else None

    def shifted(self, shift: Array) -> "OutputsDesign":
        """The data with a number subtracted from every column of each output.

        The data of outputs without a shift are not copied.
        """
        parts = []
        for k, part in enumerate(self.parts):
            of_output = np.ascontiguousarray(shift[self._columns(k)])
            parts.append(part.shifted(of_output) if of_output.any() else part)
        return OutputsDesign(parts, self.row_indices, self.shape[0])

    def in_units(self, exponents: Indices) -> "OutputsDesign":
        """A copy of the data with the columns of each output times 2^-exponent."""
        parts = [p.in_units(exponents[self._columns(k)]) for k, p in enumerate(self.parts)]
        return OutputsDesign(parts, self.row_indices, self.shape[0])

    def _mapped(self, function: Callable[[Design], Design]) -> "OutputsDesign":
        parts = [function(part) for part in self.parts]
        return OutputsDesign(parts, self.row_indices, self.shape[0])

    @property
    def by_columns(self) -> "OutputsDesign":
        """The data stored by columns."""
        return self._mapped(lambda part: part.by_columns)

    def shared_by(self, n_parallel: int) -> "OutputsDesign":
        """The data with the threads of products divided among ``n_parallel`` users."""
        return self._mapped(lambda part: part.shared_by(n_parallel))

    def rows_of(self, samples: Indices) -> Indices:
        """The indices of the rows of some samples, which are equal as each sample has one row."""
        return samples

    def rows(self, indices: Indices) -> "OutputsDesign":
        """A copy of the given rows; a row whose index occurs twice is copied twice."""
        output, within = np.empty(self.shape[0], int), np.empty(self.shape[0], int)
        for k, (part, of_output) in enumerate(zip(self.parts, self.row_indices, strict=True)):
            output[of_output], within[of_output] = k, np.arange(part.shape[0])
        counts = np.bincount(output[indices], minlength=self.n_outputs)
        order = np.argsort(output[indices], kind="stable")
        rows_of_outputs: list[Indices | slice] = [*np.split(order, np.cumsum(counts)[:-1])]
        parts = [
            part.rows(within[indices[of_output]])
            for part, of_output in zip(self.parts, rows_of_outputs, strict=True)
        ]
        return OutputsDesign(parts, rows_of_outputs, len(indices))


def newton_cost_of_outputs(
    design: OutputsDesign, n_rows: float, n_columns: float, couples: bool, agree: bool = False
) -> float:
    """The estimated cost of a Newton step for several outputs, in the units of `newton_cost`.

    The curvature has a Gram matrix of the features for each output, or a single one if they agree,
    with a system for every group of the penalty. With many features it consists of the columns of
    X and conjugate gradients on a support, which take about as long as direct systems. Where the
    loss couples the outputs, it has a matrix for each pair of outputs, or is given by products
    with X.
    """
    K, share = design.n_outputs, n_rows / max(design.shape[0], 1)
    m, rows_of_column = n_columns / K, design.n_entries / design.n_inputs
    if design.shares_data and not couples and m > WIDE * rows_of_column:
        n, sweeps = share * design.parts[0].shape[0], SWEEPS * 2.0 * share * rows_of_column
        size = min(OF_SYSTEM * design.parts[0].shape[0], m)
        systems = ((1 if agree else K) * 2.0 * n * min(n, size) + min(K * n, size) ** 2) / BLAS
        of_data = K * (PRODUCTS * design.parts[0].n_entries + OVERHEAD)
        return sweeps * n_columns + SYSTEMS * size * systems + of_data
    if agree:
        part = design.parts[0]
        return newton_cost(part, share * part.shape[0], m) + 2.0 * m**3 / BLAS
    if couples and n_columns > LARGEST_MATRIX:
        of_model = PASSES * n_columns / (design.n_inputs * BLAS)
        return (of_model + PRODUCTS * K) * share * design.n_entries
    grams = sum(newton_cost(part, share * part.shape[0], n_columns / K) for part in design.parts)
    if couples:
        return 0.5 * (K + 1) * grams + n_columns**3 / (3.0 * BLAS)
    return grams + 2.0 * n_columns**3 / (K**2 * BLAS)


class SharedDesign(OutputsDesign):
    """The map of several outputs with one X for all of them.

    Parameters
    ----------
    base : Design
        X of shape (n_samples, n_features).
    n_outputs : int
    """

    shares_data: ClassVar[bool] = True
    n_entries = attribute_of_part("base.n_entries")

    def __init__(self, base: Design, n_outputs: int) -> None:
        rows: list[Indices | slice] = [slice(k, None, n_outputs) for k in range(n_outputs)]
        super().__init__([base] * n_outputs, rows, base.shape[0] * n_outputs)
        self.base = base

    def spread(self, values: Array) -> Array:
        return np.tile(values, self.base.shape[0])

    def sums(self, rows: Array) -> Array:
        table = rows.reshape(-1, self.n_outputs)  # sums over columns of it would take longer
        return np.ones(len(table)) @ table

    def matvec(self, coef: Array) -> Array:
        W = coef.reshape(self.n_inputs, self.n_outputs)
        active = np.flatnonzero(W.any(axis=1))
        if len(active) == 0:
            return np.zeros(self.shape[0])
        return np.ravel(self.base.matmul(W, active))

    def rmatvec(self, rows: Array) -> Array:
        return np.ravel(self.base.rmatmul(rows.reshape(-1, self.n_outputs)))

    def rmatvec_some(self, rows: Array, columns: Indices) -> Array:
        features = self.features_of(columns)
        product = self.base.rmatmul(rows.reshape(-1, self.n_outputs), features)
        indices = positions_in(features, columns // self.n_outputs)
        return product[indices, columns % self.n_outputs]

    @keeps_last
    def matvec_bounded(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """The predictions plus a constant, and bounds on their rounding errors.

        The bounds follow from the Cauchy-Schwarz inequality for each row and output.
        """
        W = coef.reshape(self.n_inputs, self.n_outputs)
        z = self.matvec(coef) + intercept
        rounding = (self.base.longest_row + 8.0) * EPSILON  # of a sum over the entries of a row
        error = np.outer(self._row_norms, np.linalg.norm(W, axis=0)) * rounding
        error += (error > 0.0) * EPSILON * abs(intercept)
        return z, np.ravel(error)

    def rmatvec_bounded(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """The transpose of `matvec` on weights * rows, and bounds on its rounding errors.

        The bounds follow from the Cauchy-Schwarz inequality for each entry.
        """
        scaled = weights * rows
        rounding = (float(np.max(self.base.column_counts, initial=0)) + 8.0) * EPSILON
        return self.rmatvec(scaled), rounding * self.largest_products(scaled)

    def largest_products(self, rows: Array) -> Array:
        """Bounds on the sizes of products X' rows, by the Cauchy-Schwarz inequality."""
        norms = np.linalg.norm(rows.reshape(-1, self.n_outputs), axis=0)
        return np.ravel(np.outer(self._column_norms, norms))

    def column_norms(self, weights: Array) -> Array:
        table = weights.reshape(-1, self.n_outputs)
        if (table != table[:, :1]).any():
            return super().column_norms(weights)
        return np.repeat(self.base.column_norms(table[:, 0].copy()), self.n_outputs)

    @cached_property
    def _row_norms(self) -> Array:
        return self.base.row_norms() + TINY

    @cached_property
    def _column_norms(self) -> Array:
        return self.base.column_norms(np.ones(self.base.shape[0])) + TINY

    def row_sums(self) -> Array:
        return np.repeat(self.base.row_sums(), self.n_outputs)

    def shift_of_columns(self, weights: Array, far: float) -> Array | None:
        of_output = np.ascontiguousarray(weights[:: self.n_outputs])
        shift = self.base.shift_of_columns(of_output / float(np.sum(of_output)), far)
        return None if shift is None else np.repeat(shift, self.n_outputs)

    def shifted(self, shift: Array) -> "SharedDesign":
        """A copy of the data with a number subtracted from every column."""
        base = self.base.shifted(np.ascontiguousarray(shift[:: self.n_outputs]))
        return SharedDesign(base, self.n_outputs)

    def in_units(self, exponents: Indices) -> "SharedDesign":
        """A copy of the data times 2^-exponent, for exponents that all outputs share."""
        return SharedDesign(self.base.in_units(exponents[:: self.n_outputs]), self.n_outputs)

    def with_table(self, table: Array) -> "SharedDesign":
        """A table in place of X."""
        return SharedDesign(self.base.with_table(table), self.n_outputs)

    def _mapped(self, function: Callable[[Design], Design]) -> "SharedDesign":
        return SharedDesign(function(self.base), self.n_outputs)

    def rows_of(self, samples: Indices) -> Indices:
        """The indices of the rows of some samples, one row for each output."""
        return np.ravel(np.add.outer(samples * self.n_outputs, np.arange(self.n_outputs)))

    @property
    def samples(self) -> Indices:
        return np.arange(self.shape[0]) // self.n_outputs

    def whole_rows(self, rows: Indices) -> Indices:
        """All rows of the samples that some rows belong to."""
        samples = np.zeros(self.base.shape[0], dtype=bool)
        samples[rows // self.n_outputs] = True
        return self.rows_of(np.flatnonzero(samples))

    def rows(self, indices: Indices) -> "SharedDesign":
        """A copy of the samples to which the given rows, one for each output, belong."""
        samples = indices[:: self.n_outputs] // self.n_outputs
        return SharedDesign(self.base.rows(samples), self.n_outputs)
