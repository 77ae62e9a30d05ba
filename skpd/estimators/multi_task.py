"""Several outputs or tasks with a penalty of the matrix of coefficients, with or without folds."""

import warnings
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.validation import check_is_fitted, validate_data

from .._compat import Interval, StrOptions
from .._typing import Array, ArrayLike, Indices
from ..designs import Design
from ..designs.outputs import OutputsDesign
from ..losses import Loss
from ..penalties import Penalty
from ..problems import Problem
from ..problems.columns import Columns
from ..problems.output_rows import RowsOfOutputs
from .base import _DATA
from .cross_validation import L1RatioCrossValidation
from .folds import Fold, checked_folds
from .outputs import (
    OUTPUT_LOSSES,
    OUTPUT_PENALTIES,
    check_labels,
    checked_loss,
    output_penalty,
    without_tasks,
)
from .parameters import CrossValidationParameters, SolverParameters, declared
from .posing import FitProblems, formulate_outputs, require_unit, shares_of
from .predictions import linear_predictions
from .regressor import PrimalDualRegressor
from .validation import checked_weights, finite_targets, validated, validated_array


@declared
class MultiTaskPD(SolverParameters, PrimalDualRegressor):
    """Several outputs or tasks with a penalty of the matrix of coefficients, and a certificate.

    Minimises over W and b the weighted mean over the samples of the sum of the losses of their
    outputs, plus ``alpha`` times the penalty of W, whose rows belong to the features. With the
    squared loss and the l2,1 norm this is the objective of `MultiTaskLasso`, and with an
    ``l1_ratio`` that of `MultiTaskElasticNet`.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, greater than 0.
    {loss_of_outputs}
    penalty : {"l21", "l1inf", "exclusive", "trace", "squared_groups", "l1", "l2"} or \
            Penalty, default="l21"
        {matrix_penalties}
    {l1_ratio_of_matrix_penalties}
    tasks : int or str, default=None
        The column of X, by its index or name, that holds the task of each sample: then y has
        one dimension, and every task has coefficients and an intercept of its own; the column is
        counted in ``n_features_in_``. By default every sample has a target for each output.
    {solver_and_solver_options}
    {tol_max_iter_and_fit_intercept}
    {warm_start_random_state_and_verbose}

    Attributes
    ----------
    {linear_model_of_outputs}
    {certificate}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    MultiTaskPDCV : Models of several outputs with ``alpha`` chosen by cross-validation.
    MultinomialPD : Classifier with a vector of coefficients for each class.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015, sections 3 and 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import MultiTaskPD
    >>> rng = np.random.default_rng(0)
    >>> X, W = rng.normal(size=(100, 20)), np.zeros((20, 3))
    >>> W[:4] = rng.normal(size=(4, 3))
    >>> Y = X @ W + rng.laplace(size=(100, 3))
    >>> model = MultiTaskPD(alpha=0.3, loss="absolute").fit(X, Y)
    >>> np.flatnonzero(model.coef_.any(axis=0))
    array([0, 1, 2, 3])
    """

    _takes_offset: ClassVar[bool] = False
    _own_constraints: ClassVar[dict] = {
        "loss": [StrOptions(set(OUTPUT_LOSSES)), Loss],
        "penalty": [StrOptions(set(OUTPUT_PENALTIES)), Penalty],
        "l1_ratio": [Interval(Real, 0, 1, closed="right")],
        "tasks": [Integral, str, None],
    }

    alpha: float = 1e-3
    _: KW_ONLY
    loss: str | Loss = "squared"
    penalty: str | Penalty = "l21"
    l1_ratio: float = 1.0
    tasks: int | str | None = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.tasks is None
        tags.target_tags.single_output = self.tasks is not None
        return tags

    def _loss_of(self, n_outputs: int) -> Loss:
        loss = OUTPUT_LOSSES[self.loss](n_outputs) if isinstance(self.loss, str) else self.loss
        if self.tasks is not None and loss.couples_outputs and not loss.of_classes:
            raise ValueError("loss 'l2_norm' needs all outputs of a sample, but there are tasks.")
        return checked_loss(loss, n_outputs)

    def _output_penalty(self, n_features: int, n_outputs: int) -> Penalty:
        return output_penalty(self.penalty, float(self.l1_ratio), n_features, n_outputs)

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> FitProblems:  # type: ignore[override]
        """The validated data and the one problem of all outputs or tasks."""
        if self.tasks is not None:
            return self._problem_of_tasks(X, y, sample_weight)
        X, y = validated(self, X, y, multi_output=True, y_numeric=True, **_DATA)
        if np.ndim(y) != 2:
            raise ValueError(
                f"y must have two dimensions, a column for each output, got {np.ndim(y)}: fit "
                "PdproxRegressor to a single output."
            )
        y = finite_targets(y, type(self).__name__)
        loss, weights = self._loss_of(y.shape[1]), checked_weights(sample_weight, X)
        check_labels(loss, y)
        penalty = self._output_penalty(X.shape[1], y.shape[1])
        problem = formulate_outputs(self._specification(penalty), X, y, weights, loss)
        return FitProblems(X, y, [problem])

    def _without_tasks(self, X: Any, reset: bool) -> tuple[Any, Array]:
        """X without its column of tasks, and that column."""
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError(
                f"Expected 2D array, got {len(X.shape)}D array instead: X must have a column of "
                "tasks."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)  # names, number of columns
        tasks: Any = self.tasks
        return without_tasks(X, tasks)

    def _problem_of_tasks(self, X, y, sample_weight):
        whole = X
        X, labels = self._without_tasks(X, reset=True)
        X = validated_array(X, input_name="X", estimator=self, **_DATA)
        self._precision = X.dtype
        y = finite_targets(
            np.ravel(validated_array(y, ensure_2d=False, dtype=np.float64)), type(self).__name__
        )
        if len(y) != X.shape[0]:
            raise ValueError(f"X and y must have as many samples, got {X.shape[0]} and {len(y)}.")
        tasks, labels = np.unique(labels, return_inverse=True)
        loss = self._loss_of(1)
        check_labels(loss, y)
        weights, total_weight = shares_of(checked_weights(sample_weight, X))
        without = np.flatnonzero(~(np.bincount(labels, weights) > 0.0))
        if len(without):
            raise ValueError(
                "Every task must have samples of positive sample_weight, but "
                f"{tasks[without[0]].item()!r} has none."
            )
        self.tasks_ = tasks
        rows = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
        by_row = X.tocsr() if hasattr(X, "tocsr") else X
        design = OutputsDesign([Design(by_row[own]) for own in rows], rows, len(y))
        of_tasks = RowsOfOutputs(design, y, weights, loss, bool(self.fit_intercept), total_weight)
        columns = Columns(self._output_penalty(X.shape[1], len(tasks)), float(self.alpha))
        problem = Problem(of_tasks, columns)
        require_unit(problem)
        return FitProblems(whole, y, [problem])

    def _fitted_problems(self, X, y, sample_weight):
        tasks = None if self.tasks is None else self.tasks_
        problems = super()._fitted_problems(X, y, sample_weight)
        if tasks is not None and not np.array_equal(tasks, self.tasks_):
            raise ValueError(
                f"X must hold the tasks that {type(self).__name__} was fitted with, {tasks!r}, "
                f"got {self.tasks_!r}."
            )
        return problems

    def predict(self, X: Any) -> np.ndarray:
        """Predict targets, or decision values for a loss of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With the column of tasks, if there is one.

        Returns
        -------
        y : ndarray of shape (n_samples, n_outputs), or (n_samples,) with ``tasks``
        """
        if self.tasks is None:
            return self._scores(X)
        check_is_fitted(self)
        X, labels = self._without_tasks(X, reset=False)
        X = validated_array(X, input_name="X", estimator=self, **_DATA)
        place = np.minimum(np.searchsorted(self.tasks_, labels), len(self.tasks_) - 1)
        unknown = np.flatnonzero(self.tasks_[place] != labels)
        if len(unknown):
            raise ValueError(
                f"The tasks in X must be among those of fit, got {labels[unknown[0]]!r}."
            )
        X = X.tocsr() if hasattr(X, "tocsr") else X
        z: Array = np.empty(X.shape[0], np.result_type(X, self.coef_))
        for k in np.unique(place):
            rows = np.flatnonzero(place == k)
            own = slice(k, k + 1)
            z[rows] = linear_predictions(X[rows], self.coef_[own], self.intercept_[own])[:, 0]
        return z


