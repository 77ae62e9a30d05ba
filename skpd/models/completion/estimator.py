"""Completion of matrices: ratings of pairs by a matrix of low rank."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, field
from typing import ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..._checks import shown
from ..._compat import _check_feature_names
from ..._typing import Array, ArrayLike, Attributes, MatrixLike, PerRow
from ..._warn import warn
from ...estimators.base import fit_method
from ...estimators.names import LOSSES
from ...estimators.output_parameters import check_labels
from ...estimators.parameters import WarmStartParameters, WithOptions, declared
from ...estimators.regressor import PrimalDualRegressor
from ...formulation.formulate import FormulatedProblems, shares_of
from ...formulation.messages import Wording
from ...formulation.solve_problems import dual_coef_of
from ...formulation.validation import checked_weights, finite_targets, require_size
from ...losses import Loss
from ...losses.shifted import with_offset
from ...problems import Point, Solution
from .design import EntriesDesign
from .free_groups import FreeGroups
from .problem import entries_problem
from .rated_pairs import Labels, checked_thresholds, indices_of, pairs_and_ratings, two_columns
from .rows import RowsOfEntries

NAMED_LOSSES = {name: LOSSES[name] for name in ("squared", "absolute", "huber", "hinge")}


@declared
class MatrixCompletionPD(WarmStartParameters, WithOptions, PrimalDualRegressor):
    """Ratings of pairs by a matrix of low rank, fitted with a certificate.

    Minimises over matrices M and biases a, b the weighted mean over the ratings y of pairs (i, j)
    of ``loss(y, M_ij + a_i + b_j) + alpha ||M||_*``, with the trace norm, the sum of the singular
    values. M is stored by its factors.

    Parameters
    ----------
    alpha : float, default=1e-4
        Weight of the trace norm, greater than 0. With the squared loss, and ratings whose standard
        deviation beside the biases is s, a matrix of 0 is optimal from about two to six times
        ``s / sqrt(n_ratings * min(n_rows, n_columns))`` on: two for pure noise, and more where a
        few factors explain much.
    loss : {"squared", "absolute", "huber", "hinge"} or Loss, default="squared"
        The loss of single predictions. "hinge" is for ordered levels, such as 1 to 5 stars, or
        two labels: each level but the last has a threshold, and a prediction should be above the
        threshold by 1 where the rating is above the level, and below it by 1 otherwise (Rennie and
        Srebro, 2005). A `Loss` takes the ratings as they are.
    thresholds : array-like of shape (n_levels - 1,), default=None
        For "hinge": increasing thresholds, one fewer than the levels of the ratings, such as
        (0, 3, 6, 9) for 1 to 5 stars. By default they are fitted.
    biases : bool, default=True
        Whether to fit a bias of each row and of each column, which are not penalised. With fitted
        thresholds, each row then has thresholds of its own in place of a bias; without biases
        all rows share the thresholds.
    solver : {"auto", "pdprox-dual"}, default="auto"
        "pdprox-dual" is the published method, see `skpd.solvers.published.pdprox.pdprox_dual`.
    solver_options : dict, default=None
        Options of the solver.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction. Where
        the objective is small, a fit also goes on until the gap is at most 100 ``tol`` of it.
    max_iter : int, default=5_000
        Iterations at most; each takes a partial singular value decomposition.
    warm_start : bool, default=False
        Start from the last fit where it had the same labels.
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    row_factors_ : ndarray of shape (n_rows, rank)
    column_factors_ : ndarray of shape (n_columns, rank)
        M is ``row_factors_ @ column_factors_.T``.
    row_biases_ : ndarray of shape (n_rows,)
    column_biases_ : ndarray of shape (n_columns,)
        The biases, with a weighted mean of 0 over the ratings; all are 0 with ``biases=False``.
    intercept_ : float
        The constant that is added to all predictions.
    thresholds_ : ndarray of shape (n_levels - 1,) or (n_rows, n_levels - 1)
        For "hinge": a rating is predicted to be above a level where the prediction is greater
        than the threshold.
    levels_ : ndarray of shape (n_levels,)
        For "hinge": the ratings, in order.
    row_labels_ : ndarray of shape (n_rows,)
        The labels of rows seen in `fit`, in order.
    column_labels_ : ndarray of shape (n_columns,)
        The labels of columns seen in `fit`, in order.
    rank_ : int
        The number of columns of the factors.
    dual_coef_ : ndarray of shape (n_ratings,) or (n_ratings, n_levels - 1)
        Dual solution theta: up to the tolerance, the derivative of the loss with respect to each
        prediction.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        That length as a share of what could be improved on the best constant prediction,
        compared with ``tol``: 0 is optimal, and 1 means that nothing was learnt.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that
        of the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str
        The method that finished. The :ref:`reference <solvers>` lists all names.
    converged_ : bool
        Whether the gap is as small as ``tol`` asks for.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        2, for the pairs.
    feature_names_in_ : ndarray of shape (2,)
        Names of the columns of the pairs, where they had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

    See Also
    --------
    TraceNormPD : The trace norm of other models, and with ``n_columns`` completion with a radius.

    Notes
    -----
    A lower bound needs the largest singular value of a sparse matrix, which is proven by a
    Cholesky factorisation with a row for each row or column, whichever are fewer: beyond some
    14,000 of both a weaker bound takes its place, and `converged_` may stay False.

    References
    ----------
    Rennie, Srebro: Loss functions for preference levels: regression with discrete ordered labels.
    IJCAI multidisciplinary workshop on advances in preference handling, 2005.

    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015, section 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import MatrixCompletionPD
    >>> pairs = [("ann", "up"), ("ann", "heat"), ("bob", "up"), ("bob", "jaws"), ("eve", "heat")]
    >>> model = MatrixCompletionPD(alpha=0.1, loss="absolute").fit(pairs, [5, 3, 4, 1, 3])
    >>> model.predict([("eve", "up")]).round(1)
    array([5.])
    """

    row_factors_: Array = field(init=False)
    column_factors_: Array = field(init=False)
    row_biases_: Array = field(init=False)
    column_biases_: Array = field(init=False)
    row_labels_: np.ndarray = field(init=False)
    column_labels_: np.ndarray = field(init=False)
    thresholds_: Array = field(init=False)
    levels_: Array = field(init=False)
    rank_: int = field(init=False)

    _model_attribute: ClassVar[str] = "row_factors_"
    _weights_attribute: ClassVar[str] = "row_factors_"
    _wording: ClassVar[Wording] = Wording("finds nothing but biases", advice="alpha")
    _takes_offset: ClassVar[bool] = False
    _own_constraints: ClassVar[dict] = {"thresholds": ["array-like", None]}

    alpha: float = 1e-4
    _: KW_ONLY
    loss: Literal["squared", "absolute", "huber", "hinge"] | Loss = "squared"
    thresholds: ArrayLike | None = None
    biases: bool = True
    solver: Literal["auto", "pdprox-dual"] = "auto"
    max_iter: int = 5_000

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.target_tags.required = False  # a sparse matrix holds its ratings
        return tags

    def _require_path(self) -> None:
        raise ValueError(
            "A path holds a table of coefficients, which factors of different ranks are not: fit "
            "a model for each alpha, with warm_start=True."
        )

    @fit_method
    def fit(  # type: ignore[override]
        self, X: MatrixLike, y: PerRow = None, sample_weight: PerRow = None
    ) -> Self:
        """Fit the model and certify it.

        Parameters
        ----------
        X : array-like of shape (n_ratings, 2) or sparse matrix of shape (n_rows, n_columns)
            Pairs of a row's and a column's label, of any type that can be sorted; or the ratings
            themselves, in their places in a matrix, whose labels are then 0, 1 and so on. A pair
            may be rated several times; places that a sparse matrix does not store are not rated.
        y : array-like of shape (n_ratings,), default=None
            Ratings of pairs.
        sample_weight : array-like of shape (n_ratings,), default=None
            Weights of the ratings, non-negative and not all zero; 1 by default. For a sparse
            matrix in the order of its stored values as CSR.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid.
        KeyboardInterrupt
            After Ctrl-C; the fitted attributes then hold the best model so far and its
            certificate.
        """
        return self._fit(self._problems(X, y, sample_weight), sample_weight)

    def _problems(self, X, y, sample_weight, offset=None) -> FormulatedProblems:
        """The data, the one problem, and the labels of rows and columns."""
        if not sp.issparse(X):
            _check_feature_names(self, X, reset=True)
        names, pairs, y = pairs_and_ratings(X, y)
        y, self.n_features_in_ = finite_targets(y, type(self).__name__), 2
        require_size("y", y)
        weights, _ = shares_of(checked_weights(sample_weight, y))
        sides = zip(pairs, names, strict=True)
        labels = Labels(*names, *(np.bincount(of, weights, len(every)) for of, every in sides))
        loss = NAMED_LOSSES[self.loss]() if isinstance(self.loss, str) else self.loss
        if loss.couples_outputs:
            raise ValueError(f"loss must be one of single predictions, got {loss!r}.")
        if self.thresholds is not None and self.loss != "hinge":
            raise ValueError(f"thresholds needs loss='hinge', got loss={self.loss!r}.")
        make = self._of_levels if self.loss == "hinge" else self._of_ratings
        return FormulatedProblems(X, y, [make(labels, pairs, y, weights, loss)], labels)

    def _of_ratings(self, labels, pairs, y, weights, loss):
        check_labels(loss, y)
        n_rows, n_columns = len(labels.rows), len(labels.columns)
        order = np.lexsort(pairs[::-1]).astype(np.int32)
        left, right = (of_side[order] for of_side in pairs)
        weights = weights[order]
        groups = FreeGroups(left, right, n_rows, n_columns, weights) if self.biases else None
        design = EntriesDesign(left, right, n_rows, n_columns)
        rows = RowsOfEntries(design, y[order], weights, loss, groups, order=order)
        return entries_problem(rows, float(self.alpha))

    def _of_levels(self, labels, pairs, y, weights, loss):
        """Rows for each rating and each level but the last, with labels for ratings above it."""
        self.levels_ = np.unique(y)
        n_between = len(self.levels_) - 1
        if not n_between:
            raise ValueError(f"y must hold several levels for loss 'hinge', got {y[0]:g} alone.")
        n_rows, n_columns = len(labels.rows), len(labels.columns)
        signs = np.ravel(np.where(y[:, np.newaxis] > self.levels_[:-1], 1.0, -1.0))
        left, right, weights = (np.repeat(x, n_between) for x in (*pairs, weights))
        if self.thresholds is not None:
            offset = np.tile(-checked_thresholds(self.thresholds, self.levels_), len(y))
            signs, loss = with_offset(loss, signs, offset)
            return self._of_ratings(labels, (left, right), signs, weights, loss)
        level = np.tile(np.arange(n_between), len(y))
        order = np.lexsort((level, right, left))
        left, right, level, weights = left[order], right[order], level[order], weights[order]
        if self.biases:
            levels = np.tile(np.arange(n_between), n_rows)
            groups = left * n_between + level, right, n_rows * n_between, n_columns
        else:
            levels = np.arange(n_between)
            groups = level, np.zeros_like(level), n_between, 1
        rows = RowsOfEntries(
            EntriesDesign(left, right, n_rows, n_columns), signs[order], weights, loss,
            FreeGroups(*groups, weights), levels, order,
        )  # fmt: skip
        return entries_problem(rows, float(self.alpha))

    def _last_points(self, fit: FormulatedProblems) -> list[Point] | None:
        if not hasattr(self, "dual_coef_"):
            return None
        (problem,), labels = fit.problems, fit.labels
        same = np.array_equal(self.row_labels_, labels.rows)
        same &= np.array_equal(self.column_labels_, labels.columns)
        free, theta = self._free, np.ravel(self.dual_coef_)
        same &= free.shape == problem.null_point.intercept.shape
        if not same or len(theta) != problem.n_samples:
            return None
        coef = np.vstack([self.row_factors_, self.column_factors_])
        return [Point(coef, free, theta[problem.rows.as_kind(RowsOfEntries).order])]

    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        (point,), seen = points, fit.labels
        coef, free = point.coef, point.intercept
        n_rows, n_columns = len(seen.rows), len(seen.columns)
        model = {
            "row_labels_": seen.rows,
            "column_labels_": seen.columns,
            "row_factors_": np.array(coef[:n_rows]),
            "column_factors_": np.array(coef[n_rows:]),
            "rank_": coef.shape[1],
            "row_biases_": np.zeros(n_rows),
            "column_biases_": np.zeros(n_columns),
            "intercept_": np.float64(0.0),
            "_free": free,
        }
        if self.thresholds is not None:
            model["thresholds_"] = np.array(self.thresholds, dtype=np.float64)
        elif self.loss == "hinge":
            n_between = len(self.levels_) - 1
            if not self.biases:
                return {**model, "thresholds_": -(free[:n_between] + free[n_between])}
            columns = free[n_rows * n_between :]
            mean = float(np.average(columns, weights=seen.column_weights))
            thresholds = -(free[: n_rows * n_between].reshape(n_rows, n_between) + mean)
            return {**model, "thresholds_": thresholds, "column_biases_": columns - mean}
        if self.biases:
            rows, columns = free[:n_rows], free[n_rows:]
            of_rows = np.average(rows, weights=seen.row_weights)
            of_columns = np.average(columns, weights=seen.column_weights)
            model["row_biases_"], model["column_biases_"] = rows - of_rows, columns - of_columns
            model["intercept_"] = of_rows + of_columns
        return model

    def _other_attributes(self, solutions, fit) -> Attributes:
        dual_coef = dual_coef_of(solutions, fit)
        if self.loss == "hinge":
            dual_coef = dual_coef.reshape(-1, len(self.levels_) - 1)
        return {"dual_coef_": dual_coef}

    def predict(self, X: MatrixLike, offset: PerRow = None) -> np.ndarray:
        """Predict ratings.

        Labels that `fit` has not had have the factors and the biases 0.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Pairs of a row's and a column's label.
        offset : None
            There is none.

        Returns
        -------
        y : ndarray of shape (n_pairs,)
            Levels for the loss "hinge", numbers for other losses.

        Raises
        ------
        ValueError
            If X holds no pairs of labels.

        Warns
        -----
        UserWarning
            If there are labels that `fit` has not had.
        """
        check_is_fitted(self)
        self._checked_offset(offset)
        if sp.issparse(X):
            raise ValueError("X must hold pairs of labels to predict for, got a sparse matrix.")
        _check_feature_names(self, X, reset=False)
        rows, columns = two_columns(X)
        row, is_row = indices_of(self.row_labels_, rows)
        column, is_column = indices_of(self.column_labels_, columns)
        for side, labels, known in (("row", rows, is_row), ("column", columns, is_column)):
            if not known.all():
                unknown = f"{np.sum(~known)} pair(s) with an unknown label of a {side}"
                first = shown(labels[~known][0])
                told = f"X has {unknown}, first {first}: its factors and bias are taken to be 0."
                warn(told)
        z = np.einsum("ij,ij->i", self.row_factors_[row], self.column_factors_[column])
        z = np.where(is_row & is_column, z, 0.0)
        z += np.where(is_column, self.column_biases_[column], 0.0)
        z += np.where(is_row, self.row_biases_[row], 0.0) + self.intercept_
        if self.loss != "hinge":
            return z
        thresholds = self.thresholds_
        if thresholds.ndim == 2:
            mean = np.mean(thresholds, axis=0)
            thresholds = np.where(is_row[:, np.newaxis], thresholds[row], mean)
        return self.levels_[np.sum(z[:, np.newaxis] > thresholds, axis=1)]
