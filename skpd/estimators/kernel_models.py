"""Models with kernels: their matrices, their problems, and functions as sums over the rows."""

from abc import abstractmethod
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from .._compat import StrOptions
from .._typing import Array
from ..designs import KernelMatrix
from ..losses import MarginLoss
from ..penalties import Penalty
from ..problems import Problem
from ..problems.kernel import KernelProblem, kernel_problems
from ..solvers.kernel_machines import solve_kernel_problem
from .base import PrimalDualEstimator, finite_targets
from .classifier import PrimalDualClassifier, checked_classes
from .docstrings import documented
from .names import MARGIN_LOSSES, chosen
from .regression import WithResidualLoss
from .validation import checked_weights, validated

__all__ = ["KernelClassifier", "KernelModel", "KernelRegressor"]

_ROWS = {"accept_sparse": ("csr", "csc"), "dtype": np.float64}
OF_SOLVERS = {"solver", "solver_options", "warm_start"}  # which models with kernels do not have


def _without_solvers(kind: Any) -> dict[str, Any]:
    """The constraints of parameters without those of named solvers."""
    constraints = kind._parameter_constraints
    return {name: some for name, some in constraints.items() if name not in OF_SOLVERS}


class KernelModel(PrimalDualEstimator):
    """Base class of sums of functions of the Hilbert spaces of kernels.

    The functions are stored as sums over the training rows.
    """

    _no_path = (
        "Models of kernels make no path: the features of their factors depend on alpha. Fit one "
        "for each alpha."
    )
    support_: Any
    support_coef_: Array
    support_vectors_: Any

    _model_attribute: ClassVar[str] = "support_"
    _weights_attribute: ClassVar[str] = "support_coef_"
    _advice: ClassVar[str] = "alpha, or make the kernel positive semidefinite to more digits"
    _rows: Any = None  # X during a fit

    @abstractmethod
    def _matrices(self, X: Any, weights: Array) -> list[KernelMatrix]:
        """The matrices of the kernels between training rows, whose weights sum to 1."""

    @abstractmethod
    def _values(self, X: Any) -> list[Array]:
        """The kernels between rows and the training rows in ``support_``."""

    @abstractmethod
    def _penalty_of(self, labels: Array) -> Penalty:
        """The penalty, from the number of the kernel to which each coefficient belongs."""

    @property
    @abstractmethod
    def _is_precomputed(self) -> bool:
        """Whether X holds the values of kernels."""

    def _get_penalty(self) -> Penalty:
        return self._penalty_of(np.zeros(1, dtype=np.int64))

    def _solver(self) -> str:
        return "auto"

    def _checked_options(self, problem: Problem) -> dict[str, Any]:
        return {}

    def _start(self, k: int, shape: tuple[int, int], n_outputs: int) -> None:
        return None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = not self._is_precomputed
        return tags

    def _validated_rows(self, X: Any, *y: Any, **options: Any) -> Any:
        """Validated X, or X and y, in float64, as kernels are computed."""
        return validated(self, X, *y, **self._data_options, **options)

    @property
    def _data_options(self) -> dict[str, Any]:
        return {"dtype": np.float64} if self._is_precomputed else _ROWS

    def _kernel_problems(
        self, X: Any, targets: Sequence[Array], sample_weight: Array, n_parallel: int = 1
    ) -> list[KernelProblem]:
        weights, total_weight = self._normalised(sample_weight)
        problems = kernel_problems(
            self._matrices(X, weights), targets, weights, loss=self._get_loss(),
            penalty_of=self._penalty_of, alpha=float(self.alpha),
            fit_intercept=bool(self.fit_intercept), tol=float(self.tol),
            total_weight=total_weight, n_parallel=n_parallel,
        )  # fmt: skip
        for problem in problems:
            self._require_unit(problem)
        self._rows = X
        return problems

    def _solve(self, problem, *, start, random_state, on_check=None):
        return solve_kernel_problem(
            problem, tol=self.tol, max_iter=self.max_iter, random_state=random_state,
            on_check=on_check,
        )  # fmt: skip

    def _reporter(self, context, task, *, attributes=None, **options):
        """The reporter of the base class, with functions as sums over the rows for callbacks."""

        def expanded(monitor):
            model = monitor.problem.expanded(monitor.best)
            return attributes(SimpleNamespace(best=SimpleNamespace(model=model)))

        own = None if attributes is None else expanded
        return super()._reporter(context, task, attributes=own, **options)

    def _set_solutions(self, solutions, problems, labels=None):
        self._rows = None
        super()._set_solutions(solutions, problems, labels)

    def _model(self, points: Sequence[Any], y: Any, classes: Any) -> dict[str, Any]:
        weights = np.stack([point.model.weights for point in points])
        support = np.flatnonzero(np.any(weights, axis=(0, 1)))
        model = {
            "support_": support,
            "support_coef_": self._coefficients_of(weights[:, :, support], classes),
            "intercept_": np.array([point.model.intercept for point in points]),
        }
        if not self._is_precomputed:
            model["support_vectors_"] = self._rows[support]
        if classes is None:
            model["intercept_"] = points[0].model.intercept
        else:
            model["classes_"] = classes
        return model

    @abstractmethod
    def _coefficients_of(self, weights: Array, classes: Any) -> Array:
        """``support_coef_``, from the weights for each output, kernel and row in ``support_``."""

    def _scores(self, X: Any) -> Array:
        """The values of the functions with the intercepts, of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        X = self._validated_rows(X, reset=False)
        outputs = np.atleast_1d(self.intercept_)
        if not len(self.support_):
            return np.tile(outputs, (X.shape[0], 1))
        values = self._values(X)
        coef = np.reshape(self.support_coef_, (len(outputs), len(values), -1))
        scores = np.zeros((X.shape[0], len(outputs)))
        for k, value in enumerate(values):
            scores += value @ coef[:, k].T
        return scores + outputs


class KernelClassifier(KernelModel, PrimalDualClassifier):
    """Base class of classifiers with kernels, one-vs-rest for more than two classes.

    All classes share the matrices and their factors.
    """

    _parameter_constraints: ClassVar[dict] = {
        **_without_solvers(PrimalDualClassifier),
        "loss": [StrOptions(set(MARGIN_LOSSES)), MarginLoss],
    }

    def _get_loss(self) -> MarginLoss:
        loss: MarginLoss = chosen("loss", self.loss, MARGIN_LOSSES)
        return loss

    def _problems(self, X, y, sample_weight):
        X, y = self._validated_rows(X, y)
        classes = checked_classes(y)
        labels, weights = self._labels_and_weights(X, y, classes, sample_weight)
        positives = range(len(classes)) if len(classes) > 2 else [1]
        targets = [np.where(labels == k, 1.0, -1.0) for k in positives]
        n_parallel = min(effective_n_jobs(self.n_jobs), len(targets))
        return X, y, self._kernel_problems(X, targets, weights, n_parallel), classes

    @documented
    def decision_function(self, X: Any) -> Array:
        """The values of the functions, intercepts included.

        {X_of_kernels}

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive where ``classes_[1]`` is predicted.
        """
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores


class KernelRegressor(KernelModel, WithResidualLoss):
    """Base class of regressors with kernels, for one target."""

    _parameter_constraints: ClassVar[dict] = _without_solvers(WithResidualLoss)

    def _problems(self, X, y, sample_weight):
        X, y = self._validated_rows(X, y, y_numeric=True)
        y = finite_targets(y, self)
        return X, y, self._kernel_problems(X, [y], checked_weights(sample_weight, X)), None

    @documented
    def predict(self, X: Any) -> np.ndarray:
        """Predict targets.

        {X_of_kernels}

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._scores(X)[:, 0]
