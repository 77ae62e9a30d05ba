"""Multiple kernel learning: sums of functions of several kernels, some of which are selected."""

from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar, Literal

import numpy as np

from ..._compat import StrOptions
from ..._typing import Array, Indices, Matrix
from ...estimators.parameters import declared, shared
from ...penalties import FunctionOfNorm, GroupL2, Penalty
from ...penalties.increasing_functions import PowerOfNorm
from .kernel_models import KernelClassifier, KernelModel, KernelRegressor
from .kernel_values import Kernel, KernelEntry, RowsOfKernel, checked_matrix, kernel_of
from .matrix import KernelMatrix


class KernelWeights(KernelModel):
    """Base class with fitted attributes, which would be parameters in a class of parameters."""

    kernel_weights_: Array
    _kernels: list[Kernel]
    _scales: Array


@shared
class SeveralKernels(KernelWeights):
    """Base class of sums of functions, one for each kernel, with a penalty of their norms."""

    _own_constraints: ClassVar[dict] = {"kernels": [StrOptions({"precomputed"}), list, tuple]}

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
            definite, errors = [False] * len(tables), [inf] * len(tables)
        else:
            kernels = self._kernels = [kernel_of(entry, X, weights) for entry in self.kernels]
            if not kernels:
                raise ValueError("kernels must name at least one kernel, got none.")
            tables = [kernel.between(X) for kernel in kernels]
            names = [f"kernels[{k}]" for k in range(len(tables))]
            definite = [kernel.is_definite(X) for kernel in kernels]
            errors = [RowsOfKernel(kernel, X).error for kernel in kernels]
        means = [float(weights @ np.diagonal(table)) for table in tables]
        self._scales = np.array(
            [mean if self.scale_kernels and mean > 0.0 else 1.0 for mean in means]
        )
        scaled = [table / scale for table, scale in zip(tables, self._scales, strict=True)]
        parts = zip(scaled, names, definite, errors, strict=True)
        return [checked_matrix(*part) for part in parts]

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

    def _other_attributes(self, solutions, fit) -> dict[str, Any]:
        norms = np.stack([solution.model.norms for solution in solutions])
        totals = np.sum(norms, axis=1, keepdims=True)
        weights = np.divide(norms, totals, out=np.zeros_like(norms), where=totals > 0.0)
        weights = weights if len(solutions) > 1 else weights[0]
        return super()._other_attributes(solutions, fit) | {"kernel_weights_": weights}


@declared
class MKLClassifier(KernelClassifier, SeveralKernels):
    """Classifier with several kernels, of which it selects some, fitted with a certificate.

    Minimises, over a function f_k of the Hilbert space of each kernel and b, the weighted mean of
    the loss of sum_k f_k(x_i) + b plus ``alpha`` times sum_k ||f_k||, or half its square. More
    than two classes are handled one-vs-rest.

    Parameters
    ----------
    alpha : float, default=1e-2
        Weight of the penalty beside the *mean* loss, greater than 0.
    kernels : list or "precomputed", default=("linear", "rbf")
        The kernels. Each is a name of `sklearn.metrics.pairwise.pairwise_kernels`, a function
        of two matrices that returns the values between all of their rows, or a pair of one of
        these and a dict of its parameters, such as ``("rbf", {"gamma": 0.1})``; gamma is
        "scale" by default, as for `KernelPdproxSVC`. With "precomputed" X holds the values of
        all kernels, in the shape (n_samples, n_training_samples, n_kernels). All must be
        positive semidefinite.
    penalty : {"sum", "half_square"}, default="sum"
        The sum of the norms of the functions, or half its square. Both have the same models,
        for different alpha, and leave kernels out.
    scale_kernels : bool, default=True
        Whether each kernel is divided by its mean value k(x_i, x_i) at the training rows, so
        that the norms of functions are comparable.
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
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        The norms ||f_k|| over their sum: the share of each kernel, 0 where it is left out.
    support_ : ndarray of shape (n_support,)
        The training rows with a part in the model.
    support_vectors_ : {array, sparse matrix} of shape (n_support, n_features)
        The features of these rows; not there for precomputed kernels.
    n_support_ : ndarray of shape (n_classes,), or (1,) for regression
        The number of these rows in each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss
        with respect to its prediction.
    support_coef_ : ndarray of shape (n_outputs, n_kernels, n_support)
        The weights a of the rows in ``support_``, with f_k = sum_i a_ki k_k(x_i, .).
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
    KernelPdproxSVC : Classifier with one kernel; its notes describe the kernel matrix.
    MKLRegressor : Regression with several kernels.

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
    >>> print(f"{clf.certificate_.primal:.4f}, no model below {clf.certificate_.dual:.4f}")
    0.1335, no model below 0.1335
    """

    alpha: float = 1e-2


@declared
class MKLRegressor(KernelRegressor, SeveralKernels):
    """Regression with several kernels, of which it selects some, fitted with a certificate.

    Minimises, over a function f_k of the Hilbert space of each kernel and b, the weighted mean of
    the loss of sum_k f_k(x_i) + b plus ``alpha`` times sum_k ||f_k||, or half its square.

    Parameters
    ----------
    alpha : float, default=1e-2
        Weight of the penalty beside the *mean* loss, greater than 0.
    kernels : list or "precomputed", default=("linear", "rbf")
        The kernels. Each is a name of `sklearn.metrics.pairwise.pairwise_kernels`, a function
        of two matrices that returns the values between all of their rows, or a pair of one of
        these and a dict of its parameters, such as ``("rbf", {"gamma": 0.1})``; gamma is
        "scale" by default, as for `KernelPdproxSVC`. With "precomputed" X holds the values of
        all kernels, in the shape (n_samples, n_training_samples, n_kernels). All must be
        positive semidefinite.
    penalty : {"sum", "half_square"}, default="sum"
        The sum of the norms of the functions, or half its square. Both have the same models,
        for different alpha, and leave kernels out.
    scale_kernels : bool, default=True
        Whether each kernel is divided by its mean value k(x_i, x_i) at the training rows, so
        that the norms of functions are comparable.
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
    kernel_weights_ : ndarray of shape (n_kernels,)
        The norms ||f_k|| over their sum: the share of each kernel, 0 where it is left out.
    support_ : ndarray of shape (n_support,)
        The training rows with a part in the model.
    support_vectors_ : {array, sparse matrix} of shape (n_support, n_features)
        The features of these rows; not there for precomputed kernels.
    n_support_ : ndarray of shape (n_classes,), or (1,) for regression
        The number of these rows in each class.
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss
        with respect to its prediction.
    support_coef_ : ndarray of shape (n_kernels, n_support)
        The weights a of the rows in ``support_``, with f_k = sum_i a_ki k_k(x_i, .).
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
    KernelPdproxRegressor : Regression with one kernel.
    MKLClassifier : Classifier with several kernels.

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

    alpha: float = 1e-2
