"""Objectives, penalties and dual points of a few numbers, which record what they are asked for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np

from skpd.certificates.interface import DualPoint
from skpd.losses import Squared
from skpd.penalties import L1

ALLOWANCE = 2.0**-46  # 64 EPSILON
LASSO, SQUARED = L1(), Squared()


@dataclass(eq=False)
class Point(DualPoint):
    """``rough`` are the errors of products in the working precision, ``errors`` the others.

    With ``others`` the rounding error is minus the allowance for rounding in a bound, in which
    other terms have the sum ``others``: then bounds are their values without an allowance.
    """

    values: Callable[[float], float] = lambda scale: 0.0
    v: Any = (0.0,)
    errors: Any = (0.0,)
    rough: Any = None
    sums: Any = ((0.0, 0.0),)
    n_first: int | None = None
    linear: bool = False
    quadratic: bool = False
    largest: float = inf
    rounding: float = 0.0
    others: float | None = None
    theta: Any = field(default_factory=lambda: np.array([1.0, -2.0]))
    asked: list = field(default_factory=list)

    def value(self, scale):
        self.asked.append(scale)
        value = self.values(scale)
        if self.others is None:
            return value, self.rounding
        return value, -ALLOWANCE * (abs(value) + self.others)

    def products(self, precise):
        self.asked.append("precise" if precise else "plain")
        errors = self.errors if precise or self.rough is None else self.rough
        return -np.array(self.v), np.array(errors)

    def sums_without_products(self):
        return list(self.sums[: self.n_first])

    def free_sums(self, products, errors):
        return list(self.sums)

    def largest_scale(self):
        self.asked.append("largest")
        return self.largest

    @property
    def scales(self):
        return [asked for asked in self.asked if isinstance(asked, float)]

    @property
    def precisions(self):
        return [asked for asked in self.asked if asked in ("plain", "precise")]


def penalty_of(conjugate, bounded=inf, **others):
    """A penalty that is not a norm, by its two conjugates at (v, alpha) and (v, alpha, radius)."""
    functions = [f if callable(f) else lambda *_, f=f: f for f in (conjugate, bounded)]
    found = SimpleNamespace(
        is_norm=False, conjugate=functions[0], bounded_conjugate=functions[1],
        worst_case=lambda v, error: v + error,
        conjugate_arguments=lambda v, error: (v, error), **others,
    )  # fmt: skip
    found.of_conjugate_arguments = found
    return found


@dataclass(eq=False)
class Objective:
    penalty: Any = LASSO
    alpha: float = 1.0
    intervals: Any = ((0.0, 0.0),)
    point: Any = None
    nearby: Any = None  # the projection
    exact: Any = None  # the balanced point
    loss_value: Any = 0.0
    null_objective: float = 1.0
    null_is_allowed: bool = True
    null_rounding: float = 0.0
    null_lower_bound: float = 1.0
    objective_unit: float = 1.0
    n_samples: int = 1
    largest_target: float = 0.0
    table_shape: Any = (1,)
    left_out: Any = ()
    loss: Any = SQUARED
    costs: Any = None
    means: Any = None
    predictions: Any = None
    distances: Any = None
    asked: list = field(default_factory=list)

    def mean_loss(self, coef, free, accuracy):
        self.asked.append(accuracy)
        return self.loss_value

    def precise_mean_loss(self, coef, free):
        return self.loss_value(coef, free)

    def free_intervals(self, upper):
        self.asked.append(upper)
        return list(self.intervals)

    def intervals_of_constants(self, upper):
        return self.free_intervals(upper)

    def distances_of_products(self, gap):
        return self.distances

    def sum_of_means(self, coef, free):
        return self.means

    def decision_costs(self, coef, free, theta):
        return self.costs

    def prediction_intervals(self, coef, free, gap, theta, coefficients):
        return self.predictions

    def inactive_rows(self, lower, upper):
        return lower > 2.0

    def plain_dual(self, theta):
        return theta

    def zero_dual(self, theta):
        return 0.0 * theta

    def feasible_point(self, theta):
        return self.point

    def projected(self, point):
        self.asked.append("projected")
        return self.nearby or point

    def balanced(self, point):
        self.asked.append("balanced")
        return self.exact or point
