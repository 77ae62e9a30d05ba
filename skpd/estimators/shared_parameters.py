"""Parameters that estimators share, in the order in which the constructors take them."""

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
class FitParameters:
    """When a fit of one problem stops, what it starts from and what it prints."""

    tol: float = 1e-4
    max_iter: int = 50_000
    fit_intercept: bool = True
    warm_start: bool = False
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0


@shared
class SolverParameters(FitParameters, WithSolver):
    """The choice of a solver, and how it fits one problem."""


@shared
class ClassifierParameters(WithSolver):
    """The choice of a solver, and how it fits a problem for each class."""

    tol: float = 1e-4
    max_iter: int = 50_000
    fit_intercept: bool = True
    class_weight: dict | str | None = None
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0


@shared
class CrossValidationParameters:
    """The grid of alphas and the folds, and how the models of a path are fitted."""

    eps: float = 1e-3
    alphas: int | ArrayLike = 100
    cv: Any = None
    solver: str = "auto"
    solver_options: dict[str, Any] | None = None
    tol: float = 1e-4
    max_iter: int = 50_000
    fit_intercept: bool = True
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
