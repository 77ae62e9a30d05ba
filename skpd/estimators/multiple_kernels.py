"""Multiple kernel learning: sums of functions of several kernels, some of which are selected."""

from dataclasses import KW_ONLY

from .kernel_models import KernelClassifier, KernelRegressor
from .kernel_sums import SeveralKernels
from .parameters import declared


@declared
class MKLClassifier(KernelClassifier, SeveralKernels):
    """Classifier with several kernels, of which it selects some, fitted with a certificate.

    Minimises, over a function f_k of the Hilbert space of each kernel and b, the weighted mean of
    the loss of sum_k f_k(x_i) + b plus ``alpha`` times sum_k ||f_k||, or half its square. More
    than two classes are handled one-vs-rest.

    Parameters
    ----------
    {alpha_and_kernels}
    {loss_of_margin}
    {tol_max_iter_and_fit_intercept}
    {class_weight}
    n_jobs : int, default=None
        Threads over the classes of a one-vs-rest fit.
    {random_state_and_verbose}

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        The norms ||f_k|| over their sum: the share of each kernel, 0 where it is left out.
    {support}
    {intercepts_and_dual_coef}
    support_coef_ : ndarray of shape (n_outputs, n_kernels, n_support)
        The weights a of the rows in ``support_``, with f_k = sum_i a_ki k_k(x_i, .).
    {classes_and_certificates}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    KernelPdproxSVC : Classifier with one kernel; its notes describe the kernel matrix.
    MKLRegressor : Regression with several kernels.

    References
    ----------
    {multiple_kernel_papers}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skpd import MKLClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = MKLClassifier(kernels=["linear", ("rbf", {"gamma": 2.0})]).fit(X, y)
    >>> clf.certificate_.relative_gap <= clf.tol
    True
    """

    alpha: float = 1e-2
    _: KW_ONLY


@declared
class MKLRegressor(KernelRegressor, SeveralKernels):
    """Regression with several kernels, of which it selects some, fitted with a certificate.

    Minimises, over a function f_k of the Hilbert space of each kernel and b, the weighted mean of
    the loss of sum_k f_k(x_i) + b plus ``alpha`` times sum_k ||f_k||, or half its square.

    Parameters
    ----------
    {alpha_and_kernels}
    loss : {"absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", \
            "pinball", "squared"} or ResidualLoss, default="absolute"
        The loss; a name or an object of `skpd.losses`. "squared" carries the factor 1/2.
    {parameters_of_residual_losses}
    {tol_max_iter_and_fit_intercept}
    {random_state_and_verbose}

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
        The norms ||f_k|| over their sum: the share of each kernel, 0 where it is left out.
    {support}
    {intercept_and_dual_coef}
    support_coef_ : ndarray of shape (n_kernels, n_support)
        The weights a of the rows in ``support_``, with f_k = sum_i a_ki k_k(x_i, .).
    {certificate}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    KernelPdproxRegressor : Regression with one kernel.
    MKLClassifier : Classifier with several kernels.

    References
    ----------
    {multiple_kernel_papers}

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

    alpha: float = 1e-2
    _: KW_ONLY
