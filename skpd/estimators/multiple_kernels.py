"""Multiple kernel learning: sums of functions of several kernels, which it weighs and selects."""

from typing import ClassVar

import numpy as np

from ..losses import MarginLoss, ResidualLoss
from .kernel_models import KernelClassifier, KernelRegressor
from .kernel_sums import KernelList, SeveralKernels

__all__ = ["MKLClassifier", "MKLRegressor"]


class MKLClassifier(SeveralKernels, KernelClassifier):
    """Classifier with several kernels, of which it selects some, fitted with a certificate.

    Minimises, over a function f_k of the Hilbert space of each kernel and b, the weighted mean of
    the loss of sum_k f_k(x_i) + b plus ``alpha`` times sum_k ||f_k||, or half its square. More
    than two classes are handled one-vs-rest.

    Parameters
    ----------
    alpha : float, default=1e-2
        Weight of the penalty beside the *mean* loss, greater than 0.
    kernels : list or "precomputed", default=("linear", "rbf")
        The kernels. Each is a name of `sklearn.metrics.pairwise.pairwise_kernels`, a function of
        two rows, or a pair of one of these and a dict of its parameters, such as
        ``("rbf", {"gamma": 0.1})``; gamma is "scale" by default, as for `KernelPdproxSVC`.
        With "precomputed" X holds the values of all kernels, in the shape (n_samples,
        n_training_samples, n_kernels). All must be positive semidefinite.
    penalty : {"sum", "half_square"}, default="sum"
        The sum of the norms of the functions, or half its square. Both have the same models, for
        different alpha, and leave kernels out.
    scale_kernels : bool, default=True
        Whether each kernel is divided by its mean value k(x_i, x_i) at the training rows, so that
        the norms of functions are comparable.
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
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        The norms ||f_k|| over their sum: how much each kernel counts; 0 for those left out.
    support_ : ndarray of shape (n_support,)
        The training rows with a part in the model.
    support_vectors_ : {array, sparse matrix} of shape (n_support, n_features)
        These rows; not there for kernels="precomputed".
    support_coef_ : ndarray of shape (n_outputs, n_kernels, n_support)
        Their weights a, f_k = sum_i a_ki k_k(x_i, .).
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
    KernelPdproxSVC : The same with one kernel, with notes on the kernel matrix.

    References
    ----------
    Bach, Lanckriet, Jordan: Multiple kernel learning, conic duality, and the SMO algorithm.
    ICML 2004.

    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015, section 4.5.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skpd import MKLClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = MKLClassifier(kernels=["linear", ("rbf", {"gamma": 2.0})]).fit(X, y)
    >>> clf.certificate_.relative_gap <= clf.tol
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **KernelClassifier._parameter_constraints,
        **SeveralKernels._parameter_constraints,
    }

    def __init__(
        self,
        alpha: float = 1e-2,
        *,
        kernels: KernelList = ("linear", "rbf"),
        penalty: str = "sum",
        scale_kernels: bool = True,
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
        self.kernels = kernels
        self.penalty = penalty
        self.scale_kernels = scale_kernels
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class MKLRegressor(SeveralKernels, KernelRegressor):
    """Regression with several kernels, of which it selects some, fitted with a certificate.

    Minimises, over a function f_k of the Hilbert space of each kernel and b, the weighted mean of
    the loss of sum_k f_k(x_i) + b plus ``alpha`` times sum_k ||f_k||, or half its square.

    Parameters
    ----------
    alpha : float, default=1e-2
        Weight of the penalty beside the *mean* loss, greater than 0.
    kernels : list or "precomputed", default=("linear", "rbf")
        The kernels. Each is a name of `sklearn.metrics.pairwise.pairwise_kernels`, a function of
        two rows, or a pair of one of these and a dict of its parameters, such as
        ``("rbf", {"gamma": 0.1})``; gamma is "scale" by default, as for `KernelPdproxSVC`.
        With "precomputed" X holds the values of all kernels, in the shape (n_samples,
        n_training_samples, n_kernels). All must be positive semidefinite.
    penalty : {"sum", "half_square"}, default="sum"
        The sum of the norms of the functions, or half its square. Both have the same models, for
        different alpha, and leave kernels out.
    scale_kernels : bool, default=True
        Whether each kernel is divided by its mean value k(x_i, x_i) at the training rows, so that
        the norms of functions are comparable.
    loss : {"absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", \
            "pinball", "squared"} or ResidualLoss, default="absolute"
        The loss; a name or an object of `skpd.losses`. "squared" carries the factor 1/2.
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
    kernel_weights_ : ndarray of shape (n_kernels,)
        The norms ||f_k|| over their sum: how much each kernel counts; 0 for those left out.
    support_ : ndarray of shape (n_support,)
        The training rows with a part in the model.
    support_vectors_ : {array, sparse matrix} of shape (n_support, n_features)
        These rows; not there for kernels="precomputed".
    support_coef_ : ndarray of shape (n_kernels, n_support)
        Their weights a, f_k = sum_i a_ki k_k(x_i, .).
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
    KernelPdproxRegressor : The same with one kernel.
    MKLClassifier : The same for classes.

    References
    ----------
    Bach, Lanckriet, Jordan: Multiple kernel learning, conic duality, and the SMO algorithm.
    ICML 2004.

    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015, section 4.5.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import MKLRegressor
    >>> X = np.linspace(0, 6, 100)[:, np.newaxis]
    >>> y = X[:, 0] + np.sin(3.0 * X[:, 0])
    >>> kernels = ["linear", ("rbf", {"gamma": 2.0}), ("rbf", {"gamma": 200.0})]
    >>> model = MKLRegressor(kernels=kernels, loss="squared").fit(X, y)
    >>> model.kernel_weights_[2] < 0.01  # the last kernel is not needed
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **KernelRegressor._parameter_constraints,
        **SeveralKernels._parameter_constraints,
    }

    def __init__(
        self,
        alpha: float = 1e-2,
        *,
        kernels: KernelList = ("linear", "rbf"),
        penalty: str = "sum",
        scale_kernels: bool = True,
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
        self.kernels = kernels
        self.penalty = penalty
        self.scale_kernels = scale_kernels
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.delta = delta
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.verbose = verbose
