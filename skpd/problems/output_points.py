"""Dual points of several outputs, and the free directions of their intercepts."""

from functools import cached_property
from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array
from ..certificates.objective import NOTHING, Interval, Sum
from ..designs.outputs import OutputsDesign
from .dual_points import RowPoint
from .free_directions import FreeDirections, Support

__all__ = ["FreeOutputs", "OutputsPoint"]


class OutputsPoint(RowPoint):
    """A dual point of several outputs, with a free sum for each."""

    problem: Any  # an `OutputsProblem`

    @cached_property
    def _spread(self) -> Array | None:
        """The weighted errors of the entries of theta that stand for exact sums, or None."""
        loss: Any = self.problem.loss
        if not loss.of_classes:
            return None
        spread: Array = self.problem.weights * loss.spread(self.problem.y, self.theta)
        return spread

    def products(self, precise: bool) -> tuple[Array, Array]:
        product, error = super().products(precise)
        if self._spread is None:
            return product, error
        return product, error + 1.01 * self.problem.design.column_sums(self._spread)

    def sums_without_products(self) -> list[Sum]:
        return self._intercept_sums

    @cached_property
    def _intercept_sums(self) -> list[Sum]:
        problem = self.problem
        if not problem.fit_intercept:
            return [NOTHING] * problem.n_outputs
        found = []
        for rows in problem.places:
            weights, theta = (np.ascontiguousarray(x[rows]) for x in (problem.weights, self.theta))
            if not theta.any():  # exactly 0, also times an infinite interval
                found.append(NOTHING)
                continue
            value, error = kernels.compensated_dot(weights, theta)
            if self._spread is not None:
                error += 1.01 * float(np.sum(self._spread[rows]))
            found.append((value, error))
        return found

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        columns = self.problem.free_columns
        of_columns = zip(products[columns].tolist(), errors[columns].tolist(), strict=True)
        return [*self._intercept_sums, *of_columns]

    def errors_by_precision(self) -> Any:
        return 0.0

    def largest_scale(self) -> float:
        loss: Any = self.problem.loss
        if loss.couples_outputs:
            return float(loss.largest_scale(self.problem.y, self.theta))
        return super().largest_scale()


class FreeOutputs(FreeDirections):
    """The free directions of several outputs: intercepts and coefficients without a penalty."""

    design: OutputsDesign  # type: ignore[assignment]

    def sums(self, gradient: Array, slope: Any) -> list[float]:
        sums = np.broadcast_to(slope, self.design.n_outputs).tolist()
        return sums + gradient[self.columns].tolist()

    def _intercepts(self, upper: float, radius: float) -> list[Interval]:
        if not self.fit_intercept:
            return [NOTHING] * self.design.n_outputs
        if self.loss.of_classes:
            return [self.intercept(upper, radius)] * self.design.n_outputs
        return [one.intercept(upper, radius) for one in self._each]

    @cached_property
    def _each(self) -> list[FreeDirections]:
        """The free directions of each output by itself, with weights 0 for other rows."""
        alone = self.penalty.of_one_output
        if alone is not None:
            found = []
            for part, place in zip(self.design.parts, self.design.places, strict=True):
                y, weights = (np.ascontiguousarray(x[place]) for x in (self.y, self.weights))
                found.append(FreeDirections(part, y, weights, self.loss, alone, True))
            return found
        found = []
        for place in self.design.places:
            weights = np.zeros_like(self.weights)
            weights[place] = self.weights[place]
            found.append(
                FreeDirections(self.design, self.y, weights, self.loss, self.penalty, True)  # type: ignore[arg-type]
            )
        return found

    def _support(self, row: Array, error: Array) -> Support:
        """An upper bound on x.w as a function of the radius, for the mean row x of an output.

        For a loss of classes, w is the difference of the coefficients of the class and another.
        """
        if not self.loss.of_classes:
            return super()._support(row, error)
        n_outputs = self.design.n_outputs
        own = int(np.argmax(np.any(np.reshape(row, (-1, n_outputs)) != 0.0, axis=0)))
        others = [k for k in range(n_outputs) if k != own]
        if self.penalty.symmetric:  # the bound is then the same for all classes
            others = others[:1]
        supports = []
        for other in others:
            table, room = (np.array(np.reshape(x, (-1, n_outputs))) for x in (row, error))
            table[:, other], room[:, other] = -table[:, own], room[:, own]
            supports.append(super()._support(np.ravel(table), np.ravel(room)))
        return lambda radius: max([support(radius) for support in supports])
