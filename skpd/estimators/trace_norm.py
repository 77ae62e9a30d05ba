"""Regression with many outputs over the trace-norm ball."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..losses import Squared
from ..problems import Point, Solution
from ..problems.trace_norm import TraceNormProblem
from ..solvers import TRACE_NORM_SOLVERS
from .base import finite_targets
from .regressor import PrimalDualRegressor
from .validation import validated

__all__ = ["TraceNormPD"]

_DATA = {"accept_sparse": ("csr", "csc"), "dtype": np.float64}
LARGEST = 1e70  # of X and y: no product of two of their squares overflows
NEGLIGIBLE = 1e-8  # of the largest singular value: what is not counted in the rank


class TraceNormPD(PrimalDualRegressor):
    """Least squares for many outputs over the trace-norm ball, fitted with a certificate.

    Minimises ``mean(||y - W x - b||^2) / 2 + alpha ||W||_F^2 / 2`` subject to ``||W||_* <=
    radius``, the sum of the singular values of W, which keeps its rank low. Solved by
    primal-dual block Frank-Wolfe with updates of low rank.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the squared Frobenius norm, greater than 0.
    radius : float, default=1.0
        Radius of the ball, greater than 0.
    step_size : {"line-search", "theory"}, default="line-search"
        "theory" for the step sizes of the paper's Theorem 4.3, see
        `skpd.solvers.frank_wolfe.trace_norm`.
    rank : int, default=None
        Rank of an update; by default it grows whenever it is not enough.
    n_rows : int, default=None
        Rows of the dual that change in an iteration, see
        `skpd.solvers.frank_wolfe.trace_norm`.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=5_000
        Iterations at most.
    fit_intercept : bool, default=True
        Whether to fit an intercept for each output, which is not penalised.
    warm_start : bool, default=False
        Whether `fit` starts from the last fit, if that was of data of the same shape.
    random_state : int, RandomState instance or None, default=None
        Start of the subspace iteration for singular vectors.
    verbose : int, default=0
        Print a line for every certificate computed on the way.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features) or (n_features,)
        Coefficients; of one dimension for a y of one.
    intercept_ : ndarray of shape (n_outputs,) or float
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Dual solution theta: up to the tolerance, the residuals.
    rank_ : int
        Rank of ``coef_``, singular values below 1e-8 of the largest not counted.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that of
        the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str
        The method: "frank-wolfe".
    converged_ : bool
        Whether the relative gap reached ``tol``.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.

    References
    ----------
    Lei, Zhuo, Caramanis, Dhillon, Dimakis: Primal-dual block Frank-Wolfe. NeurIPS 2019,
    section 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import TraceNormPD
    >>> rng = np.random.default_rng(0)
    >>> X, factors = rng.normal(size=(200, 30)), rng.normal(size=(30, 2))
    >>> Y = X @ factors @ rng.normal(size=(2, 20))
    >>> model = TraceNormPD(radius=60.0).fit(X, Y)
    >>> model.rank_
    2
    """

    _solvers: ClassVar[dict] = TRACE_NORM_SOLVERS
    _parameter_constraints: ClassVar[dict] = {
        "alpha": [Interval(Real, 0, np.inf, closed="neither")],
        "radius": [Interval(Real, 0, np.inf, closed="neither")],
        "step_size": [StrOptions({"line-search", "theory"})],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "n_rows": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, np.inf, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        radius: float = 1.0,
        step_size: str = "line-search",
        rank: int | None = None,
        n_rows: int | None = None,
        tol: float = 1e-4,
        max_iter: int = 5_000,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.radius = radius
        self.step_size = step_size
        self.rank = rank
        self.n_rows = n_rows
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _get_loss(self) -> Squared:
        return Squared()

    def _solver(self) -> str:
        return "frank-wolfe"

    def _checked_options(self) -> dict[str, Any]:
        return {"step_size": self.step_size, "rank": self.rank, "n_rows": self.n_rows}

    def _problems(self, X, y, sample_weight):
        """The validated data, the one problem in a list, and no classes."""
        X, y = validated(self, X, y, multi_output=True, y_numeric=True, **_DATA)
        y = finite_targets(y, self)
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not sample_weight.any():
            raise ValueError("sample_weight must hold weights that are not all zero.")
        for name, values in (("X", X.data if sp.issparse(X) else X), ("y", y)):
            largest = float(np.max(np.abs(values), initial=0.0))
            if largest > LARGEST:
                raise ValueError(
                    f"{name} must hold values of at most {LARGEST:g} in size, got {largest:.3g}: "
                    "bring it to a smaller scale."
                )
        problem = TraceNormProblem(
            X.tocsr() if sp.issparse(X) else X,
            y.reshape(len(y), -1),
            self._normalised(sample_weight)[0],
            float(self.alpha),
            float(self.radius),
            bool(self.fit_intercept),
        )
        return X, y, [problem], None

    def _start_of(self, X: Any, y: Any) -> Point | None:
        if not (self.warm_start and hasattr(self, "dual_coef_")):
            return None
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        n_outputs = 1 if np.ndim(y) == 1 else y.shape[1]
        if coef.shape != (n_outputs, X.shape[1]) or self.dual_coef_.shape != (len(y), n_outputs):
            return None
        return Point(np.ascontiguousarray(coef.T), intercept, self.dual_coef_)

    def _coefficients(self, point: Point | Solution, y_ndim: int) -> dict[str, Any]:
        W, intercept = point.coef, point.intercept
        if y_ndim == 1:
            return {"coef_": W[:, 0], "intercept_": float(intercept[0])}
        return {"coef_": np.ascontiguousarray(W.T), "intercept_": intercept}

    @property
    def rank_(self) -> int:
        """Rank of ``coef_``, singular values below 1e-8 of the largest not counted."""
        values = np.linalg.svd(np.atleast_2d(self.coef_), compute_uv=False)
        return int(np.sum(values > NEGLIGIBLE * values[0]))

    def predict(self, X: Any) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples, n_outputs) or (n_samples,)
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, **_DATA)
        return X @ self.coef_.T + self.intercept_
