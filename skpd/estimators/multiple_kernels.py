"""Multiple kernel learning: sums of functions of several kernels, some of which are selected."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from .._compat import StrOptions
from .._typing import Array, Indices, Matrix
from ..designs import KernelMatrix
from ..formulation.formulate import FormulatedProblems
from ..formulation.solve_problems import dual_coef_of
from ..penalties import FunctionOfNorm, GroupL2, Penalty, PowerOfNorm
from .kernel_models import KernelClassifier, KernelModel, KernelRegressor
from .kernel_values import Kernel, centre_of, checked_matrix, gamma_of
from .parameters import declared, shared

Metric = str | Callable[..., Matrix]
KernelEntry = Metric | tuple[Metric, dict[str, float]]  # of the parameter ``kernels``


class KernelWeights(KernelModel):
    """Base class with fitted attributes, which would be parameters in a class of parameters."""

    kernel_weights_: Array
    _kernels: list[Kernel]
    _scales: Array


@shared
class SeveralKernels(KernelWeights):
    """Base class of sums of functions, one for each kernel, with a penalty of their norms."""

    _own_constraints: ClassVar[dict] = {
        "kernels": [StrOptions({"precomputed"}), list, tuple],
        "penalty": [StrOptions({"sum", "half_square"})],
        "scale_kernels": ["boolean"],
    }

    kernels: Literal["precomputed"] | Sequence[KernelEntry] = ("linear", "rbf")
    penalty: Literal["sum", "half_square"] = "sum"
    scale_kernels: bool = True

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernels, str)

    @property
    def _data_options(self) -> dict[str, Any]:
        options = super()._data_options
        return {**options, "allow_nd": True} if self._is_precomputed else options

    def _matrices(self, X: Matrix, weights: Array) -> list[KernelMatrix]:
        if self._is_precomputed:
            if X.ndim != 3 or X.shape[0] != X.shape[1]:
                raise ValueError(
                    "X must have the shape (n_samples, n_samples, n_kernels) for "
                    f"kernels='precomputed', got {X.shape}."
                )
            tables = list(np.moveaxis(X, 2, 0))
            names = [f"kernel {k} of X" for k in range(len(tables))]
            definite = [False] * len(tables)
        else:
            kernels = self._kernels = [_kernel_of(entry, X, weights) for entry in self.kernels]
            if not kernels:
                raise ValueError("kernels must name at least one kernel, got none.")
            tables = [kernel.between(X) for kernel in kernels]
            names = [f"kernels[{k}]" for k in range(len(tables))]
            definite = [kernel.is_definite(X) for kernel in kernels]
        self._scales = np.array([self._scale_of(table, weights) for table in tables])
        scaled = [table / scale for table, scale in zip(tables, self._scales, strict=True)]
        return [checked_matrix(*args) for args in zip(scaled, names, definite, strict=True)]

    def _scale_of(self, table: Array, weights: Array) -> float:
        mean = float(weights @ np.diagonal(table))
        return mean if self.scale_kernels and mean > 0.0 else 1.0

    def _values(self, X: Matrix) -> list[Array]:
        if self._is_precomputed:
            if X.ndim != 3 or X.shape[2] != len(self._scales):
                raise ValueError(
                    "X must have the shape (n_samples, n_training_samples, "
                    f"{len(self._scales)}), got {X.shape}."
                )
            return [X[:, self.support_, k] / scale for k, scale in enumerate(self._scales)]
        values = [kernel.between(X, self.support_vectors_) for kernel in self._kernels]
        return [table / scale for table, scale in zip(values, self._scales, strict=True)]

    def _penalty_of(self, labels: Indices) -> Penalty:
        members = [np.flatnonzero(labels == k) for k in range(int(labels.max()) + 1)]
        norms = GroupL2(groups=members, weights=np.ones(len(members)))
        if self.penalty == "sum":
            return norms
        return FunctionOfNorm(norms, PowerOfNorm(exponent=2.0, scale=0.5))

    def _other_attributes(
        self, solutions: Sequence[Any], fit: FormulatedProblems
    ) -> dict[str, Any]:
        norms = np.stack([solution.model.norms for solution in solutions])
        totals = np.sum(norms, axis=1, keepdims=True)
        weights = np.divide(norms, totals, out=np.zeros_like(norms), where=totals > 0.0)
        weights = weights if len(solutions) > 1 else weights[0]
        return {"dual_coef_": dual_coef_of(solutions, fit), "kernel_weights_": weights}

    def _coefficients_of(self, weights: Array, classes: np.ndarray) -> Array:
        return weights[0] if classes is None else weights


def _kernel_of(entry: KernelEntry, X: Matrix, weights: Array) -> Kernel:
    """The kernel of an entry of ``kernels``, with numbers for its parameters.

    Raises
    ------
    ValueError
        If the entry does not name a kernel.
    """
    metric, parameters = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, {})
    known = callable(metric) or metric in PAIRWISE_KERNEL_FUNCTIONS
    if not (known and isinstance(parameters, dict)):
        raise ValueError(
            "kernels must hold functions or names among "
            f"{sorted(PAIRWISE_KERNEL_FUNCTIONS)}, or pairs of these and a dict of their "
            f"parameters, got {entry!r}."
        )
    if not callable(metric):
        gamma = gamma_of(parameters.get("gamma", "scale"), X, weights)
        parameters = {**parameters, "gamma": gamma}
    return Kernel(metric, parameters, centre_of(metric, X))


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
    {solver_of_kernels}
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


@declared
class MKLRegressor(KernelRegressor, SeveralKernels):
    """Regression with several kernels, of which it selects some, fitted with a certificate.

    Minimises, over a function f_k of the Hilbert space of each kernel and b, the weighted mean of
    the loss of sum_k f_k(x_i) + b plus ``alpha`` times sum_k ||f_k||, or half its square.

    Parameters
    ----------
    {alpha_and_kernels}
    {loss_of_residual}
    {parameters_of_residual_losses}
    {solver_of_kernels}
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
