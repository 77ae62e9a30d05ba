"""The rows of several outputs in memory, with the interface of the method of multipliers."""

from typing import Any, ClassVar

import numpy as np

from ..._typing import Array, Indices
from ...designs import newton_cost_of_outputs
from ...problems import Problem
from .in_memory import InMemory


class OutputRows(InMemory):
    """Rows of several outputs in memory, with an intercept for each output."""

    design: Any
    # The square roots of the weights times e, at the last computed derivatives of coupled losses
    factor: Array | None = None
    couples: ClassVar[bool] = False

    def _sums(self, rows: Array) -> Any:
        if not self.gram.ones:
            return np.empty(0)
        return self.design.sums(rows)

    def _matvec(self, variables: Array) -> Array:
        n_coefficients = self.design.shape[1]
        z = self.design.matvec(np.ascontiguousarray(variables[:n_coefficients]))
        if self.gram.ones:
            z = z + self.design.spread(variables[n_coefficients:])
        return z

    def certified_gradient(self, problem: Problem, coef: Array) -> tuple[Array, Any]:
        product, _ = problem.products(self.derivative, problem.regularisation.threshold, coef)
        return product, self._sums(self._gradient)

    def cost(self, n_columns: int) -> float:
        return newton_cost_of_outputs(
            self.design, self.n_curved, n_columns, couples=self.couples, agree=self.gram.agree
        )

    def may_hold(self, n_columns: int) -> bool:
        return bool(self.gram.may_hold(self.design, n_columns))

    def curvature(self, columns: Indices, scale: float, ridge: Array | None) -> Any:
        return self.gram.curvature(
            self.design, self.h, self.factor, columns, scale=scale, ridge=ridge
        )


class CoupledRows(OutputRows):
    """Rows of a loss of `skpd.losses.coupled_outputs`, whose curvature has a rank-one term."""

    couples = True

    def _derivatives(self, sigma: float) -> tuple[float, float]:
        self.factor = np.empty(len(self.y))
        values: tuple[float, float] = self.evaluator.smoothed_derivatives(
            self.y, self.weights, self.theta, self.z, sigma,
            self.derivative, self._gradient, self.h, self.factor,
        )  # fmt: skip
        return values
