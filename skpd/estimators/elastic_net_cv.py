"""Elastic nets with cross-validation."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import ArrayLike
from ..penalties import Penalty
from ..problems import Problem
from .cross_validation import L1RatioCrossValidation
from .elastic_net import PENALISED, ElasticNetPD
from .lasso_attributes import LassoAttributes
from .names import elastic_net

__all__ = ["ElasticNetPDCV"]


class ElasticNetPDCV(LassoAttributes, L1RatioCrossValidation):
    """`ElasticNetPD` with alpha and l1_ratio chosen by cross-validation along paths.

    As `sklearn.linear_model.ElasticNetCV`: for every l1_ratio and fold a path of models, each
    started from the one before; the pair with the least mean squared error, averaged over the
    folds, is fitted to all data.

    Parameters
    ----------
    l1_ratio : float or array-like of float, default=0.5
        Shares of the l1 norm to try, in [0, 1].
    positive : bool, default=False
        Whether the coefficients must not be negative.
    eps : float, default=1e-3
        Ratio of the smallest alpha to the largest, where ``alphas`` is a number.
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha to try, or their number: then they are at equal ratios below the
        smallest at which all coefficients are 0, for each l1_ratio; with 0 there is none, they
        begin as those of `path`, and ``eps`` should be smaller: 1e-7.
    cv : int, cross-validation generator or iterable, default=None
        How to split, as in scikit-learn; 5 folds by default.
    solver : {"auto", "agm", "cd", "approx"}, default="auto"
        As for `ElasticNetPD`.
    solver_options : dict, default=None
        Options of a named solver, as for `ElasticNetPD`.
    tol : float, default=1e-4
        Relative gap at which each fit stops.
    max_iter : int, default=50_000
        Iterations at most of each fit.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    n_jobs : int, default=None
        Threads over the paths.
    random_state : int, RandomState instance or None, default=None
        The order of rows in dual coordinate descent, and the start vectors of norm estimates.
    verbose : int, default=0
        Of the fit to all data: 1 prints ever fewer lines on the way, where the iterations have
        doubled or the gap has halved, and the last certificate; 2 a line for every certificate.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen; after Ctrl-C of those tried on every fold, if there are any.
    l1_ratio_ : float
        The l1_ratio chosen, likewise.
    coef_ : ndarray of shape (n_features,)
        Coefficients of the model of all data, in the precision of X.
    intercept_ : float
        Intercept of that model; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Its dual solution theta, as for `ElasticNetPD`.
    certificate_ : Certificate
        The interval that holds the optimal objective value on all data.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        The same over the objective of the best constant prediction: what ``tol`` bounds.
    gap_history_ : structured ndarray
        The best interval over time, in the fit to all data.
    solver_ : str
        The method that finished it, as for `ElasticNetPD`.
    converged_ : bool
        Whether its relative gap reached ``tol``.
    n_iter_ : int
        Its iterations.
    mse_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds), or without its first axis \
            for a single l1_ratio
        Mean squared error of each fold; nan for what Ctrl-C has prevented.
    alphas_ : ndarray of shape (n_l1_ratios, n_alphas), or without its first axis where \
            ``alphas`` holds values
        The values tried, decreasing.
    certificates_ : list
        The certificates of all paths: for every l1_ratio and fold those of its alphas.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If a relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; it says why, and what to try. Also if the choice is at an end
        of the alphas and the errors still change there; the largest alpha is no such end where
        ``alphas`` is a number.

    See Also
    --------
    ElasticNetPD : The model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skpd import ElasticNetPDCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetPDCV(l1_ratio=[0.5, 0.9], alphas=20).fit(X, y)
    >>> model.l1_ratio_
    0.9
    """

    path = ElasticNetPD.path

    _parameter_constraints: ClassVar[dict] = {
        **L1RatioCrossValidation._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
        "solver": [StrOptions(set(PENALISED))],
        "positive": ["boolean"],
    }

    def __init__(
        self,
        *,
        l1_ratio: float | ArrayLike = 0.5,
        positive: bool = False,
        eps: float = 1e-3,
        alphas: int | ArrayLike = 100,
        cv: Any = None,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 50_000,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.eps = eps
        self.alphas = alphas
        self.cv = cv
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _get_penalty(self) -> Penalty:
        return elastic_net(self._l1_ratios()[0], self.positive)

    def _penalty_of(self, l1_ratio: float, problem: Problem) -> Penalty:
        return elastic_net(l1_ratio, self.positive)
