"""Elastic nets with cross-validation."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from ..penalties import Penalty
from ..problems import Problem
from .cross_validation import L1RatioCrossValidation
from .elastic_net import PENALISED
from .names import elastic_net

__all__ = ["ElasticNetPDCV"]


class ElasticNetPDCV(L1RatioCrossValidation):
    """`ElasticNetPD` with alpha and l1_ratio chosen by cross-validation along paths.

    As `sklearn.linear_model.ElasticNetCV`: for every l1_ratio and fold a path of models, each
    started from the one before; the pair with the least mean squared error, averaged over the
    folds, is fitted to all data.

    Parameters
    ----------
    l1_ratio : float or array-like of float, default=0.5
        Shares of the l1 norm to try, in (0, 1], or in [0, 1] where ``alphas`` holds values.
    eps : float, default=1e-3
        Ratio of the smallest alpha to the largest, where ``alphas`` is a number.
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha to try, or their number: then they are at equal ratios below the
        smallest at which all coefficients are 0, for each l1_ratio.
    cv : int, cross-validation generator or iterable, default=None
        How to split, as in scikit-learn; 5 folds by default.
    solver : {"auto", "agm", "cd", "approx"}, default="auto"
        As for `ElasticNetPD`.
    solver_options, tol, max_iter, fit_intercept, random_state, verbose
        As for `ElasticNetPD`.
    n_jobs : int, default=None
        Threads over the paths.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The values chosen; after Ctrl-C of those tried on every fold, if there are any.
    coef_, intercept_, dual_coef_, certificate_, duality_gap_, relative_gap_, gap_history_, \
            converged_, n_iter_
        Those of the model of all data, as for `ElasticNetPD`.
    mse_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds), or without its first axis \
            for a single l1_ratio
        Mean squared error of each fold; nan for what Ctrl-C has prevented.
    alphas_ : ndarray of shape (n_l1_ratios, n_alphas), or without its first axis
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

    _parameter_constraints: ClassVar[dict] = {
        **L1RatioCrossValidation._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
        "solver": [StrOptions(set(PENALISED))],
    }

    def __init__(
        self,
        *,
        l1_ratio: float | ArrayLike = 0.5,
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
        return elastic_net(self._l1_ratios()[0])

    def _penalty_of(self, l1_ratio: float, problem: Problem) -> Penalty:
        return elastic_net(l1_ratio)
