"""Models with kernels: their matrices, their problems, and functions as sums over the rows."""

from abc import abstractmethod
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, cast

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from ..._typing import Array, Attributes, ClassWeight, Indices, Matrix, MatrixLike, PerRow
from ...estimators.base import PrimalDualEstimator
from ...estimators.names import ResidualLossName
from ...estimators.parameters import IterationLimit, StoppingParameters, WithOptions, shared
from ...estimators.regression import WithResidualLoss
from ...estimators.svm import MarginClassifier
from ...formulation.formulate import FormulatedProblems, require_unit, shares_of
from ...formulation.messages import Wording
from ...formulation.validation import validated
from ...losses import ResidualLoss
from ...penalties import Penalty
from ...problems import Problem
from ...solvers import Monitor
from .adaptive_factors import solve_kernel_machine
from .matrix import KernelMatrix
from .problem import KernelMachine, kernel_machines

_ROWS = {"accept_sparse": ("csr", "csc"), "dtype": np.float64}


class KernelModel(PrimalDualEstimator):
    """Base class of sums of functions of the Hilbert spaces of kernels.

    The functions are stored as sums over the training rows.
    """

    support_: Indices
    n_support_: Indices
    support_coef_: Array
    support_vectors_: Matrix

    _model_attribute: ClassVar[str] = "support_"
    _weights_attribute: ClassVar[str] = "support_coef_"
    _takes_offset: ClassVar[bool] = False
    _has_one_kernel: ClassVar[bool] = False  # ``support_coef_`` then has no axis of kernels
    _wording: ClassVar[Wording] = Wording(
        advice="alpha, or make the kernel positive semidefinite to more digits"
    )

    @abstractmethod
    def _matrices(self, X: Matrix, weights: Array) -> list[KernelMatrix]:
        """The matrices of the kernels between training rows, whose weights sum to 1."""

    @abstractmethod
    def _values(self, X: Matrix) -> list[Array]:
        """The kernels between rows and the training rows in ``support_``."""

    @abstractmethod
    def _penalty_of(self, labels: Indices) -> Penalty:
        """The penalty, from the number of the kernel to which each coefficient belongs."""

    @property
    @abstractmethod
    def _is_precomputed(self) -> bool:
        """Whether X holds the values of kernels."""

    def _require_path(self) -> None:
        raise ValueError(
            "Models of kernels make no path: the features of their factors depend on alpha. Fit "
            "one for each alpha."
        )

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        raise ValueError(
            f"certify takes models of features, got {type(self).__name__}: the certificate of a "
            "fit with kernels is its certificate_."
        )

    def _get_penalty(self) -> Penalty:
        return self._penalty_of(np.zeros(1, dtype=np.int64))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = not self._is_precomputed
        return tags

    def _validated(self, X, y, **options) -> tuple[Matrix, np.ndarray, bool]:
        """Validated X, in float64, as kernels are computed, and y; all numbers are checked."""
        return *validated(self, X, y, **self._data_options, **options), False

    @property
    def _data_options(self) -> dict[str, Any]:
        return {"dtype": np.float64} if self._is_precomputed else _ROWS

    def _problems_of(self, X, targets, sample_weight) -> list[Problem]:
        """A problem for each target, which share the matrices of the kernels and their factors."""
        weights, total_weight = shares_of(sample_weight)
        machines = kernel_machines(
            self._matrices(X, weights), [y for y, _ in targets], weights, loss=targets[0][1],
            penalty_of=self._penalty_of, alpha=float(self.alpha),
            fit_intercept=bool(self.fit_intercept), tol=float(self.tol),
            total_weight=total_weight,
            n_parallel=min(effective_n_jobs(self.n_jobs), len(targets)),
            factored=self.solver != "auto",
        )  # fmt: skip
        for machine in machines:
            require_unit(machine.problem)
        return [machine.problem for machine in machines]

    def _solve(self, problem, *, start, random_state, on_check=None, brief=False) -> Any:
        return solve_kernel_machine(
            KernelMachine(problem, self._penalty_of), self.solver, tol=self.tol,
            max_iter=self.max_iter, random_state=random_state, on_check=on_check,
            **self._checked_options(problem),
        )  # fmt: skip

    def _best_point(self, monitor: Monitor) -> Any:
        machine = KernelMachine(monitor.problem, self._penalty_of)
        return SimpleNamespace(model=machine.expanded(monitor.best))

    def _model(self, points: Sequence[Any], fit: FormulatedProblems) -> Attributes:
        classes = fit.labels
        weights = np.stack([point.model.weights for point in points])
        support = np.flatnonzero(np.any(weights, axis=(0, 1)))
        intercepts = np.array([point.model.intercept for point in points])
        coef = weights[:, 0][:, support] if self._has_one_kernel else weights[:, :, support]
        model: Attributes = {
            "support_": support,
            "support_coef_": coef if classes is not None else coef[0],
            "intercept_": intercepts if classes is not None else intercepts[0],
        }
        if not self._is_precomputed:
            model["support_vectors_"] = cast(Matrix, fit.X)[support]
        model["n_support_"] = np.array([len(support)])
        if classes is not None:
            model["classes_"] = classes
            model["n_support_"] = np.array([np.sum(fit.y[support] == label) for label in classes])
        return model

    def _scores(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """The values of the functions with the intercepts, of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        self._checked_offset(offset)
        X = validated(self, X, reset=False, **self._data_options)
        outputs = np.atleast_1d(self.intercept_)
        if not len(self.support_):
            return np.tile(outputs, (X.shape[0], 1))
        values = self._values(X)
        coef = np.reshape(self.support_coef_, (len(outputs), len(values), -1))
        scores = np.zeros((X.shape[0], len(outputs)))
        for k, value in enumerate(values):
            scores += value @ coef[:, k].T
        return scores + outputs


@shared
class KernelParameters(StoppingParameters, IterationLimit, WithOptions):
    """How a kernel machine is fitted."""

    solver: Literal["auto", "pdprox-dual", "pdprox-primal"] = "auto"
    fit_intercept: bool = True


@shared
class KernelClassifier(KernelParameters, KernelModel, MarginClassifier):
    """Base class of classifiers with kernels, one-vs-rest for more than two classes.

    All classes share the matrices and their factors.
    """

    _takes_blocks: ClassVar[bool] = False

    class_weight: ClassWeight = None
    n_jobs: int | None = None


@shared
class KernelRegressor(KernelParameters, KernelModel, WithResidualLoss):
    """Base class of regressors with kernels, for one target."""

    loss: ResidualLossName | ResidualLoss = "absolute"
