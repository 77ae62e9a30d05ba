"""The parameter ``constraints`` of estimators: linear constraints on the coefficients."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array, issparse, vstack

from .._typing import Array
from ..losses import Loss
from ..penalties import Penalty, Structure
from ..problems import Problem, Solution
from ..problems.linear_constraints import LinearConstraints
from ..problems.shards.shards import Shards
from .base import PrimalDualEstimator

__all__ = ["LinearlyConstrained", "linear_constraints"]


class LinearlyConstrained(PrimalDualEstimator):
    """Base class of estimators with a parameter ``constraints``."""

    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualEstimator._parameter_constraints,
        "constraints": [LinearConstraint, list, tuple, None],
    }

    constraints: Any
    solver: str
    constraint_multipliers_: Array

    def _problem(self, design: Any, y: Array, sample_weight: Array) -> Problem:
        problem: Problem = super()._problem(design, y, sample_weight)
        constraints = linear_constraints(self.constraints, problem.n_features)
        if constraints is None:
            return problem
        if self._solver() != "auto":
            raise ValueError(f"constraints need solver='auto', got solver={self.solver!r}.")
        if not constraints.allow_zero:
            constraints = constraints.with_model(*_bounds(problem.penalty))
        return replace(problem, columns=replace(problem.columns, constraints=constraints))

    def _problem_of_shards(self, shards: Shards, loss: Loss) -> Problem:
        if linear_constraints(self.constraints, shards.shape[1]) is not None:
            raise ValueError("constraints need X in memory, got RowBlocks.")
        return super()._problem_of_shards(shards, loss)

    def _set_solutions(self, solutions: Any, problems: Any, labels: Any = None) -> None:
        found = [solutions] if labels is None else solutions
        if self.constraints is not None:
            self._require_models(found)
            mu = self._multipliers(found)
            self.constraint_multipliers_ = mu[0] if labels is None else mu
        elif hasattr(self, "constraint_multipliers_"):  # of a fit before this one
            del self.constraint_multipliers_
        super()._set_solutions(solutions, problems, labels)

    def _require_models(self, solutions: Sequence[Solution]) -> None:
        """Raise a ValueError if no coefficients were found that obey the constraints."""
        for solution in solutions:
            if np.isinf(solution.certificate.primal) and not solution.interrupted:
                raise ValueError(
                    "constraints do not seem to go together with the penalty "
                    f"{self._get_penalty()!r}: no coefficients that both allow were found in "
                    f"{solution.n_iter} iterations of at most {self.max_iter}."
                )

    def _multipliers(self, solutions: Sequence[Solution]) -> Array:
        """Multipliers of the given constraints, which follow those of the rows in dual points."""
        n_samples, n_features = np.shape(self.dual_coef_)[-1], np.shape(self.coef_)[-1]
        constraints: Any = linear_constraints(self.constraints, n_features)
        mu = np.stack([solution.dual_coef[n_samples:] for solution in solutions])
        with np.errstate(over="ignore"):  # rows of 1e-310 may have multipliers beyond all numbers
            return np.ldexp(mu, -constraints.exponents)


def _bounds(penalty: Penalty) -> tuple[Any, Any]:
    """Bounds that a penalty sets each coefficient."""
    if penalty.structure is not Structure.SEPARABLE:
        return -np.inf, np.inf
    terms: Any = penalty
    _, _, lower, upper = terms.terms
    return lower, upper


def linear_constraints(given: Any, n_features: int) -> LinearConstraints | None:
    """Constraints of `scipy.optimize`, validated; None if there are none.

    Parameters
    ----------
    given : LinearConstraint, sequence of them or None
    n_features : int

    Raises
    ------
    ValueError
        If a constraint is not a LinearConstraint, has not n_features columns, has numbers that are
        not finite, or has a lower bound above its upper bound.
    """
    several = [given] if isinstance(given, LinearConstraint) else list(given or [])
    if not several:
        return None
    parts = [_validated(part, n_features) for part in several]
    matrices, lower, upper = zip(*parts, strict=True)
    return LinearConstraints(
        csr_array(vstack(matrices)), np.concatenate(lower), np.concatenate(upper)
    ).with_unit_rows()


def _validated(part: Any, n_features: int) -> tuple[csr_array, Array, Array]:
    if not isinstance(part, LinearConstraint):
        raise ValueError(
            "constraints must be a scipy.optimize.LinearConstraint or a list of them, got "
            f"{part!r}."
        )
    rows = part.A if issparse(part.A) else np.atleast_2d(np.asarray(part.A, dtype=np.float64))
    matrix = csr_array(rows, dtype=np.float64)
    matrix.sum_duplicates()
    if matrix.shape[1] != n_features:
        raise ValueError(
            f"constraints must have an A with a column for each of the {n_features} features, "
            f"got one of shape {matrix.shape}."
        )
    lower, upper = (  # SciPy has checked that they fit
        np.array(np.broadcast_to(np.asarray(x, dtype=np.float64), matrix.shape[:1]))
        for x in (part.lb, part.ub)
    )
    if not np.isfinite(matrix.data).all():
        raise ValueError("constraints must have an A of finite numbers.")
    if not (np.all(lower <= upper) and np.all(lower < np.inf) and np.all(upper > -np.inf)):
        raise ValueError(
            "constraints must have lb <= ub, with lb < inf and ub > -inf, got "
            f"{part.lb!r} and {part.ub!r}."
        )
    return matrix, lower, upper
