"""The best constant prediction for the rows of shards, from sums over the rows."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..._floats import EPSILON
from ...losses import Loss
from ...losses.strata import Stratum
from .bounds import constant_sums, null_sums, target_sums
from .recipes import DualRecipe
from .shards import Shards

ENOUGH = 1e-7  # accuracy of the best constant, relative to the range of the targets


@dataclass(frozen=True)
class TargetSums:
    """Sums over the targets, with weights that sum to 1.

    Attributes
    ----------
    n_heavy : int
        The number of rows with a positive weight.
    above, below : float
        The total weights of the rows with positive targets, and of the others.
    mean, error : float
        The mean target, and a bound on its error.
    least, largest : float
    """

    n_heavy: int
    above: float
    below: float
    mean: float
    error: float
    least: float
    largest: float

    @classmethod
    def of(cls, shards: Shards) -> "tuple[TargetSums, float]":
        """The sums for weights divided by their total, and this total.

        Raises
        ------
        ValueError
            If the total is not positive and finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            found = shards.sums(target_sums)
            total = float(found["weight"].bounded[0])
        if not 0.0 < total < np.inf:
            raise ValueError(
                "sample_weight (times class_weight) must have a positive, finite sum, got a sum "
                f"of {total}."
            )
        moment, error = found["moment"].bounded
        mean = moment / total
        return cls(
            n_heavy=found["n_heavy"],
            above=found["above"].bounded[0] / total,
            below=found["below"].bounded[0] / total,
            mean=mean,
            error=error / total + 4.0 * EPSILON * abs(mean),
            least=-found["minus_least"].value,
            largest=found["largest"].value,
        ), total

    def strata(self, loss: Loss) -> list[Stratum]:
        """The strata of a loss, without the arrays of weights."""
        nothing = np.empty(0)
        if loss.of_labels:
            return [Stratum(nothing, share) for share in (self.above, self.below)]
        # the weights sum to 1 up to rounding
        error = self.error + 8.0 * EPSILON * abs(self.mean)
        return [Stratum(nothing, 1.0, self.mean, error)]


@dataclass(frozen=True)
class NullSums:
    """Sums at the best constant prediction, and the recipe of its dual point.

    Attributes
    ----------
    constant : float
    recipe : DualRecipe
        The dual point: a subgradient of the losses, whose sum vanishes if the constant is free.
    objective, rounding, at_zero : float
        The mean loss, rounded up; the part of it that is due to rounding; and the mean loss of
        the prediction 0.
    slope, steepest : float
        The mean and the largest absolute slope of the losses.
    slope_of_dual : float
        The weighted sum of the dual point.
    dual_range : float
        The length of the longest interval of a dual variable, which may be inf.
    """

    constant: float
    recipe: DualRecipe
    objective: float
    rounding: float
    at_zero: float
    slope: float
    steepest: float
    slope_of_dual: float
    dual_range: float

    @classmethod
    def of(
        cls, shards: Shards, loss: Loss, targets: TargetSums, fit_intercept: bool
    ) -> "NullSums":
        constant = _best_constant(shards, loss, targets) if fit_intercept else 0.0
        constant = constant if np.isfinite(constant) else 0.0
        near = fit_intercept and not np.isfinite(loss.smoothness)
        found: dict[str, Any] = shards.sums(null_sums, constant, near)
        low, high = found["low"], found["high"]
        share = min(max(-low / (high - low), 0.0), 1.0) if high > low else 0.5
        largest, plain = (found[name].bounded[0] for name in ("largest", "plain"))
        return cls(
            constant=constant,
            recipe=DualRecipe(null=(constant, near, share)),
            objective=largest,
            rounding=max(largest - plain, 0.0),
            at_zero=found["at_zero"].bounded[0],
            slope=found["slope"],
            steepest=found["steepest"].value,
            slope_of_dual=low + share * (high - low),
            dual_range=found["range"].value,
        )


def _best_constant(shards: Shards, loss: Loss, targets: TargetSums) -> float:
    """The constant with nearly the least mean loss."""
    if loss.of_labels:
        weights = np.array([targets.above, targets.below])
        return loss.best_constant(np.array([1.0, -1.0]), weights)
    if loss.constant_curvature:
        return targets.mean
    # the mean loss is convex, and its minimiser is between the least and the largest target
    width = targets.largest - targets.least
    tried: list[tuple[float, float]] = []

    def slope(b: float) -> float:
        found = shards.sums(constant_sums, b)
        tried.append((found["value"], b))
        return float(found["slope"])

    with suppress(ValueError):  # the slope has the same sign at both ends: one of them is best
        brentq(slope, targets.least, targets.largest, xtol=ENOUGH * width, disp=False)
    return min(tried)[1]
