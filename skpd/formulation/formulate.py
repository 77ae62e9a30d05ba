"""From a specification and validated data to the problems of a fit.

The rows of a problem are made of the data and the loss, its regularisation of the penalty and the
constraints. Features that are in several groups are copied before, and a noise budget comes last.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import assert_all_finite

from .._typing import Array, ArrayLike, Constraints, Indices, Matrix
from ..designs import Design, RowBlocks
from ..losses import Loss
from ..penalties import Penalty
from ..penalties.weighted import within_bounds
from ..problems import Problem
from ..problems.in_memory import RowsInMemory
from ..problems.noise_budget import noise_budget_problem
from ..problems.output_rows import rows_of_outputs
from ..problems.regularisation import Regularisation
from ..problems.shards.problem_of_shards import problem_of_shards
from ..problems.shards.rows import RowsInShards
from ..problems.shards.shards import Shards
from .constraints import bounds_of, linear_constraints
from .overlapping import Copies


@dataclass(frozen=True)
class Specification:
    """The problem that the parameters of an estimator describe, before there is data.

    Attributes
    ----------
    estimator_name : str
        For the messages of errors.
    penalty : Penalty
    alpha : float
        The weight of the penalty; 0 for a penalty that leaves all coefficients free.
    fit_intercept : bool
    solver : str, default="auto"
    constraints : LinearConstraint, sequence of them or None
        Linear constraints on the coefficients, in the form of SciPy.
    copies : Copies or None
        Copies of features that are in several groups.
    noise_budget : float or None
    """

    estimator_name: str
    penalty: Penalty
    alpha: float
    fit_intercept: bool
    solver: str = "auto"
    constraints: Constraints = None
    copies: Copies | None = None
    noise_budget: float | None = None


class FormulatedProblems(NamedTuple):
    """Validated data and the problems that a fit solves.

    Attributes
    ----------
    X, y
        The validated data.
    problems : list of Problem
    labels : object, default=None
        What the targets say of the model beside the problems, such as the classes.
    names : list of str, default=None
        Names of the problems, such as "class 3", where each has a row of the coefficients; None
        for a problem whose dual point is that of the model.
    """

    X: Matrix | RowBlocks
    y: Any
    problems: list[Problem]
    labels: Any = None
    names: list[str] | None = None


def shares_of(sample_weight: Array) -> tuple[Array, float]:
    """Weights divided by their sum, and their sum."""
    with np.errstate(over="ignore"):
        total_weight = float(sample_weight.sum())
    if not np.isfinite(total_weight):
        raise ValueError(
            "sample_weight (times class_weight) must have a finite sum, got "
            f"{total_weight} from weights up to {sample_weight.max():.3g}."
        )
    return sample_weight / total_weight, total_weight


def regularisation_of(
    specification: Specification, n_features: int, n_outputs: int = 1
) -> Regularisation:
    """The penalty, its weight and the constraints, for the coefficients of all outputs.

    Raises
    ------
    ValueError
        If the penalty, the constraints or the solver do not go together.
    """
    alpha = specification.alpha or 1.0  # for 0 the penalty itself has no weights
    regularisation = Regularisation(specification.penalty, alpha)
    regularisation = regularisation.for_n_features(n_features * n_outputs)
    constraints = linear_constraints(specification.constraints, n_features, n_outputs)
    if constraints is None:
        return regularisation
    if specification.solver != "auto":
        raise ValueError(f"constraints need solver='auto', got solver={specification.solver!r}.")
    penalty = within_bounds(regularisation.penalty)
    if not constraints.allow_zero:
        constraints = constraints.with_model(*bounds_of(penalty))
    return replace(regularisation, penalty=penalty, constraints=constraints)


def formulate(
    specification: Specification, design: Design, y: Array, loss: Loss, sample_weight: Array
) -> Problem:
    """The problem of one target, of rows in memory."""
    if specification.copies is not None:
        design = design.columns(specification.copies.features)
    weights, total_weight = shares_of(sample_weight)
    rows = RowsInMemory(design, y, weights, loss, specification.fit_intercept, total_weight)
    regularisation = regularisation_of(specification, rows.n_coefficients)
    loss.require_targets(float(np.min(loss.targets_of(y)[weights > 0.0])))
    require_unit(rows)
    if specification.noise_budget is None:
        return Problem(rows, regularisation)
    return noise_budget_problem(rows, regularisation, specification.noise_budget / total_weight)


def formulate_outputs(
    specification: Specification, X: Matrix, targets: Array, sample_weight: Array, loss: Loss
) -> Problem:
    """The problem of all outputs, which share X, with a column of targets for each."""
    weights, total_weight = shares_of(sample_weight)
    free = specification.fit_intercept
    rows = rows_of_outputs(Design(X), targets, weights, loss, free, total_weight)
    problem = Problem(rows, regularisation_of(specification, X.shape[1], targets.shape[1]))
    require_unit(problem)
    return problem


def formulate_classes(
    specification: Specification, X: Matrix, labels: Indices, weights: Array,
    classes: np.ndarray, loss: Loss,
) -> Problem:  # fmt: skip
    """The problem of all classes, for a loss of their scores.

    Raises
    ------
    ValueError
        If a class has no samples of positive weight.
    """
    without = np.flatnonzero(~(np.bincount(labels, weights, len(classes)) > 0.0))
    if len(without):
        raise ValueError(
            "Every class must have samples of positive sample_weight and class_weight, but "
            f"{classes[without].tolist()[0]!r} has none: leave its samples out."
        )
    targets = labels[:, np.newaxis] == np.arange(len(classes))
    return formulate_outputs(specification, X, targets, weights, loss)


def formulate_shards(specification: Specification, shards: Shards, loss: Loss) -> Problem:
    """The problem of rows in blocks or chunks, which solvers read as sums over the rows.

    Raises
    ------
    ValueError
        If the specification has a part that needs data in memory, if a published algorithm is to
        be used, or if numbers of the data are not finite.
    """
    in_memory = {
        "groups that overlap need": specification.copies,
        "noise_budget needs": specification.noise_budget,
        "constraints need": linear_constraints(specification.constraints, shards.shape[1]),
    }
    for subject, part in in_memory.items():
        if part is not None:
            raise ValueError(f"{subject} X in memory, got RowBlocks.")
    if specification.solver != "auto":
        raise ValueError(
            f"solver must be 'auto' for X in blocks or chunks, got {specification.solver!r}: the "
            "others are algorithms as published, for data in memory."
        )
    problem = problem_of_shards(
        shards, loss, specification.penalty, specification.alpha or 1.0,
        specification.fit_intercept, specification.estimator_name,
    )  # fmt: skip
    require_unit(problem)
    _ = problem.rows.design  # which says so if numbers are not finite
    return problem


# One class against the others


def positive_classes(classes: np.ndarray) -> Sequence[int]:
    """The indices of the classes that are against the others: one of two, or each of more."""
    return range(len(classes)) if len(classes) > 2 else [len(classes) - 1]


def problems_of_classes(
    X: Matrix | RowBlocks, y: ArrayLike, problems: list[Problem], classes: np.ndarray
) -> FormulatedProblems:
    """The problems with the names of the classes, unless one problem is of all classes."""
    names = [f"class {label}" for label in classes] if problems[0].n_outputs == 1 else None
    return FormulatedProblems(X, y, problems, classes, names)


def formulate_shards_of_classes(
    specification: Specification, classes: np.ndarray, loss: Loss,
    shards_of: Callable[[int, np.generic], Shards],
) -> list[Problem]:  # fmt: skip
    """A problem of rows in shards for each positive class.

    A function makes the shards, from the place of the class among the positive ones and its label.

    Raises
    ------
    ValueError
        If fewer than two classes have a positive weight, or from `formulate_shards`.
    """
    positives = positive_classes(classes)
    shards = [shards_of(index, classes[k]) for index, k in enumerate(positives)]
    problems = [formulate_shards(specification, each, loss) for each in shards]
    weights = [problem.rows.as_kind(RowsInShards).targets.above for problem in problems]
    if len(problems) == 1:
        weights.append(problems[0].rows.as_kind(RowsInShards).targets.below)
    n_present = int(np.count_nonzero(weights))
    require_two_classes(specification.estimator_name, n_present, classes)
    return problems


def require_two_classes(estimator_name: str, n_present: int, classes: np.ndarray) -> None:
    """Raise a ValueError unless two classes have samples of positive weight."""
    if n_present < 2:
        raise ValueError(
            f"{estimator_name} needs samples of at least 2 classes whose sample_weight "
            f"and class_weight are positive, got {n_present} of the {len(classes)} "
            f"class(es) in y."
        )


# Checks of numbers


def require_unit(rows: RowsInMemory | Problem) -> None:
    """Raise a ValueError if the loss of the best constant prediction of rows overflows."""
    with np.errstate(over="ignore"):
        unit = rows.null.unit
    if not np.isfinite(unit):
        raise ValueError(
            "The loss of the best constant prediction overflows: y must be on a smaller "
            f"scale, got values up to {rows.largest_target:.3g}."
        )


def require_finite(estimator_name: str, problem: Problem, X: Matrix) -> None:
    """Raise scikit-learn's error for an array that is not finite.

    Solvers need the gradient of the null model anyway; it is finite only if X is.
    """
    row_weights = problem.weights * problem.null_point.dual_coef
    if not (row_weights.all() and np.isfinite(problem.null_gradient).all()):
        assert_all_finite(X, estimator_name=estimator_name, input_name="X")
