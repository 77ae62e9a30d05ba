"""Several outputs or tasks with a penalty of the matrix of coefficients."""

from dataclasses import KW_ONLY
from numbers import Integral
from typing import ClassVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from .._typing import Array, Matrix, MatrixLike, PerRow
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
    OutputLossName,
    OutputPenaltyName,
    check_labels,
    checked_loss,
    output_penalty,
    without_tasks,
)
from .parameters import SHARE, FitsWithoutPenalty, SolverParameters, declared
from .predictions import linear_predictions
from .regressor import PrimalDualRegressor


class MultiTaskModel(LassoAttributes, PrimalDualRegressor):
    """Base class of models of several outputs or tasks."""

    tasks_: np.ndarray

    _takes_offset: ClassVar[bool] = False
    _own_constraints: ClassVar[dict] = {"l1_ratio": [SHARE], "tasks": [Integral, str, None]}

    loss: OutputLossName | Loss
    penalty: OutputPenaltyName | Penalty
    l1_ratio: float
    tasks: int | str | None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.tasks is None
        tags.target_tags.single_output = self.tasks is not None
        return tags

    def _output_penalty(self, n_features: int, n_outputs: int) -> Penalty:
        ratio, alpha = float(self.l1_ratio), float(self.alpha)
        return output_penalty(self.penalty, ratio, n_features, n_outputs, alpha)

    def _problems(self, X, y, sample_weight, offset=None) -> FormulatedProblems:
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
        loss, weights = checked_loss(self.loss, y.shape[1]), checked_weights(sample_weight, X)
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
        y = np.ravel(validated_array(y, ensure_2d=False, dtype=np.float64))
        y = finite_targets(y, type(self).__name__)
        if len(y) != X.shape[0]:
            raise ValueError(f"X and y must have as many samples, got {X.shape[0]} and {len(y)}.")
        tasks, labels = np.unique(labels, return_inverse=True)
        loss = checked_loss(self.loss, 1, of_tasks=True)
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
        penalty = self._output_penalty(X.shape[1], len(tasks))
        problem = Problem(of_tasks, Regularisation(penalty, self.alpha or 1.0))
        require_unit(problem)
        return FormulatedProblems(whole, y, [problem])

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        fitted = self._as_fitted()
        problems = fitted._problems(X, y, sample_weight, offset).problems
        if self.tasks is not None and not np.array_equal(fitted.tasks_, self.tasks_):
            raise ValueError(
                f"X must hold the tasks that {type(self).__name__} was fitted with, "
                f"{self.tasks_!r}, got {fitted.tasks_!r}."
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

        Raises
        ------
        ValueError
            If X has a task that `fit` has not had.
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
class MultiTaskPD(FitsWithoutPenalty, SolverParameters, MultiTaskModel):
    """Several outputs or tasks with a penalty of the matrix of coefficients, and a certificate.

    Minimises over W and b the weighted mean over the samples of the sum of the losses of their
    outputs, plus ``alpha`` times the penalty of W, whose rows belong to the features. With the
    squared loss and the l2,1 norm this is the objective of `MultiTaskLasso`, and with an
    ``l1_ratio`` that of `MultiTaskElasticNet`.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, at least 0; as in `MultiTaskLasso`. With 0 there is no penalty.
    loss : {"squared", "absolute", "huber", "epsilon_insensitive", "pinball", "l2_norm", \
            "hinge", "smoothed_hinge", "squared_hinge", "logistic"} or Loss, default="squared"
        The loss of each output; "l2_norm" is the Euclidean norm of the residuals of all
        outputs of a sample. For the last four y holds labels -1 and 1, and `predict` returns
        decision values, which are positive where 1 is more likely.
    penalty : {"l21", "l1inf", "exclusive", "trace", "squared_groups", \
            "squared_outputs", "l1", "l2"} or Penalty, default="l21"
        For the matrix W of coefficients with a row w^j for each feature: the sum of the Euclidean
        norms of the rows ("l21", which selects the same features for all outputs or classes), of
        their largest sizes ("l1inf"), or of their squared l1 norms ("exclusive", by which outputs
        compete for features); the sum of the singular values ("trace", for a low rank); the square
        of the l2,1 norm ("squared_groups"), or of the sum of the Euclidean norms of the columns
        ("squared_outputs", which selects outputs); for all entries of W the l1 norm ("l1") or half
        the sum of the squares ("l2"). A `Penalty` is one of the rows of W, one after the other.
    l1_ratio : float, default=1.0
        Share of the penalty "l21" or "l1", in [0, 1]; the rest is half the squared Frobenius
        norm.
    tasks : int or str, default=None
        The column of X, by its index or name, that holds the task of each sample: then y has
        one dimension, and every task has coefficients and an intercept of its own; the column is
        counted in ``n_features_in_``. By default every sample has a target for each output.
    solver : {"auto", "pdprox-dual", "pdprox-primal", "agm", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select`. The
        "pdprox" are Algorithms 1 and 3 and Algorithm 2 of Yang et al. (2015), with their step
        sizes; "agm" the accelerated gradients of Zhang et al. (2011), for a loss of single
        predictions that is smooth or has bounded slopes; "cd" and "approx" the coordinate
        methods of Dünner et al. (2016) and of Fercoq and Richtárik (2015), for a smooth loss
        with a penalty of single coefficients, or without an intercept for any loss with a
        squared l2 norm in the penalty. `fit` raises a ValueError for a solver that does not
        apply.
    solver_options : dict, default=None
        Options of a named solver. "pdprox-dual": ``algorithm`` (1 or 3) and ``accelerated``
        (bool); "pdprox-primal": ``rows_per_step`` (int), the rows of a random block in each step;
        both "pdprox": ``implementation`` ("double-primal", "double-dual"), ``average`` (bool),
        ``step_scale`` and ``step_ratio`` (float), see `skpd.solvers.published.pdprox`; "agm":
        those of `skpd.solvers.published.agm.agm`; "cd": ``variables``, ``average`` and
        ``burn_in``, and "approx": ``variables`` and ``coordinates_per_step``, see
        `skpd.solvers.published.random_coordinates`. All take ``output``: "algorithm", the
        default, is what the paper's algorithm returns, with its certificate, and "best" the
        best point of the run.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction. Where
        the objective is small, a fit also goes on until the gap is at most 100 ``tol`` of it.
    max_iter : int, default=50_000
        Iterations at most. An iteration is a Newton step, a pass over the rows or the
        coordinates, or, in a method of gradients, about one product with X and one with its
        transpose.
    fit_intercept : bool, default=True
        Whether to fit an intercept (for each output or class), which is not penalised.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Coefficients, in the precision of X; without the column of tasks.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts; 0 without ``fit_intercept``.
    tasks_ : ndarray of shape (n_outputs,)
        With ``tasks`` only: the task of each row of ``coef_``.
    dual_coef_ : ndarray of shape (n_samples, n_outputs), or (n_samples,) with ``tasks``
        Dual solution theta: up to the tolerance, the derivative of the loss with respect to
        each prediction.
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
    solver_ : str, or list of them for one-vs-rest or several targets
        The method that finished: the value of ``solver``, or with "auto" the method that was
        chosen, such as "multipliers" or "interior-point", or "null-model" where the best
        constant prediction is good enough. The :ref:`reference <solvers>` lists all names.
    converged_ : bool
        Whether the gap is as small as ``tol`` asks for.
    n_iter_ : int
        Iterations; the most of any class or target.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

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
