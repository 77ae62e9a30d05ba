"""Linear models of many outputs with a coefficient matrix of low rank."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from .._typing import Attributes
from ..formulation.formulate import FormulatedProblems, formulate_outputs
from ..formulation.validation import checked_weights, finite_targets, require_size, validated
from ..losses import Loss
from ..penalties import L1, Spectral, SquaredL2OnL1Ball
from ..problems import Point, Solution
from .output_parameters import OutputLossName, check_labels, checked_loss
from .parameters import COUNT, POSITIVE, WarmStartParameters, WithOptions, declared
from .regressor import PrimalDualRegressor

_DATA = {"accept_sparse": ("csr", "csc"), "dtype": np.float64}
NEGLIGIBLE = 1e-8  # singular values below this share of the largest are not counted in the rank


@declared
class TraceNormPD(WarmStartParameters, WithOptions, PrimalDualRegressor):
    """Many outputs with a bound or a penalty on the trace norm, fitted with a certificate.

    Minimises the weighted mean over the samples of the sum of the losses of their outputs plus
    ``alpha ||W||_F^2 / 2`` subject to ``||W||_* <= radius``, the sum of the singular values of W,
    which keeps its rank low; or, without a radius, plus ``alpha ||W||_*``.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of half the squared Frobenius norm or, without a radius, of the trace norm; greater
        than 0.
    radius : float or None, default=1.0
        Radius of the ball, greater than 0; None for the trace norm as a penalty.
    n_columns : int or None, default=None
        For a y of one dimension, the number of columns of W if each row of X is a matrix A_i, row
        after row. Predictions are then ``<A_i, W> + b``, the sum of the products of entries, and
        ``coef_.reshape(-1, n_columns)`` is W: for affine rank minimisation, phase retrieval, and
        completion with a radius, where A_i has a single 1. By default a row of X has features,
        and W a column for each output.
    loss : {"squared", "absolute", "huber", "epsilon_insensitive", "pinball", "l2_norm", \
            "hinge", "smoothed_hinge", "squared_hinge", "logistic"} or Loss, default="squared"
        The loss of each output; "l2_norm" is the Euclidean norm of the residuals of all
        outputs of a sample. For the last four y holds labels -1 and 1, and `predict` returns
        decision values, which are positive where 1 is more likely.
    solver : {"auto", "frank-wolfe"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select`.
        "frank-wolfe" is Algorithm 2 of Lei et al. (2019) with its step sizes, for a radius and a
        smooth loss, see `skpd.solvers.published.trace_norm_frank_wolfe`.
    solver_options : dict, default=None
        Options of "frank-wolfe": ``eta``, ``delta``, ``rank`` and ``n_rows``.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction. Where
        the objective is small, a fit also goes on until the gap is at most 100 ``tol`` of it.
    max_iter : int, default=5_000
        Iterations at most.
    fit_intercept : bool, default=True
        Whether to fit an intercept for each output, which is not penalised.
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
    coef_ : ndarray of shape (n_outputs, n_features) or (n_features,)
        Coefficients; of one dimension for a y of one.
    intercept_ : ndarray of shape (n_outputs,) or float
        Intercepts; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Dual solution theta: up to the tolerance, the derivative of the loss with respect to each
        prediction.
    rank_ : int
        Rank of ``coef_``, singular values below 1e-8 of the largest not counted.
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
    _takes_offset: ClassVar[bool] = False
    _own_constraints: ClassVar[dict] = {"radius": [POSITIVE, None], "n_columns": [COUNT, None]}

    alpha: float = 1e-3
    _: KW_ONLY
    radius: float | None = 1.0
    n_columns: int | None = None
    loss: OutputLossName | Loss = "squared"
    solver: Literal["auto", "frank-wolfe"] = "auto"
    fit_intercept: bool = True
    max_iter: int = 5_000

    def _require_path(self) -> None:
        if self.radius is not None and self.loss == "squared":
            raise ValueError(
                "A path follows alpha, the weight of the trace norm, which it is not beside a "
                "radius: leave the radius out, or fit a model for each alpha, with "
                "warm_start=True."
            )

    def _problems(self, X, y, sample_weight, offset=None) -> FormulatedProblems:
        """The validated data and the one problem of all outputs."""
        X, y = validated(self, X, y, multi_output=True, y_numeric=True, **_DATA)
        y = finite_targets(y, type(self).__name__)
        sample_weight = checked_weights(sample_weight, X)
        require_size("X", X.data if sp.issparse(X) else X)
        require_size("y", y)
        Y = y.reshape(len(y), -1)
        loss = checked_loss(self.loss, Y.shape[1])
        check_labels(loss, y)
        n_columns = Y.shape[1] if self.n_columns is None else int(self.n_columns)
        if self.n_columns is not None and (y.ndim > 1 or X.shape[1] % n_columns):
            raise ValueError(
                "n_columns must divide the number of features, for a y of one dimension, got "
                f"n_columns={n_columns} with {X.shape[1]} features and a y of {y.ndim} "
                "dimension(s)."
            )
        of_values = L1() if self.radius is None else SquaredL2OnL1Ball(float(self.radius))
        penalty = Spectral(of_values, n_columns)
        problem = formulate_outputs(self._specification(penalty), X, Y, sample_weight, loss)
        return FormulatedProblems(X, y, [problem])

    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        model = super()._model(points, fit)
        if fit.y.ndim > 1:
            return model
        return {name: np.asarray(value)[0] for name, value in model.items()}

    @property
    def rank_(self) -> int:
        """Rank of ``coef_``, singular values below 1e-8 of the largest not counted."""
        W = self._dense_coef.reshape(-1, self.n_columns or self.n_features_in_)
        values = np.linalg.svd(W, compute_uv=False)
        return int(np.sum(values > NEGLIGIBLE * values[0]))
