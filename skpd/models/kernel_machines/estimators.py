"""Kernel machines with any convex loss, fitted with a certificate."""

from collections.abc import Callable
from numbers import Real
from typing import ClassVar, Literal

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from ..._compat import Interval, StrOptions
from ..._typing import Array, Indices, Matrix
from ...estimators.parameters import NOT_NEGATIVE, declared, shared
from ...penalties import Penalty, SquaredL2
from .kernel_models import KernelClassifier, KernelModel, KernelRegressor
from .kernel_values import Kernel, centre_of, checked_matrix, gamma_of
from .matrix import KernelMatrix

KernelName = Literal[
    "additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "precomputed",
    "rbf", "sigmoid",
]  # fmt: skip


@shared
class _OneKernel(KernelModel):
    """Base class of models with a function of the Hilbert space of one kernel."""

    _has_one_kernel: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), NOT_NEGATIVE],
        "degree": [NOT_NEGATIVE],
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


@declared
class KernelPdproxSVC(KernelClassifier, _OneKernel):
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
        A name of `sklearn.metrics.pairwise.pairwise_kernels`; a function of two matrices that
        returns the values between all of their rows, as for `sklearn.svm.SVC`; or
        "precomputed": X then holds the values of the kernel, for `fit` between all pairs of
        training rows, for predictions between rows and all training rows. The kernel must be
        positive semidefinite.
    gamma : {"scale", "auto"} or float, default="scale"
        Parameter of the kernels that have it; "scale" is 1 / (n_features * X.var()), the
        variance with the sample weights, and "auto" 1 / n_features.
    degree : float, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=0.0
        The constant in the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a kernel that is a function.
    loss : str or MarginLoss, default="hinge"
        The loss: "hinge", "squared_hinge", "smoothed_hinge", "generalized_hinge",
        "modified_huber", "logistic", an object of `skpd.losses` such as ``SmoothedHinge(mu=0.1)``,
        or one of a class of your own (`skpd.losses.MarginLoss` describes how).
    solver : {"auto", "pdprox-dual", "pdprox-primal"}, default="auto"
        "auto" is the fastest method known for the problem. The "pdprox" methods are the
        published ones in the features of a factor of the kernel matrices, the paper's update
        (18).
    solver_options : dict, default=None
        Options of a named solver, see `skpd.solvers.published.pdprox`. All take ``output``:
        "algorithm", the default, is what the paper's algorithm returns, with its certificate, and
        "best" the best point of the run.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction.
    max_iter : int, default=50_000
        Iterations at most. An iteration is a Newton step, a pass over the rows or the
        coordinates, or, in a method of gradients, about one product with X and one with its
        transpose.
    fit_intercept : bool, default=True
        Whether to fit an intercept (for each output or class), which is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply ``sample_weight``.
    n_jobs : int, default=None
        Threads over the classes of a one-vs-rest fit.
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        The training rows with a part in the model.
    support_vectors_ : {array, sparse matrix} of shape (n_support, n_features)
        The features of these rows; not there for precomputed kernels.
    n_support_ : ndarray of shape (n_classes,), or (1,) for regression
        The number of these rows in each class.
    support_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        The weights a of these rows, with f = sum_i a_i k(x_i, .).
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss
        with respect to its prediction.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    certificate_ : Certificate
        The interval that holds the optimal objective value. For one-vs-rest a `Certificates`:
        a sequence with one for each class and the attributes, such as ``gap``, of the worst.
    duality_gap_ : float
        Length of that interval; the largest for one-vs-rest.
    relative_gap_ : float
        The largest length of an interval as a share of what could be improved on the best
        constant prediction, compared with ``tol``: 0 is optimal, and 1 means that nothing was
        learnt.
    gap_history_ : structured ndarray, or list of them for one-vs-rest
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
    KernelPdproxRegressor : Regression with a kernel.
    MKLClassifier : Classifier with several kernels.
    PdproxSVC : Linear classifier with any margin loss and any penalty.

    Notes
    -----
    K is the kernel matrix as scikit-learn computes it, in float64; it takes 8 n_samples^2 bytes.
    With more than 2,000 samples and the kernels "rbf", "linear", "poly" and "cosine" its rows are
    computed when the method needs them, so that those of many samples that are no support vectors
    are never computed.

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
    >>> print(f"{clf.certificate_.primal:.4f}, no model below {clf.certificate_.dual:.4f}")
    0.1915, no model below 0.1915
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
    alpha : float, default=1e-3
        Weight of half the squared norm beside the *mean* loss, greater than 0.
    kernel : str or callable, default="rbf"
        A name of `sklearn.metrics.pairwise.pairwise_kernels`; a function of two matrices that
        returns the values between all of their rows, as for `sklearn.svm.SVC`; or
        "precomputed": X then holds the values of the kernel, for `fit` between all pairs of
        training rows, for predictions between rows and all training rows. The kernel must be
        positive semidefinite.
    gamma : {"scale", "auto"} or float, default="scale"
        Parameter of the kernels that have it; "scale" is 1 / (n_features * X.var()), the
        variance with the sample weights, and "auto" 1 / n_features.
    degree : float, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=0.0
        The constant in the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a kernel that is a function.
    loss : str or ResidualLoss, default="absolute"
        The loss: "absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber",
        "pinball", "squared", an object of `skpd.losses`, or one of a class of your own
        (`skpd.losses.ResidualLoss` describes how). "squared" carries the factor 1/2, as in
        `Lasso`.
    quantile : float, default=None
        The quantile of the loss "pinball", in (0, 1); 0.5 by default.
    epsilon : float, default=None
        Half the width of the tube of "epsilon_insensitive" and "squared_epsilon_insensitive",
        at least 0, in the unit of y; 0.1 by default.
    delta : float, default=None
        The residual beyond which the loss "huber" is linear, greater than 0, in the unit of y;
        1.35 by default.
    solver : {"auto", "pdprox-dual", "pdprox-primal"}, default="auto"
        "auto" is the fastest method known for the problem. The "pdprox" methods are the
        published ones in the features of a factor of the kernel matrices, the paper's update
        (18).
    solver_options : dict, default=None
        Options of a named solver, see `skpd.solvers.published.pdprox`. All take ``output``:
        "algorithm", the default, is what the paper's algorithm returns, with its certificate, and
        "best" the best point of the run.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction. Where
        the objective is small, a fit also goes on until the gap is at most 100 ``tol`` of it.
    max_iter : int, default=50_000
        Iterations at most. An iteration is a Newton step, a pass over the rows or the
        coordinates, or, in a method of gradients, about one product with X and one with its
        transpose.
    fit_intercept : bool, default=True
        Whether to fit an intercept (for each output or class), which is not penalised.
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        The training rows with a part in the model.
    support_vectors_ : {array, sparse matrix} of shape (n_support, n_features)
        The features of these rows; not there for precomputed kernels.
    n_support_ : ndarray of shape (n_classes,), or (1,) for regression
        The number of these rows in each class.
    support_coef_ : ndarray of shape (n_support,)
        The weights a of these rows, with f = sum_i a_i k(x_i, .).
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
    MKLRegressor : Regression with several kernels.
    KernelPdproxSVC : Classifier with a kernel; its notes describe the kernel matrix.

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

    alpha: float = 1e-3
