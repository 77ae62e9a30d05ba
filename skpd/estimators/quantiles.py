"""Linear models of several quantiles of one target, which do not cross on the training data."""

from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np
from sklearn.metrics import d2_pinball_score
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, ArrayLike, MatrixLike, PerRow
from ..formulation.formulate import formulate_outputs
from ..losses import NonCrossingPinball
from ..penalties import Penalty
from .output_parameters import OutputPenaltyName, output_penalty
from .parameters import IterationLimit, WarmStartParameters, WithSolver, declared
from .regression import PdproxRegressor
from .regressor import PrimalDualRegressor


@declared
class QuantilePD(WarmStartParameters, IterationLimit, WithSolver, PrimalDualRegressor):
    """Several quantiles that do not cross on the training data, fitted at once and certified.

    Minimises over W and b, with z_ik = x_i.w_k + b_k, the weighted mean over the samples of
    sum_k pinball_k(z_ik - y_i), plus ``alpha`` times the penalty of W, among all models with
    z_i1 <= z_i2 <= ... for every training sample of positive weight.

    Parameters
    ----------
    quantiles : array-like of shape (n_quantiles,), default=(0.1, 0.5, 0.9)
        The quantiles to estimate, strictly increasing, between 0 and 1.
    alpha : float, default=1e-3
        Weight of the penalty, greater than 0.
    penalty : {"l1", "l2", "l21", "l1inf", "exclusive", "trace", "squared_groups", \
            "squared_outputs"} or Penalty, default="l1"
        For the matrix W of coefficients with a row w^j for each feature: the sum of the Euclidean
        norms of the rows ("l21", which selects the same features for all outputs or classes), of
        their largest sizes ("l1inf"), or of their squared l1 norms ("exclusive", by which outputs
        compete for features); the sum of the singular values ("trace", for a low rank); the square
        of the l2,1 norm ("squared_groups"), or of the sum of the Euclidean norms of the columns
        ("squared_outputs", which selects outputs); for all entries of W the l1 norm ("l1") or half
        the sum of the squares ("l2"). A `Penalty` is one of the rows of W, one after the other.
        Each quantile is an output.
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
        Iterations at most.
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
    coef_ : ndarray of shape (n_quantiles, n_features)
        Coefficients, in the precision of X.
    intercept_ : ndarray of shape (n_quantiles,)
        Intercepts, which are not penalised.
    dual_coef_ : ndarray of shape (n_samples, n_quantiles)
        Dual solution theta: up to the tolerance, a subgradient of a sample's loss with respect
        to its predictions. Where an entry is above ``1 - quantile`` or below ``-quantile``, the
        constraint on the order of the quantiles is active.
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

    Raises
    ------
    ValueError
        In `fit`, if ``quantiles`` are not strictly increasing numbers in (0, 1).

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

    See Also
    --------
    PdproxRegressor : Regression with any loss, such as `skpd.losses.Pinball` for one quantile.
    MultiTaskPD : Models of several targets.

    Notes
    -----
    Every iterate is brought in order before it is certified: its intercepts are raised, one after
    the other, by the most that a quantile is above the next. So the fitted quantiles do not cross
    on the training data even where the fit has not converged.

    Differences of linear functions are linear: quantiles that are in order at all training samples
    are in order everywhere in their convex hull. Outside of it they may cross.

    Intercepts are always fitted. Without them all quantiles would meet at the origin, and where
    the origin is inside the hull of the data, only equal quantiles would not cross.

    References
    ----------
    Bondell, Reich, Wang: Noncrossing quantile regression curve estimation. Biometrika 97, 2010.

    Takeuchi, Le, Sears, Smola: Nonparametric quantile estimation. Journal of Machine Learning
    Research 7, 2006.

    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from skpd import QuantilePD
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuantilePD((0.05, 0.5, 0.95), alpha=0.01).fit(X, y)
    >>> lower, middle, upper = model.predict(X).T
    >>> bool(np.all(lower <= middle) and np.all(middle <= upper))
    True
    >>> print(f"{np.mean((lower <= y) & (y <= upper)):.2f}")
    0.90
    """

    _own_constraints: ClassVar[dict] = {"quantiles": ["array-like"]}

    quantiles: ArrayLike = (0.1, 0.5, 0.9)
    _: KW_ONLY
    alpha: float = 1e-3
    penalty: OutputPenaltyName | Penalty = "l1"

    def _get_loss(self) -> NonCrossingPinball:
        return NonCrossingPinball(self.quantiles)

    def _problems_of(self, X, targets, sample_weight):
        """The one problem of all quantiles."""
        ((y, loss),) = targets
        n_outputs = loss.n_outputs
        penalty = output_penalty(self.penalty, 1.0, X.shape[1], n_outputs)
        # one quantile crosses none, and all methods take the loss of a single output
        used = loss.of_output(0) if n_outputs == 1 else loss
        table = np.repeat(y[:, np.newaxis], n_outputs, axis=1)
        return [formulate_outputs(self._specification(penalty), X, table, sample_weight, used)]

    def predict(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """Predict the quantiles.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_quantiles)
        """
        return self._scores(X, offset)

    def regressor(self, quantile: float) -> PdproxRegressor:
        """The model of one of the quantiles as a fitted regressor, for libraries that want one.

        Parameters
        ----------
        quantile : float
            One of ``quantiles``.

        Returns
        -------
        regressor : PdproxRegressor
            With the coefficients of this quantile; its predictions are that column of `predict`.

        Raises
        ------
        ValueError
            If it is none of ``quantiles``.
        """
        check_is_fitted(self)
        known = self._get_loss().quantiles
        if quantile not in known:
            raise ValueError(f"quantile must be one of {list(known)}, got {quantile!r}.")
        index = list(known).index(quantile)
        single = PdproxRegressor(self.alpha, loss="pinball", quantile=float(quantile))
        single.coef_ = self._dense_coef[index]
        single.intercept_ = self.intercept_[index]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(single, name, getattr(self, name))
        return single

    def _score(self, y: ArrayLike, predicted: Array, weights: PerRow, offset: PerRow) -> float:
        pairs = zip(self._get_loss().quantiles, predicted.T, strict=True)
        scores = [
            d2_pinball_score(y, z, sample_weight=weights, alpha=quantile) for quantile, z in pairs
        ]
        return float(np.mean(scores))
