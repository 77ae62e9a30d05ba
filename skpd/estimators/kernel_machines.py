"""Kernel machines with any convex loss, fitted with a certificate."""

from collections.abc import Callable
from numbers import Real
from typing import ClassVar, Literal

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from .._compat import Interval, StrOptions
from .._typing import Array, Indices, Matrix
from ..designs import KernelMatrix
from ..penalties import Penalty, SquaredL2
from .kernel_models import KernelClassifier, KernelModel, KernelRegressor
from .kernel_values import Kernel, centre_of, checked_matrix, gamma_of
from .parameters import declared, shared

KernelName = Literal[
    "additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "precomputed",
    "rbf", "sigmoid",
]  # fmt: skip


@shared
class _OneKernel(KernelModel):
    """Base class of models with a function of the Hilbert space of one kernel."""

    _own_constraints: ClassVar[dict] = {
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, np.inf, closed="left")],
        "degree": [Interval(Real, 0, np.inf, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
    }

    kernel: KernelName | Callable[..., Matrix] = "rbf"
    gamma: Literal["scale", "auto"] | float = "scale"
    degree: float = 3
    coef0: float = 0.0
    kernel_params: dict[str, float] | None = None

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _matrices(self, X: Matrix, weights: Array) -> list[KernelMatrix]:
        if self._is_precomputed:
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "X must be a square matrix for kernel='precomputed', the kernel between all "
                    f"pairs of training rows, got the shape {X.shape}."
                )
            return [checked_matrix(X.copy(), "kernel='precomputed'")]
        if isinstance(self.kernel, str):
            self._gamma = gamma_of(self.gamma, X, weights)
            self._centre = centre_of(self.kernel, X)
        return [self._kernel.matrix(X)]

    @property
    def _kernel(self) -> Kernel:
        if not isinstance(self.kernel, str):
            return Kernel(self.kernel, self.kernel_params or {})
        parameters = {"gamma": self._gamma, "degree": self.degree, "coef0": self.coef0}
        return Kernel(self.kernel, parameters, self._centre)

    def _values(self, X: Matrix) -> list[Array]:
        if self._is_precomputed:
            return [X[:, self.support_]]
        return [self._kernel.between(X, self.support_vectors_)]

    @property
    def coef_(self) -> Array:  # type: ignore[override]
        """The coefficients of the features, of shape (1 or n_classes, n_features).

        They exist for the kernel "linear" only.
        """
        if self.kernel != "linear":
            raise AttributeError(f"coef_ needs kernel='linear', got kernel={self.kernel!r}.")
        return np.atleast_2d(self.support_coef_) @ self.support_vectors_

    def _penalty_of(self, labels: Indices) -> Penalty:
        return SquaredL2()

    def _coefficients_of(self, weights: Array, classes: np.ndarray) -> Array:
        return weights[0, 0] if classes is None else weights[:, 0]


@declared
class KernelPdproxSVC(KernelClassifier, _OneKernel):
    """Classifier with a kernel and any margin loss, fitted with a certificate.

    Minimises, over the functions f of the Hilbert space of the kernel and b, the weighted mean of
    the loss of f(x_i) + b plus ``alpha / 2 ||f||^2``. With the hinge loss this is the model of
    `sklearn.svm.SVC` with C = 1 / (alpha n_samples). More than two classes are handled
    one-vs-rest.

    Parameters
    ----------
    {alpha_and_kernel}
    {loss_of_margin}
    {solver_of_kernels}
    {tol_max_iter_and_fit_intercept}
    {class_weight}
    {n_jobs}
    {random_state_and_verbose}

    Attributes
    ----------
    {support}
    support_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        The weights a of these rows, with f = sum_i a_i k(x_i, .).
    {intercepts_and_dual_coef}
    {classes_and_certificates}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    KernelPdproxRegressor : Regression with a kernel.
    MKLClassifier : Classifier with several kernels.
    PdproxSVC : Linear classifier with any margin loss and any penalty.

    Notes
    -----
    K is the kernel matrix as scikit-learn computes it, in float64; it takes 8 n_samples^2 bytes.
    The norm is that of K with its diagonal raised: by n_samples units of rounding, or by 20 times
    as much, so that the matrix is positive definite in spite of rounding errors; where a
    "precomputed" matrix, or that of a function, needs more, by up to 2e-6. Predictions are made
    with K itself. The diagonal is raised by twice what makes K positive semidefinite: then the
    interval of the certificate holds the optimum of K where K is positive semidefinite, and the
    objective value is never below that of the function that predicts. The raised diagonal widens
    the interval, the more the smaller ``alpha`` is.

    With losses that are linear or parabolas in pieces, sequential minimal optimisation changes two
    dual variables at a time, chosen by second-order information; an iteration is as many of its
    steps as there are rows. For other losses, or where this takes long, a solver works with a
    factor of low rank by the Cholesky decomposition with pivots; lower bounds do not depend on
    the factor.

    References
    ----------
    Fan, Chen, Lin: Working set selection using second order information for training support
    vector machines. Journal of Machine Learning Research 6, 2005.

    {pdprox_paper_on_kernels}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skpd import KernelPdproxSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = KernelPdproxSVC(alpha=0.005).fit(X, y)
    >>> print(f"{clf.score(X, y):.2f}")
    0.94
    >>> clf.certificate_.relative_gap <= clf.tol
    True
    """

    alpha: float = 1e-3


@declared
class KernelPdproxRegressor(KernelRegressor, _OneKernel):
    """Robust, quantile or least-squares regression with a kernel, fitted with a certificate.

    Minimises, over the functions f of the Hilbert space of the kernel and b, the weighted mean of
    the loss of f(x_i) + b plus ``alpha / 2 ||f||^2``. With the loss "epsilon_insensitive" this is
    the model of `sklearn.svm.SVR` with C = 1 / (alpha n_samples); with the loss "squared" it is
    kernel ridge regression with an intercept.

    Parameters
    ----------
    {alpha_and_kernel}
    {loss_of_residual}
    {parameters_of_residual_losses}
    {solver_of_kernels}
    {tol_max_iter_and_fit_intercept}
    {random_state_and_verbose}

    Attributes
    ----------
    {support}
    support_coef_ : ndarray of shape (n_support,)
        The weights a of these rows, with f = sum_i a_i k(x_i, .).
    {intercept_and_dual_coef}
    {certificate}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    MKLRegressor : Regression with several kernels.
    KernelPdproxSVC : Classifier with a kernel; its notes describe the kernel matrix.

    References
    ----------
    {pdprox_paper_on_kernels}

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import KernelPdproxRegressor
    >>> X = np.linspace(0, 6, 100)[:, np.newaxis]
    >>> y = np.sin(X[:, 0])
    >>> y[::10] += 5.0  # outliers
    >>> model = KernelPdproxRegressor(alpha=1e-4, gamma=1.0).fit(X, y)
    >>> print(f"{np.median(np.abs(model.predict(X) - np.sin(X[:, 0]))):.3f}")
    0.000
    """

    alpha: float = 1e-3
