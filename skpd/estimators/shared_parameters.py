"""Parameters that estimators share; constructors take them in `parameters.SHARED_ORDER`."""

from typing import Any

import numpy as np

from .._typing import ArrayLike
from .parameters import shared


@shared
class WithSolver:
    """The choice of a solver."""

    solver: str = "auto"
    solver_options: dict[str, Any] | None = None


@shared
class StoppingParameters:
    """When a fit stops, what it draws and what it prints."""

    tol: float = 1e-4
    max_iter: int = 50_000
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0


@shared
class WarmStartParameters(StoppingParameters):
    """How a fit begins and when it stops."""

    warm_start: bool = False


@shared
class FitParameters(WarmStartParameters):
    """How a problem with an intercept is fitted."""

    fit_intercept: bool = True


@shared
class SolverParameters(FitParameters, WithSolver):
    """The choice of a solver, and how it fits one problem."""


@shared
class ClassifierParameters(SolverParameters):
    """The choice of a solver, and how it fits a problem for each class."""

    class_weight: dict | str | None = None
    n_jobs: int | None = None


@shared
class CrossValidationParameters(StoppingParameters, WithSolver):
    """The grid of alphas and the folds, and how the models of a path are fitted."""

    eps: float = 1e-3
    alphas: int | ArrayLike = 100
    cv: Any = None
    fit_intercept: bool = True
    n_jobs: int | None = None
