"""Models of several outputs with alpha and l1_ratio chosen by cross-validation."""

import warnings
from dataclasses import KW_ONLY
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from .._typing import Array, ArrayLike, Indices, Matrix, Metadata
from ..estimators.multi_task import MultiTaskModel, MultiTaskPD
from ..estimators.output_parameters import OutputLossName, OutputPenaltyName, output_penalty
from ..estimators.parameters import WithSolver, declared
from ..losses import Loss
from ..penalties import Penalty
from ..problems import Problem
from .cross_validation import CrossValidationParameters, PathCrossValidation
from .fold_paths import Fold, checked_folds


@declared
class MultiTaskPDCV(CrossValidationParameters, WithSolver, PathCrossValidation, MultiTaskModel):
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
        Shares of the penalty "l21" or "l1" to try, in [0, 1]; the rest is half the squared
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
        of `regularization_path`, and ``eps`` should be 1e-7.
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

    path = MultiTaskPD.path

    _of_data: ClassVar[set] = {*PathCrossValidation._of_data, "tasks_"}

    _: KW_ONLY
    loss: OutputLossName | Loss = "squared"
    penalty: OutputPenaltyName | Penalty = "l21"
    l1_ratio: float | ArrayLike = 1.0  # type: ignore[assignment]
    tasks: int | str | None = None

    def _penalty_of(self, l1_ratio: float, n_features: int, n_outputs: int) -> Penalty:
        return output_penalty(self.penalty, l1_ratio, n_features, n_outputs)

    def _output_penalty(self, n_features: int, n_outputs: int) -> Penalty:
        return self._penalty_of(self._l1_ratios()[0], n_features, n_outputs)

    def _errors(self, losses: Array, problem: Problem) -> dict[str, Array]:
        errors = {"loss_path_": losses}
        if problem.loss.constant_curvature:
            n_outputs = problem.n_outputs if problem.design.shares_data else 1
            errors["mse_path_"] = 2.0 * losses / n_outputs
        return errors

    def _folds(self, X: Matrix, y: Array, problem: Problem, split: Metadata) -> list[Fold]:
        if self.tasks is None:
            return super()._folds(X, y, problem, split)
        tasks = np.empty(len(y), dtype=np.int64)
        for k, rows in enumerate(problem.rows.row_indices):
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
        n_folds, largest_task = check_cv(self.cv).get_n_splits(), int(np.max(np.bincount(tasks)))
        if largest_task < n_folds:
            raise ValueError(
                "The 'cv' parameter must not exceed the number of samples of the largest task, "
                f"which has {largest_task}, got {n_folds} folds."
            )
        with warnings.catch_warnings():
            # tasks may have fewer samples than folds, as `_folds` checks what each fold needs
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return list(StratifiedKFold(n_folds).split(tasks, tasks))
