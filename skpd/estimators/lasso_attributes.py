"""Attributes and methods of scikit-learn's Lasso and ElasticNet beside `fit` and `predict`."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from .._compat import Interval
from .._typing import Array, ArrayLike
from ..losses import Squared
from .docstrings import documented
from .path import path as follow_path
from .regressor import PrimalDualRegressor


class LassoAttributes:
    """Mixin with fitted attributes under their names in scikit-learn."""

    certificate_: Any

    @property
    def dual_gap_(self) -> Any:
        """Alias of ``duality_gap_``; with several targets an array of shape (n_targets,)."""
        several = isinstance(self.certificate_, list)
        return np.array([c.gap for c in self.certificate_]) if several else self.certificate_.gap

    @property
    def sparse_coef_(self) -> sp.csr_array:
        """Sparse array of ``coef_``, of shape (1, n_features) or (n_targets, n_features)."""
        return sp.csr_array(self._coef_rows)  # type: ignore[attr-defined]


class LassoLike(LassoAttributes, PrimalDualRegressor):
    """Base class of least squares with penalised coefficients, for each of several targets."""

    _takes_outputs: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {"alpha": [Interval(Real, 0, np.inf, closed="left")]}

    @documented
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:  # fmt: skip
        """Fit the model and certify it.

        {X_of_fit}
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; with a column for each of several.
        {sample_weight_of_fit}
        check_input : bool, default=True
            Ignored, there for compatibility with scikit-learn: the data are always checked.

        {results_of_fit}
        """
        return super().fit(X, y, sample_weight)

    def _get_loss(self) -> Squared:
        return Squared()

    @classmethod
    def path(
        cls, X: Any, y: ArrayLike, *, eps: float = 1e-3, alphas: int | ArrayLike = 100,
        return_n_iter: bool = False, check_input: bool = True, **params: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        """Coefficients for many alphas without an intercept, as by scikit-learn's `lasso_path`.

        The function `skpd.path` returns models with intercepts and certificates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        eps : float, default=1e-3
            Ratio of the smallest to the largest alpha, where ``alphas`` is a number.
        alphas : int or array-like of shape (n_alphas,), default=100
            Values of alpha, greater than 0, or their number.
        return_n_iter : bool, default=False
            Whether to return the numbers of iterations as well.
        check_input : bool, default=True
            Ignored, there for compatibility with scikit-learn.
        **params : dict
            Other parameters of the estimator, such as ``positive`` or ``tol``.

        Returns
        -------
        alphas : ndarray of shape (n_alphas,)
            Decreasing.
        coefs : ndarray of shape (n_features, n_alphas), or (n_targets, n_features, n_alphas)
        dual_gaps : ndarray of shape (n_alphas,), or (n_targets, n_alphas)
            The lengths of the certified intervals.
        n_iters : ndarray of int, of the same shape
            Only with ``return_n_iter``.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from skpd import LassoPDCertified
        >>> alphas, coefs, dual_gaps = LassoPDCertified.path(*load_diabetes(return_X_y=True))
        >>> coefs.shape
        (10, 100)
        """
        found = follow_path(cls(fit_intercept=False, **params), X, y, alphas=alphas, eps=eps)
        gaps = np.vectorize(lambda certificate: certificate.gap, [float])(found.certificates)
        coefs, gaps, n_iters = (np.moveaxis(a, 0, -1) for a in (found.coefs, gaps, found.n_iters))
        return (found.alphas, coefs, gaps, n_iters)[: 4 if return_n_iter else 3]
