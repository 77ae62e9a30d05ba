"""Regression with many outputs over the trace-norm ball."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..problems.trace_norm import TraceNormProblem
from ..solvers.frank_wolfe.trace_norm import trace_norm
from .base import finite_targets
from .parameters import ParameterValidation
from .validation import validated

__all__ = ["TraceNormPD"]

_DATA = {"accept_sparse": ("csr", "csc"), "dtype": np.float64}
LARGEST = 1e70  # of X and y: no product of two of their squares overflows


class TraceNormPD(RegressorMixin, ParameterValidation):
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
        `skpd.solvers.trace_norm.trace_norm`.
    rank : int, default=None
        Rank of an update; by default it grows whenever it is not enough.
    n_rows : int, default=None
        Rows of the dual that change in an iteration, see
        `skpd.solvers.trace_norm.trace_norm`.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=5_000
        Iterations at most.
    fit_intercept : bool, default=True
        Whether to fit an intercept for each output, which is not penalised.
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
        Rank of the last update.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    gap_history_ : structured ndarray
        The interval over time, with fields n_iter, seconds, primal, dual, gap.
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

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [Interval(Real, 0, np.inf, closed="neither")],
        "radius": [Interval(Real, 0, np.inf, closed="neither")],
        "step_size": [StrOptions({"line-search", "theory"})],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "n_rows": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, np.inf, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
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
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, of at most 1e70 in size; converted to float64.
        y : array-like of shape (n_samples, n_outputs) or (n_samples,)
            Targets, of at most 1e70 in size.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, non-negative and not all zero; 1 by default. A weight
            of 2 equals a repeated row.

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
        X, y = validated(self, X, y, multi_output=True, y_numeric=True, **_DATA)
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not 0.0 < float(np.sum(weights)) < np.inf:
            raise ValueError(
                "sample_weight must hold weights that are not all zero and have a finite sum."
            )
        Y = finite_targets(y, self)
        Y = Y.reshape(len(Y), -1)
        for name, values in (("X", X.data if sp.issparse(X) else X), ("y", Y)):
            largest = float(np.max(np.abs(values), initial=0.0))
            if largest > LARGEST:
                raise ValueError(
                    f"{name} must hold values of at most {LARGEST:g} in size, got {largest:.3g}: "
                    "bring it to a smaller scale."
                )
        problem = TraceNormProblem(
            X.tocsr() if hasattr(X, "tocsr") else X,
            Y,
            weights / float(np.sum(weights)),
            float(self.alpha),
            float(self.radius),
            bool(self.fit_intercept),
        )

        def report(n_iter, certificate):
            if self.verbose:
                print(
                    f"[{type(self).__name__}] iteration {n_iter}: objective "
                    f"{certificate.primal:.8g}, lower bound {certificate.dual:.8g}, relative gap "
                    f"{certificate.relative_gap:.2e} (tol {self.tol:.2e})",
                    flush=True,
                )

        found = trace_norm(
            problem,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=check_random_state(self.random_state),
            step_size=self.step_size,
            rank=self.rank,
            n_rows=self.n_rows,
            on_check=report,
        )
        intercept = problem.intercept(found.coef)
        several = np.ndim(y) > 1
        self.coef_ = np.ascontiguousarray(found.coef.T) if several else found.coef[:, 0]
        self.intercept_ = intercept if several else float(intercept[0])
        self.dual_coef_ = found.dual_coef
        self.rank_ = found.rank
        self.certificate_ = found.certificate
        self.duality_gap_ = found.certificate.gap
        self.gap_history_ = found.history
        self.n_iter_ = found.n_iter
        self.solver_ = "frank-wolfe"
        self.converged_ = found.converged
        if found.interrupted:
            raise KeyboardInterrupt
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge: after {found.n_iter} iterations its "
                f"relative gap is {found.certificate.relative_gap:.2e}, above tol={self.tol:.2e}. "
                f"Its objective, {found.certificate.primal:.6g}, is certified to be at most "
                f"{found.certificate.gap:.2e} above the optimum. Increase max_iter (now "
                f"{self.max_iter}) or tol, or bring the features to a common scale.",
                ConvergenceWarning,
                stacklevel=3,  # the caller of fit, past its decorator
            )
        return self

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
