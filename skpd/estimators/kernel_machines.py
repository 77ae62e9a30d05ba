"""Kernel machines with any convex loss, fitted with a certificate."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import Array
from ..designs import KernelMatrix
from ..losses import MarginLoss, ResidualLoss
from ..penalties import Penalty, SquaredL2
from .kernel_models import KernelClassifier, KernelModel, KernelRegressor
from .kernel_values import Kernel, checked_matrix, gamma_of

__all__ = ["KernelPdproxRegressor", "KernelPdproxSVC"]


class _OneKernel(KernelModel):
    """A function of the Hilbert space of one kernel, with half its squared norm as penalty."""

    _parameter_constraints: ClassVar[dict] = {
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, np.inf, closed="left")],
        "degree": [Interval(Real, 0, np.inf, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
    }

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _matrices(self, X: Any, weights: Array) -> list[KernelMatrix]:
        if self._is_precomputed:
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "X must be a square matrix for kernel='precomputed', the kernel between all "
                    f"pairs of training rows, got the shape {X.shape}."
                )
            return [checked_matrix(X.copy(), "kernel='precomputed'")]
        if isinstance(self.kernel, str):
            self._gamma = gamma_of(self.gamma, X, weights)
        return [self._kernel.matrix(X)]

    @property
    def _kernel(self) -> Kernel:
        if not isinstance(self.kernel, str):
            return Kernel(self.kernel, self.kernel_params or {})
        own = {"gamma": self._gamma, "degree": self.degree, "coef0": self.coef0}
        return Kernel(self.kernel, own)

    def _values(self, X: Any) -> list[Array]:
        if self._is_precomputed:
            return [X[:, self.support_]]
        return [self._kernel.between(X, self.support_vectors_)]

    def _penalty_of(self, labels: Array) -> Penalty:
        return SquaredL2()

    def _coefficients_of(self, weights: Array, classes: Any) -> Array:
        return weights[0, 0] if classes is None else weights[:, 0]


class KernelPdproxSVC(_OneKernel, KernelClassifier):
    """Classifier with a kernel and any margin loss, fitted with a certificate.

    Minimises, over the functions f of the Hilbert space of the kernel and b, the weighted mean of
    the loss of f(x_i) + b plus ``alpha / 2 ||f||^2``. With the hinge loss this is the model of
    `sklearn.svm.SVC` with C = 1 / (alpha n_samples). More than two classes are handled
    one-vs-rest.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of half the squared norm beside the *mean* loss, greater than 0.
    kernel : str or callable, default="rbf"
        A name of `sklearn.metrics.pairwise.pairwise_kernels`; a function of two rows; or
        "precomputed": X then holds the values of the kernel, for `fit` between all pairs of
        training rows, for predictions between rows and all training rows. It must be positive
        semidefinite.
    gamma : {"scale", "auto"} or float, default="scale"
        Parameter of the kernels that have it; "scale" is 1 / (n_features * X.var()), the variance
        with the sample weights, and "auto" 1 / n_features.
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        The constant in the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a kernel that is a function.
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "generalized_hinge", \
            "modified_huber", "logistic"} or MarginLoss, default="hinge"
        The loss; a name or an object of `skpd.losses`.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=50_000
        Iterations at most: Newton steps, or passes over the rows.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply ``sample_weight``.
    n_jobs : int, default=None
        Threads over the classes of a one-vs-rest fit.
    random_state : int, RandomState instance or None, default=None
        The order of rows in dual coordinate descent.
    verbose : int, default=0
        As for `PdproxSVC`.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        The training rows with a part in the model.
    support_vectors_ : {array, sparse matrix} of shape (n_support, n_features)
        These rows; not there for kernel="precomputed".
    support_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Their weights a, f = sum_i a_i k(x_i, .).
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss
        with respect to its prediction.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    certificate_ : Certificate, or list of them for one-vs-rest
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval; the largest for one-vs-rest.
    relative_gap_ : float
        The same over the objective of the best constant prediction: what ``tol`` bounds.
    gap_history_ : structured ndarray, or list of them for one-vs-rest
        The best interval over time, as for `PdproxSVC`.
    solver_ : str, or list of them for one-vs-rest
        The method that finished (`skpd.solvers.select`).
    converged_ : bool
        Whether the relative gap reached ``tol``.
    n_iter_ : int
        Iterations; the most of any class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; it says why, and what to try.

    See Also
    --------
    MKLClassifier : The same with several kernels.
    PdproxSVC : Linear classifiers.

    Notes
    -----
    K is the kernel matrix as scikit-learn computes it, in float64. The norm is that of K with its
    diagonal raised: by n_samples units of rounding, or by 20 times that, so that rounding errors
    leave it positive definite; where a "precomputed" matrix, or that of a function, needs it, by
    up to 2e-6. Predictions are made with K itself. What is added is twice what makes K positive
    semidefinite, with which the interval of the certificate holds the optimum of K where K is
    positive semidefinite, and the objective value is never below that of the function that
    predicts. It widens the interval, by more the smaller ``alpha`` is. A matrix takes
    8 n_samples^2 bytes. With losses that are linear or parabolas in pieces, sequential minimal
    optimisation moves two rows at a time, chosen by second-order information; an iteration is as
    many of its steps as there are rows. Else, or where that takes long, a solver works with a
    factor of low rank by the Cholesky decomposition with pivots; lower bounds do not depend on
    it.

    References
    ----------
    Fan, Chen, Lin: Working set selection using second order information for training support
    vector machines. Journal of Machine Learning Research 6, 2005.

    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015, section 4.5.

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

    _parameter_constraints: ClassVar[dict] = {
        **KernelClassifier._parameter_constraints,
        **_OneKernel._parameter_constraints,
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        kernel: str | Callable[..., float] = "rbf",
        gamma: str | float = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        loss: str | MarginLoss = "hinge",
        tol: float = 1e-4,
        max_iter: int = 50_000,
        fit_intercept: bool = True,
        class_weight: dict | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class KernelPdproxRegressor(_OneKernel, KernelRegressor):
    """Robust, quantile or least-squares regression with a kernel, fitted with a certificate.

    Minimises, over the functions f of the Hilbert space of the kernel and b, the weighted mean of
    the loss of f(x_i) + b plus ``alpha / 2 ||f||^2``. With the loss "epsilon_insensitive" this is
    the model of `sklearn.svm.SVR` with C = 1 / (alpha n_samples).

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of half the squared norm beside the *mean* loss, greater than 0.
    kernel : str or callable, default="rbf"
        A name of `sklearn.metrics.pairwise.pairwise_kernels`; a function of two rows; or
        "precomputed": X then holds the values of the kernel, for `fit` between all pairs of
        training rows, for predictions between rows and all training rows. It must be positive
        semidefinite.
    gamma : {"scale", "auto"} or float, default="scale"
        Parameter of the kernels that have it; "scale" is 1 / (n_features * X.var()), the variance
        with the sample weights, and "auto" 1 / n_features.
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        The constant in the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a kernel that is a function.
    loss : {"absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", \
            "pinball", "squared"} or ResidualLoss, default="absolute"
        The loss; a name or an object of `skpd.losses`. "squared", with the factor 1/2, makes it
        kernel ridge regression, with an intercept.
    quantile : float, default=None
        The quantile of the loss "pinball", in (0, 1); 0.5 by default.
    epsilon : float, default=None
        Half the width of the tube of "epsilon_insensitive" and "squared_epsilon_insensitive", at
        least 0, in the unit of y; 0.1 by default.
    delta : float, default=None
        The residual beyond which the loss "huber" is linear, greater than 0, in the unit of y;
        1.35 by default.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=50_000
        Iterations at most: Newton steps, or passes over the rows.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    random_state : int, RandomState instance or None, default=None
        The order of rows in dual coordinate descent.
    verbose : int, default=0
        As for `PdproxSVC`.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        The training rows with a part in the model.
    support_vectors_ : {array, sparse matrix} of shape (n_support, n_features)
        These rows; not there for kernel="precomputed".
    support_coef_ : ndarray of shape (n_support,)
        Their weights a, f = sum_i a_i k(x_i, .).
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss
        with respect to its prediction.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        The same over the objective of the best constant prediction: what ``tol`` bounds.
    gap_history_ : structured ndarray
        The best interval over time, as for `PdproxSVC`.
    solver_ : str
        The method that finished (`skpd.solvers.select`).
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
    UserWarning
        If all coefficients are 0; it says why, and what to try.

    See Also
    --------
    MKLRegressor : The same with several kernels.
    KernelPdproxSVC : The same for classes, with notes on the kernel matrix.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015, section 4.5.

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

    _parameter_constraints: ClassVar[dict] = {
        **KernelRegressor._parameter_constraints,
        **_OneKernel._parameter_constraints,
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        kernel: str | Callable[..., float] = "rbf",
        gamma: str | float = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        loss: str | ResidualLoss = "absolute",
        quantile: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        tol: float = 1e-4,
        max_iter: int = 50_000,
        fit_intercept: bool = True,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.delta = delta
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.verbose = verbose