@declared
class MultiTaskPDCV(CrossValidationParameters, L1RatioCrossValidation, MultiTaskPD):
    """`MultiTaskPD` with alpha, and l1_ratio, chosen by cross-validation along paths.

    For every l1_ratio and fold a path of models is fitted, each started from the one before; the
    pair with the least mean loss on the samples held out, averaged over the folds, is then used
    to fit all data. The model, such as ``coef_``, and its certificate are those of this last fit.
    With the squared loss and the l2,1 norm this is `sklearn.linear_model.MultiTaskLassoCV`, and
    with an ``l1_ratio`` `MultiTaskElasticNetCV`.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        The loss of each output, as for `MultiTaskPD`; models are compared by it as well.
    penalty : str or Penalty, default="l21"
        The penalty of the matrix of coefficients, as for `MultiTaskPD`.
    l1_ratio : float or array-like of float, default=1.0
        Shares of the penalty "l21" or "l1" to try, in (0, 1]; the rest is half the squared
        Frobenius norm.
    tasks : int or str, default=None
        The column of X that holds the task of each sample, as for `MultiTaskPD`; counted in
        ``n_features_in_``.
    eps : float, default=1e-3
        Ratio of the smallest alpha to the largest, in (0, 1], where ``alphas`` is a number.
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha to try, greater than 0, in any order; or their number: then they are at
        equal ratios below one at which all coefficients are 0, for each l1_ratio. The penalties
        "exclusive", "squared_groups" and "l2" have no such alpha: the values then begin as those
        of `path`, and ``eps`` should be 1e-7.
    cv : int, cross-validation generator or iterable, default=None
        How to split the samples: a number of folds (5 by default) for `KFold`, a splitter, or an
        iterable of (train, test) index arrays. With ``tasks`` a number is one for
        `StratifiedKFold` over the tasks, so that every fold has its share of each: a task needs
        two samples at least, and some task as many as there are folds.
    {solver_and_solver_options}
    {tol_max_iter_and_fit_intercept_of_cross_validation}
    {n_jobs_random_state_and_verbose_of_cross_validation}

    Attributes
    ----------
    {alpha_and_l1_ratio_chosen}
    {linear_model_of_outputs}
    {certificate}
    {solver_and_convergence}
    loss_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds), or without its first axis \
            for a single l1_ratio
        Mean over the samples of each fold of the sum of the losses of their outputs, as in the
        objective; nan for what Ctrl-C has prevented.
    mse_path_ : ndarray of the same shape
        With the squared loss only: the mean squared error, over the outputs as well.
    {alphas_and_certificates_of_cross_validation}

    Raises
    ------
    ValueError
        From `fit`, if the samples that a fold leaves to train on have none of some task.

    {warns_of_cross_validation}

    See Also
    --------
    MultiTaskPD : Models of several outputs or tasks for one ``alpha``.

    References
    ----------
    Friedman, Hastie, Tibshirani: Regularization paths for generalized linear models via
    coordinate descent. Journal of Statistical Software 33, 2010, section 2.5: the values of alpha.

    Obozinski, Taskar, Jordan: Joint covariate selection and joint subspace selection for
    multiple classification problems. Statistics and Computing 20, 2010.

    {pdprox_paper}

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import MultiTaskPDCV
    >>> rng = np.random.default_rng(0)
    >>> X, W = rng.normal(size=(100, 20)), np.zeros((20, 3))
    >>> W[:4] = rng.normal(size=(4, 3))
    >>> Y = X @ W + rng.laplace(size=(100, 3))
    >>> model = MultiTaskPDCV(loss="absolute", alphas=10, eps=0.1).fit(X, Y)
    >>> model.loss_path_.shape
    (10, 5)
    >>> model.certificate_.relative_gap <= model.tol
    True
    """

    _l1_ratio_range: ClassVar[Interval] = Interval(Real, 0, 1, closed="right")
    _of_data: ClassVar[set] = {*L1RatioCrossValidation._of_data, "tasks_"}
    _own_constraints: ClassVar[dict] = {"l1_ratio": [_l1_ratio_range, "array-like"]}

    _: KW_ONLY
    loss: str | Loss = "squared"
    penalty: str | Penalty = "l21"
    l1_ratio: float | ArrayLike = 1.0  # type: ignore[assignment]
    tasks: int | str | None = None

    def _output_penalty(self, n_features: int, n_outputs: int) -> Penalty:
        return output_penalty(self.penalty, self._l1_ratios()[0], n_features, n_outputs)

    def _penalty_of(self, l1_ratio: float, problem: Any) -> Penalty:
        n_features = problem.n_coefficients // problem.n_outputs
        return output_penalty(self.penalty, l1_ratio, n_features, problem.n_outputs)

    def _errors(self, losses: Array, problem: Any) -> dict[str, Array]:
        errors = {"loss_path_": losses}
        if problem.loss.constant_curvature:
            n_outputs = problem.n_outputs if problem.design.shares_data else 1
            errors["mse_path_"] = 2.0 * losses / n_outputs
        return errors

    def _folds(self, X: Any, y: Any, problem: Any, split: dict[str, Any]) -> list[Fold]:
        if self.tasks is None:
            return super()._folds(X, y, problem, split)
        tasks = np.empty(len(y), dtype=np.int64)
        for k, rows in enumerate(problem.rows.places):
            tasks[rows] = k
        if self.cv is None or isinstance(self.cv, Integral):
            folds = checked_folds(self._stratified(tasks), problem, len(y))
        else:
            folds = super()._folds(X, y, problem, split)
        for k, (train, _) in enumerate(folds):
            counts = np.bincount(tasks[train], problem.weights[train], problem.n_outputs)
            without = np.flatnonzero(~(counts > 0.0))
            if len(without):
                raise ValueError(
                    "The 'cv' parameter must leave samples of positive sample_weight of every "
                    f"task to train on, but the train samples of fold {k} have none of task "
                    f"{self.tasks_[without[0]]!r}. A number of folds takes a share of each task."
                )
        return folds

    def _stratified(self, tasks: Indices) -> list[Fold]:
        """Splitter whose folds have a share of every task."""
        n_folds, most = check_cv(self.cv).get_n_splits(), int(np.max(np.bincount(tasks)))
        if most < n_folds:
            raise ValueError(
                "The 'cv' parameter must not exceed the number of samples of the largest task, "
                f"which has {most}, got {n_folds} folds."
            )
        with warnings.catch_warnings():
            # tasks with fewer samples than folds are no trouble: see what is checked of the folds
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return list(StratifiedKFold(n_folds).split(tasks, tasks))
