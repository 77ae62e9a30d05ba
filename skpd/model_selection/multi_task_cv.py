"""Models of several outputs with alpha and l1_ratio chosen by cross-validation."""

import warnings
from dataclasses import KW_ONLY
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from .._typing import Array, ArrayLike, Indices, Matrix, Metadata
from ..estimators.multi_task import MultiTaskModel
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
        "exclusive", "squared_groups", "squared_outputs" and "l2" have no such alpha: the values
        then begin as those of `regularization_path`, and ``eps`` should be 1e-7.
    cv : int, cross-validation generator or iterable, default=None
        How to split the samples: a number of folds (5 by default) for `KFold`, a splitter, or an
        iterable of (train, test) index arrays. With ``tasks`` a number is one for
        `StratifiedKFold` over the tasks, so that every fold has its share of each: a task needs
        two samples at least, and some task as many as there are folds.
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
        Relative gap at which each fit stops.
    max_iter : int, default=50_000
        Iterations at most of each fit.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    n_jobs : int, default=None
        Threads over the paths of the folds.
    random_state : int, RandomState instance or None, default=None
        The random numbers that the solvers draw.
    verbose : int, default=0
        For the fit to all data, 1 prints a line whenever the iterations have doubled or the
        gap has halved, and the last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen; after Ctrl-C of those tried on every fold, if there are any.
    l1_ratio_ : float
        The l1_ratio chosen, likewise.
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
    loss_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds), or without its first axis \
            for a single l1_ratio
        Mean over the samples of each fold of the sum of the losses of their outputs, as in the
        objective; nan for what Ctrl-C has prevented.
    mse_path_ : ndarray of the same shape
        With the squared loss only: the mean squared error, over the outputs as well.
    alphas_ : ndarray of shape (n_l1_ratios, n_alphas), or without its first axis where \
            ``alphas`` holds values
        The values tried, decreasing.
    certificates_ : list
        The certificates of all paths: for every l1_ratio and fold those of its alphas.

    Raises
    ------
    ValueError
        From `fit`, if the samples that a fold leaves to train on have none of some task.

    Warns
    -----
    ConvergenceWarning
        If a relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try. Also if the choice is
        at an end of the alphas and the errors still change there; the largest alpha is no such
        end where ``alphas`` is a number.

    See Also
    --------
    MultiTaskPD : Models of several outputs or tasks for one ``alpha``.

    References
    ----------
    Friedman, Hastie, Tibshirani: Regularization paths for generalized linear models via
    coordinate descent. Journal of Statistical Software 33, 2010, section 2.5: the values of alpha.

    Obozinski, Taskar, Jordan: Joint covariate selection and joint subspace selection for
    multiple classification problems. Statistics and Computing 20, 2010.

    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015.

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
    >>> print(f"{model.certificate_.primal:.3f}, no model below {model.certificate_.dual:.3f}")
    3.989, no model below 3.989
    """

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
