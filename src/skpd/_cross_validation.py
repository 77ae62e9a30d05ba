"""Choice of alpha and l1_ratio by cross-validation over regularisation paths."""

import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._base import _DATA
from .certificates import Certificate
from .elastic_net import ElasticNetPD
from .regularization import path

__all__ = ["ElasticNetPDCV"]


class ElasticNetPDCV(RegressorMixin, BaseEstimator):
    """`ElasticNetPD` with alpha and l1_ratio chosen by cross-validation along paths.

    As `sklearn.linear_model.ElasticNetCV`: for every l1_ratio and fold a path of models, each
    started from the one before; the pair with the least mean squared error over the folds,
    weighted, is fitted to all data.

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
    tol, max_iter, fit_intercept, random_state
        As for `ElasticNetPD`.
    n_jobs : int, default=None
        Threads over the paths.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The values chosen.
    coef_, intercept_, dual_coef_, certificate_, duality_gap_, gap_history_, converged_, n_iter_
        Those of the model of all data, as for `ElasticNetPD`.
    mse_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds), or without its first axis \
            for a single l1_ratio
        Mean squared error of each fold.
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

    coef_: Any
    intercept_: float
    certificate_: Certificate
    mse_path_: Any
    alphas_: Any

    _parameter_constraints: ClassVar[dict] = {
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "tol": [Interval(Real, 0, np.inf, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        l1_ratio: float | Iterable[float] = 0.5,
        eps: float = 1e-3,
        alphas: int | ArrayLike = 100,
        cv: Any = None,
        tol: float = 1e-4,
        max_iter: int = 50_000,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _model(self, l1_ratio: float, **parameters: Any) -> ElasticNetPD:
        return ElasticNetPD(
            l1_ratio=l1_ratio,
            tol=self.tol,
            max_iter=self.max_iter,
            fit_intercept=self.fit_intercept,
            random_state=self.random_state,
            **parameters,
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: Any = None
    ) -> Self:
        """Choose alpha and l1_ratio and fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in the fits and in the errors.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid.
        """
        X, y = validate_data(self, X, y, y_numeric=True, **_DATA)
        y = np.ascontiguousarray(y, dtype=np.float64)
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        if not (ratios.ndim == 1 and len(ratios) and ((ratios >= 0.0) & (ratios <= 1.0)).all()):
            raise ValueError(
                "The 'l1_ratio' parameter of ElasticNetPDCV must hold numbers in [0, 1], got "
                f"{self.l1_ratio!r}."
            )
        grids = [self._alphas(X, y, weights, float(ratio)) for ratio in ratios]
        by_row = X.tocsr() if hasattr(X, "tocsr") else X
        folds = list(check_cv(self.cv).split(X, y, groups))

        def follow(k, train, test):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = path(
                    self._model(float(ratios[k])), by_row[train], y[train],
                    alphas=grids[k], sample_weight=weights[train],
                )  # fmt: skip
            predictions = np.asarray(by_row[test] @ found.coefs.T) + found.intercepts
            squares = (predictions - y[test][:, np.newaxis]) ** 2
            total = float(np.sum(weights[test]))
            errors = weights[test] @ squares / total if total > 0.0 else squares.mean(axis=0)
            return errors, total, found.certificates, [warning.message for warning in caught]

        # warnings are recorded for the whole process: in one thread at a time
        results = Parallel(n_jobs=self.n_jobs)(
            delayed(follow)(k, train, test) for k in range(len(ratios)) for train, test in folds
        )
        shape = len(ratios), len(folds)
        errors = np.array([result[0] for result in results]).reshape(*shape, -1)
        shares = np.array([result[1] for result in results[: len(folds)]])
        worst = [message for result in results for message in result[3]]
        if worst:
            warnings.warn(
                f"{type(self).__name__}: {len(worst)} of {len(results)} paths have models that "
                f"did not converge. The first says: {worst[0]}",
                ConvergenceWarning,
                stacklevel=3,  # the caller of fit, past its decorator
            )
        shares = shares / shares.sum() if shares.sum() > 0.0 else np.full(len(folds), np.nan)
        mean = np.einsum("rfa,f->ra", errors, shares)
        best, place = np.unravel_index(int(np.argmin(mean)), mean.shape)
        self.l1_ratio_, self.alpha_ = float(ratios[best]), float(grids[best][place])
        mse, alphas = np.swapaxes(errors, 1, 2), np.array(grids)
        single = isinstance(self.l1_ratio, Real)
        self.mse_path_, self.alphas_ = (mse[0], alphas[0]) if single else (mse, alphas)
        found = [result[2] for result in results]
        self.certificates_ = [
            found[k * len(folds) : (k + 1) * len(folds)] for k in range(shape[0])
        ]
        model = self._model(self.l1_ratio_, alpha=self.alpha_).fit(X, y, sample_weight=weights)
        for name in (
            "coef_", "intercept_", "dual_coef_", "certificate_", "duality_gap_", "gap_history_",
            "converged_", "n_iter_",
        ):  # fmt: skip
            setattr(self, name, getattr(model, name))
        return self

    def _alphas(self, X, y, weights, ratio):
        """The values of alpha to try for an l1_ratio, decreasing."""
        if not isinstance(self.alphas, Integral):
            values = np.sort(np.asarray(self.alphas, dtype=np.float64).ravel())[::-1]
            if not (len(values) and np.isfinite(values).all() and values[-1] > 0.0):
                raise ValueError(
                    "The 'alphas' parameter of ElasticNetPDCV must hold finite numbers greater "
                    f"than 0, got {self.alphas!r}."
                )
            return values
        if ratio == 0.0:
            raise ValueError(
                "The 'alphas' parameter of ElasticNetPDCV must hold values where l1_ratio is 0: "
                "no alpha is then the smallest at which all coefficients are 0."
            )
        _, _, (problem,), _ = self._model(ratio)._problems(X, y, weights)
        largest = max(problem.largest_alpha, np.finfo(float).resolution)
        return largest * np.geomspace(1.0, self.eps, int(self.alphas))

    def predict(self, X: Any) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **_DATA)
        return np.asarray(X @ self.coef_).ravel() + self.intercept_
