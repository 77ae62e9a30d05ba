"""The parameter ``noise_budget`` of estimators, a bound on the sum of multipliers."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._compat import Interval
from .._typing import Array
from ..losses import Hinge, Loss
from ..problems import Problem
from ..problems.budget import BudgetProblem
from ..problems.shards.shards import Shards
from .base import PrimalDualEstimator

__all__ = ["WithNoiseBudget"]


class WithNoiseBudget(PrimalDualEstimator):
    """Base class of estimators with a parameter ``noise_budget``."""

    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualEstimator._parameter_constraints,
        "noise_budget": [Interval(Real, 0, np.inf, closed="neither"), None],
    }

    noise_budget: float | None

    def _problem(self, design: Any, y: Array, sample_weight: Array) -> Problem:
        problem: Problem = super()._problem(design, y, sample_weight)
        if self.noise_budget is None:
            return problem
        if problem.constraints is not None:
            raise ValueError("noise_budget and constraints do not go together: leave one out.")
        if problem.loss != Hinge():
            raise ValueError(f"noise_budget needs loss='hinge', got loss={self._get_loss()!r}.")
        total = float(problem.total_weight or problem.n_samples)
        budget = float(self.noise_budget) / total
        found = BudgetProblem(problem.rows, problem.columns, budget=budget)
        _ = found.dual_penalty  # which says so if the penalty does not admit it
        return found

    def _problem_of_shards(self, shards: Shards, loss: Loss) -> Problem:
        if self.noise_budget is not None:
            raise ValueError("noise_budget needs X in memory, got RowBlocks.")
        return super()._problem_of_shards(shards, loss)
