"""The data of programmes: X by outputs, in bases in which an objective has simple terms."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._typing import Array, Indices, Matrix, Numbers
from ...designs import Design
from ...designs.far_columns import FAR
from ...penalties import Penalty
from ...problems import Problem
from .maps import Coefficients, Differences, Map
from .settings import SETTINGS
from .systems import RowsOfBlock


class Basis:
    """A basis of the coefficients, here their order, that suits the terms of a penalty."""

    dense = False

    def __init__(self, order: Indices) -> None:
        self.order = order

    def columns(self, X: Matrix) -> Matrix:
        """The columns of X in the basis."""
        return X if np.array_equal(self.order, np.arange(X.shape[1])) else X[:, self.order]

    def coef(self, x: Array) -> Array:
        """The coefficients of the features from those in the basis."""
        coef = np.empty_like(x)
        coef[self.order] = x
        return coef

    def differences(self, width: Array) -> tuple[Map, Array]:
        """The map to differences of neighbours, and their sizes from those of coefficients."""
        return Differences(len(width)), np.minimum(width[1:], width[:-1])


class Steps(Basis):
    """The basis of one coefficient, the level, and of differences of neighbours.

    The column of a difference is the sum of the features on the side away from the level. The
    level is the coefficient of the largest feature, which would otherwise cause rounding errors in
    all sums.
    """

    dense = True  # columns are sums, also for a sparse X

    def __init__(self) -> None:
        self.level = -1

    def columns(self, X: Matrix) -> Matrix:
        table = X if isinstance(X, np.ndarray) else X.toarray()
        if self.level < 0:
            self.level = int(np.argmax(np.max(np.abs(table), axis=0)))
        k, out = self.level, np.empty(table.shape)
        out[:, 0] = np.sum(table, axis=1)
        out[:, 1 : k + 1] = -np.cumsum(table[:, :k], axis=1, dtype=np.float64)
        out[:, k + 1 :] = np.cumsum(table[:, :k:-1], axis=1, dtype=np.float64)[:, ::-1]
        return out

    def coef(self, x: Array) -> Array:
        k, coef = self.level, np.empty_like(x)
        coef[k:] = np.cumsum(np.append(x[0], x[k + 1 :]))
        coef[k::-1] = x[0] - np.cumsum(np.append(0.0, x[k:0:-1]))
        return coef

    def differences(self, width: Array) -> tuple[Map, Array]:
        return Coefficients(np.arange(1, len(width))), width[1:]


def basis_of(penalty: Penalty, n_coefficients: int) -> Basis:
    """The basis that suits the terms of a penalty."""
    if penalty.group_order is not None:
        return Basis(penalty.group_order)
    return Steps() if penalty.of_neighbours else Basis(np.arange(n_coefficients))


class CentredFeatures:
    """The features of an output minus their means, in a basis.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
    ones : bool
        Whether there is an intercept.
    basis : Basis

    Attributes
    ----------
    table : ndarray of shape (n_samples, n_features)
        The columns without their means, 0 for features that are constant up to rounding.
    mean : ndarray of shape (n_features,)
        The means that were subtracted.
    sizes : ndarray of shape (n_features,)
        The norms of the columns, or of constant ones without an intercept.
    is_far : bool
        Whether the mean of some feature is far from 0.
    """

    def __init__(self, X: Matrix, weights: Array, ones: bool, basis: Basis) -> None:
        X = np.asarray(X) if isinstance(X, np.ndarray) else X.toarray()
        total = float(np.sum(weights)) or 1.0
        features, weights = np.array(X, dtype=np.float64), weights / total
        mean = weights @ features
        features -= mean
        spread = np.sqrt(weights @ features**2)
        far = (np.abs(mean) > FAR * spread) & (spread > SETTINGS.constant_spread * np.abs(mean))
        # the rounding error of sums over features is that of their terms
        terms = np.abs(basis.columns((spread + np.abs(mean))[np.newaxis])[0])
        self.table, self.mean = basis.columns(features), basis.columns(mean[np.newaxis])[0]
        spread = np.sqrt(weights @ self.table**2)
        constant = spread <= SETTINGS.constant_spread * terms
        self.table[:, constant] = 0.0
        sizes = np.where(constant, 0.0 if ones else np.abs(self.mean), spread)
        self.sizes, self.is_far = sqrt(total) * sizes, bool(far.any())
        self._given, self._basis = X, basis

    def design(self, centred: bool) -> Design:
        """The columns, with or without their means."""
        given = np.asarray(self._given, dtype=np.float64)
        return Design(self.table if centred else self._basis.columns(given))


class Tables:
    """X, copied in the basis of the coefficients, with columns of ones for intercepts.

    The columns of arrays are centred, with the intercept b + mean.w. This does not change the
    objective, and makes the Gram matrix accurate for features far from 0. Without an intercept
    such features are centred as well, and the column of ones has the coefficient mean.w. Several
    outputs have a column of X for each coefficient and intercept. For losses of classes, the last
    intercept is fixed at 0, as only differences of scores change the loss.

    Parameters
    ----------
    problem : Problem
    samples : ndarray of int
        The rows with a weight.
    basis : Basis

    Attributes
    ----------
    outputs : list of RowsOfBlock
        The X of every output with its rows and columns.
    means : ndarray of shape (n_outputs, n_coefficients)
        The means that were subtracted from the columns of each output.
    sizes : ndarray of shape (n_coefficients,)
        The norms of the columns.
    design : Design
        The X of all outputs.
    """

    def __init__(self, problem: Problem, samples: Indices, basis: Basis) -> None:
        self._problem, d = problem, problem.design.shape[1]
        rows, columns, parts = self._parts(samples, basis)
        if problem.rows.of_outputs:
            basis = Basis(np.arange(parts[0].shape[1]))  # the order is that of the columns
        weights = [problem.weights[samples[indices]] for indices in rows]
        entries = sum(part.size for part in parts)
        is_dense = entries >= SETTINGS.dense_share * sum(map(np.prod, (x.shape for x in parts)))
        ones = problem.fit_intercept
        self.means, self.sizes = np.zeros((len(rows), d)), np.zeros(d)
        if basis.dense or is_dense or not all(map(sp.issparse, parts)):
            centred = self._each(lambda x, c: CentredFeatures(x, c, ones, basis), parts, weights)
            norms = [features.sizes for features in centred]
            ones = ones or any(features.is_far for features in centred)
            designs = self._each(lambda x: x.design(ones), centred)
            if ones:
                for mean, indices, features in zip(self.means, columns, centred, strict=True):
                    mean[indices] = features.mean
        else:
            designs = self._each(lambda x: Design(basis.columns(x)), parts)
            norms = self._each(Design.column_norms, designs, weights)
        for indices, sizes in zip(columns, norms, strict=True):
            self.sizes[indices] = sizes
        n_ones = len(self.relative(self.means)) if ones else 0
        designs[:n_ones] = self._each(Design.with_ones, designs)[:n_ones]
        for k in range(n_ones):
            columns[k] = np.append(columns[k], d + k)
        self.outputs = list(map(RowsOfBlock, rows, columns, designs))
        self.design = designs[0]
        if problem.rows.of_outputs:
            self.design = _assembled(self.outputs, (len(samples), d + n_ones))

    def _each(self, function: Callable[..., Any], *lists: list[Any]) -> list[Any]:
        """The results of a function for all outputs, called once if they share X and weights."""
        if len(lists[0]) > 1 and self._problem.design.shares_data:
            return [function(*(values[0] for values in lists))] * len(lists[0])
        return list(map(function, *lists))

    def _parts(
        self, counted: Indices, basis: Basis
    ) -> tuple[list[Indices], list[Indices], list[Any]]:
        """The rows of each output among those with a weight, its columns, and its X."""
        problem = self._problem
        if not problem.rows.of_outputs:
            X = problem.design.rows_as_they_are(counted)
            return [np.arange(len(counted))], [np.arange(X.shape[1])], [X]
        numbers, counts = np.arange(problem.n_samples), problem.weights > 0.0
        of_outputs = [numbers[indices] for indices in problem.rows.row_indices]
        rows = [np.searchsorted(counted, indices[counts[indices]]) for indices in of_outputs]
        samples = [np.flatnonzero(counts[indices]) for indices in of_outputs]
        parts = self._each(Design.rows_as_they_are, problem.design.parts, samples)
        place = np.argsort(basis.order)
        return rows, [place[k :: len(rows)] for k in range(len(rows))], parts

    def relative(self, values: Array) -> Any:
        """The values of the outputs that affect the loss: of classes, minus the last one."""
        problem = self._problem
        is_relative = problem.rows.of_outputs and problem.loss.of_classes
        return values[:-1] - values[-1] if is_relative else values

    def normals(self) -> Array:
        """The normals of mean.w = t, of the coefficients t of ones without an intercept."""
        means = self.relative(self.means)
        return np.hstack([means, -np.eye(len(means))])

    def intercept(self, x: Array) -> Numbers:
        """The intercept of the features without the means that were subtracted."""
        d, rows = len(self.sizes), self._problem.rows
        intercept = -self.means @ x[:d]
        of_ones = x[d : self.design.shape[1]]
        intercept[: len(of_ones)] += of_ones
        return rows.intercept_of(intercept)


def _assembled(outputs: list[RowsOfBlock], shape: tuple[int, int]) -> Design:
    """The sparse design with the rows and columns of all outputs."""
    tables = [sp.coo_array(x.design.as_given) for x in outputs]
    row = np.concatenate([x.rows[t.row] for x, t in zip(outputs, tables, strict=True)])
    column = np.concatenate([x.columns[t.col] for x, t in zip(outputs, tables, strict=True)])
    values = np.concatenate([t.data for t in tables]).astype(np.float64, copy=False)
    return Design(sp.csr_array((values, (row, column)), shape=shape))
