"""Several outputs or tasks with a penalty of the matrix of coefficients, with or without folds."""

from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import ClassVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from .._compat import Interval, StrOptions
from .._typing import Array, ArrayLike, Matrix, MatrixLike, PerRow
from ..designs import Design
from ..designs.outputs import OutputsDesign
from ..formulation.formulate import FormulatedProblems, formulate_outputs, require_unit, shares_of
from ..formulation.validation import checked_weights, finite_targets, validated, validated_array
from ..losses import Loss
from ..penalties import Penalty
from ..problems import Problem
from ..problems.output_rows import RowsOfOutputs
from ..problems.regularisation import Regularisation
from .base import _DATA
from .lasso import LassoAttributes
from .output_parameters import (
    OUTPUT_LOSSES,
    OUTPUT_PENALTIES,
    OutputLossName,
    OutputPenaltyName,
    check_labels,
    checked_loss,
    output_penalty,
    without_tasks,
)
from .parameters import SolverParameters, declared
from .predictions import linear_predictions
from .regressor import PrimalDualRegressor


class MultiTaskModel(LassoAttributes, PrimalDualRegressor):
    """Base class of models of several outputs or tasks."""

    tasks_: np.ndarray

    _takes_offset: ClassVar[bool] = False
    _own_constraints: ClassVar[dict] = {
        "loss": [StrOptions(set(OUTPUT_LOSSES)), Loss],
        "penalty": [StrOptions(set(OUTPUT_PENALTIES)), Penalty],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "tasks": [Integral, str, None],
    }

    loss: OutputLossName | Loss
    penalty: OutputPenaltyName | Penalty
    l1_ratio: float
    tasks: int | str | None

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

    def _problems(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow, offset: PerRow = None
    ) -> FormulatedProblems:
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
        return FormulatedProblems(X, y, [problem])

    def _without_tasks(self, X: MatrixLike, reset: bool) -> tuple[Matrix, Array]:
        """X without its column of tasks, and that column."""
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError(
                f"Expected 2D array, got {len(X.shape)}D array instead: X must have a column of "
                "tasks."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)  # names, number of columns
        return without_tasks(X, cast(int | str, self.tasks))

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
        design = OutputsDesign([Design(by_row[task_rows]) for task_rows in rows], rows, len(y))
        of_tasks = RowsOfOutputs(design, y, weights, loss, bool(self.fit_intercept), total_weight)
        regularisation = Regularisation(
            self._output_penalty(X.shape[1], len(tasks)), float(self.alpha)
        )
        problem = Problem(of_tasks, regularisation)
        require_unit(problem)
        return FormulatedProblems(whole, y, [problem])

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        tasks = None if self.tasks is None else self.tasks_
        problems = super()._fitted_problems(X, y, sample_weight, offset)
        if tasks is not None and not np.array_equal(tasks, self.tasks_):
            raise ValueError(
                f"X must hold the tasks that {type(self).__name__} was fitted with, {tasks!r}, "
                f"got {self.tasks_!r}."
            )
        return problems

    def predict(self, X: MatrixLike, offset: PerRow = None) -> np.ndarray:
        """Predict targets, or decision values for a loss of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With the column of tasks, if there is one.
        offset : None
            There is none.

        Returns
        -------
        y : ndarray of shape (n_samples, n_outputs), or (n_samples,) with ``tasks``
        """
        if self.tasks is None:
            return self._scores(X, offset)
        check_is_fitted(self)
        self._checked_offset(offset)
        X, labels = self._without_tasks(X, reset=False)
        X = validated_array(X, input_name="X", estimator=self, **_DATA)
        index = np.minimum(np.searchsorted(self.tasks_, labels), len(self.tasks_) - 1)
        unknown = np.flatnonzero(self.tasks_[index] != labels)
        if len(unknown):
            raise ValueError(
                f"The tasks in X must be among those of fit, got {labels[unknown[0]]!r}."
            )
        X = X.tocsr() if hasattr(X, "tocsr") else X
        z: Array = np.empty(X.shape[0], np.result_type(X, self.coef_))
        for k in np.unique(index):
            rows = np.flatnonzero(index == k)
            row = slice(k, k + 1)
            z[rows] = linear_predictions(X[rows], self.coef_[row], self.intercept_[row])[:, 0]
        return z


@declared
class MultiTaskPD(SolverParameters, MultiTaskModel):
    """Several outputs or tasks with a penalty of the matrix of coefficients, and a certificate.

    Minimises over W and b the weighted mean over the samples of the sum of the losses of their
    outputs, plus ``alpha`` times the penalty of W, whose rows belong to the features. With the
    squared loss and the l2,1 norm this is the objective of `MultiTaskLasso`, and with an
    ``l1_ratio`` that of `MultiTaskElasticNet`.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, greater than 0; as in `MultiTaskLasso`.
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

    alpha: float = 1.0
    _: KW_ONLY
    loss: OutputLossName | Loss = "squared"
    penalty: OutputPenaltyName | Penalty = "l21"
    l1_ratio: float = 1.0
    tasks: int | str | None = None
