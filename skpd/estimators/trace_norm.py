"""Linear models of many outputs with a coefficient matrix of low rank."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._compat import Interval, StrOptions
from ..losses import Loss
from ..penalties import L1, Penalty, Spectral, SquaredL2OnL1Ball
from ..problems import Point, Problem, Solution
from .outputs import OUTPUT_LOSSES, check_labels, checked_loss
from .parameters import FitParameters, declared
from .posing import FitProblems, problem_of_outputs
from .regressor import PrimalDualRegressor
from .validation import checked_weights, finite_targets, validated

_DATA = {"accept_sparse": ("csr", "csc"), "dtype": np.float64}
LARGEST = 1e70  # of X and y: no product of two of their squares overflows
NEGLIGIBLE = 1e-8  # of the largest singular value: what is not counted in the rank


@declared
class TraceNormPD(FitParameters, PrimalDualRegressor):
    """Many outputs with a bound or a penalty on the trace norm, fitted with a certificate.

    Minimises the weighted mean over the samples of the sum of the losses of their outputs plus
    ``alpha ||W||_F^2 / 2`` subject to ``||W||_* <= radius``, the sum of the singular values of W,
    which keeps its rank low; or, without a radius, plus ``alpha ||W||_*``. Least squares over the
    ball are solved by primal-dual block Frank-Wolfe with updates of low rank.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of half the squared Frobenius norm or, without a radius, of the trace norm; greater
        than 0.
    radius : float or None, default=1.0
        Radius of the ball, greater than 0; None for the trace norm as a penalty.
    {loss_of_outputs}
    step_size : {"line-search", "theory"}, default="line-search"
        The step sizes over the ball: a line search, or those of Theorem 4.3 of Lei et al.
        (2019), see `skpd.solvers.frank_wolfe.trace_norm`.
    rank : int, default=None
        Rank of an update; by default it grows whenever it is not enough.
    n_rows : int, default=None
        Rows of the dual that change in an iteration, see
        `skpd.solvers.frank_wolfe.trace_norm`.
    {tol}
    max_iter : int, default=5_000
        Iterations at most.
    fit_intercept : bool, default=True
        Whether to fit an intercept for each output, which is not penalised.
    {warm_start_random_state_and_verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features) or (n_features,)
        Coefficients; of one dimension for a y of one.
    intercept_ : ndarray of shape (n_outputs,) or float
        Intercepts; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Dual solution theta: up to the tolerance, the derivative of the loss with respect to each
        prediction.
    rank_ : int
        Rank of ``coef_``, singular values below 1e-8 of the largest not counted.
    {certificate}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    MultiTaskPD : Models of several outputs with other penalties, such as the l2,1 norm.
    MatrixCompletionPD : Matrices of low rank from some of their entries.

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

    _takes_outputs: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {
        "radius": [Interval(Real, 0, np.inf, closed="neither"), None],
        "loss": [StrOptions(set(OUTPUT_LOSSES)), Loss],
        "step_size": [StrOptions({"line-search", "theory"})],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "n_rows": [Interval(Integral, 1, None, closed="left"), None],
    }

    alpha: float = 1e-3
    _: KW_ONLY
    radius: float | None = 1.0
    loss: str | Loss = "squared"
    step_size: str = "line-search"
    rank: int | None = None
    n_rows: int | None = None
    max_iter: int = 5_000

    @property
    def _by_frank_wolfe(self) -> bool:
        """Whether the block Frank-Wolfe method applies: least squares over a ball."""
        return self.radius is not None and self.loss == "squared"

    @property
    def _no_path(self) -> str:  # type: ignore[override]
        if not self._by_frank_wolfe:
            return ""
        return (
            "A path follows alpha, the weight of the trace norm, which it is not beside a radius: "
            "leave the radius out, or fit a model for each alpha, with warm_start=True."
        )

    def _solver(self) -> str:
        return "frank-wolfe" if self._by_frank_wolfe else "auto"

    def _checked_options(self, problem: Problem) -> dict[str, Any]:
        options = {"step_size": self.step_size, "rank": self.rank, "n_rows": self.n_rows}
        if self._by_frank_wolfe:
            return options
        if (self.step_size, self.rank, self.n_rows) != ("line-search", None, None):
            raise ValueError(
                "step_size, rank and n_rows are options of least squares over a ball, got "
                f"{options} with loss={self.loss!r} and radius={self.radius!r}."
            )
        return {}

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> FitProblems:
        """The validated data and the one problem of all outputs."""
        X, y = validated(self, X, y, multi_output=True, y_numeric=True, **_DATA)
        y, sample_weight = finite_targets(y, self), checked_weights(sample_weight, X)
        for name, values in (("X", X.data if sp.issparse(X) else X), ("y", y)):
            largest = float(np.max(np.abs(values), initial=0.0))
            if largest > LARGEST:
                raise ValueError(
                    f"{name} must hold values of at most {LARGEST:g} in size, got {largest:.3g}: "
                    "bring it to a smaller scale."
                )
        Y = y.reshape(len(y), -1)
        loss = checked_loss(self.loss, Y.shape[1])
        check_labels(loss, y)
        of_values: Penalty = L1()
        if self.radius is not None:
            of_values = SquaredL2OnL1Ball(float(self.radius))
        penalty = Spectral(of_values, Y.shape[1])
        return FitProblems(X, y, [problem_of_outputs(self, X, Y, sample_weight, loss, penalty)])

    def _model(self, points: Sequence[Point | Solution], fit: FitProblems) -> dict[str, Any]:
        model = super()._model(points, fit)
        return {name: each[0] for name, each in model.items()} if fit.y.ndim == 1 else model

    @property
    def rank_(self) -> int:
        """Rank of ``coef_``, singular values below 1e-8 of the largest not counted."""
        values = np.linalg.svd(np.atleast_2d(self._dense_coef), compute_uv=False)
        return int(np.sum(values > NEGLIGIBLE * values[0]))
