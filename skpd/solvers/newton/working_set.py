"""Which features a Newton step moves, and of which the gradients are kept up to date."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...designs.gram import BLAS
from ...penalties import Structure
from ...problems import Problem
from .settings import MultiplierSettings

__all__ = ["Chosen", "WorkingSet"]


@dataclass
class Chosen:
    """The features that a step moves, whole groups.

    Attributes
    ----------
    columns : ndarray of shape (n_columns,)
        Increasing.
    violation : float
        The largest violation of optimality, of any variable.
    complete : bool
        Whether they are all that are active or violate optimality.
    """

    columns: Indices
    violation: float
    complete: bool


class WorkingSet:
    """Features that are active or violate optimality.

    For a while the gradients of only these may be kept (``columns``): until the gap on them is
    small beside that on all features.

    Parameters
    ----------
    problem : Problem
    settings : MultiplierSettings

    Attributes
    ----------
    columns : ndarray or None
        The features whose gradients are kept; None for all.
    until : float
        The gap at which to look at the others again.
    settled : bool
        Whether it hardly changes any more.
    """

    def __init__(self, problem: Problem, settings: MultiplierSettings) -> None:
        self.problem, self.settings = problem, settings
        self.columns: Indices | None = None
        self.until = 0.0
        self.settled = False
        # whether the penalty leaves features at 0: else all of them join at once
        penalty: Any = problem.penalty
        self.selects = penalty.structure is Structure.GROUPED or np.any(penalty.terms[0] > 0.0)
        self._terms: kernels.SeparableTerms | None = None
        if penalty.structure is Structure.SEPARABLE:
            self._terms = penalty.kernel_terms(problem.alpha)
        self.fewest = self._room_for_new()

    def _room_for_new(self) -> int:
        """Features that may join at a time, at least."""
        problem, settings = self.problem, self.settings
        n_outputs = problem.n_outputs
        d, fewest = problem.n_features // n_outputs, settings.fewest
        if problem.loss.constant_curvature and problem.design.dense:
            # their Gram matrix takes the time of a gradient
            fewest = max(fewest, int(np.sqrt(BLAS * d)))
        elif problem.loss.constant_curvature:
            length = max(problem.design.n_entries / problem.n_samples, 1.0)  # of a row
            affordable = int(d * np.sqrt(settings.gram_products / length))
            fewest = max(fewest, affordable) if 2 * affordable > d else fewest
        return fewest * n_outputs

    def choose(
        self,
        w: Array,
        gradient: Array,
        step_sizes: tuple[float, Array | None],
        expected: Array | None,
    ) -> Chosen:
        """The features that are active, and those that violate optimality most.

        Parameters
        ----------
        w, gradient : ndarray of shape (n_variables,)
        step_sizes : tuple
            (t, s) as of `Envelope.step_sizes`: a violation is that of a proximal gradient step.
        expected : ndarray of shape (n_features,), default=None
            The gradient expected at the solution. Features that violate optimality now, but are
            not expected to do so in the end, relieve those that will.
        """
        problem, penalty = self.problem, self.problem.penalty
        step, steps = step_sizes
        coef, slopes = w[: problem.n_features], gradient[: problem.n_features]
        if expected is not None:
            expected = expected / self.settings.coming
        given = step, steps, expected
        if self._terms is not None:
            found = kernels.active_or_violating(coef, slopes, self._terms, *given)
        else:
            found = _grouped(penalty, problem.alpha, coef, slopes, *given)
        columns, violation, largest = found
        active = coef[columns] != 0.0
        n_active = int(np.count_nonzero(active))
        most = n_active + max(n_active, self.fewest)
        complete = len(columns) <= most or not self.selects
        if not complete:
            others, room = np.flatnonzero(~active), most - n_active
            active[others[np.argpartition(-violation[others], room - 1)[:room]]] = True
            columns = columns[active]
        if penalty.structure is Structure.GROUPED:
            columns = _whole_groups(penalty, columns)
        largest = max(largest, kernels.max_abs(gradient[problem.n_features :]))
        return Chosen(columns, largest, complete)

    def restrict(self, chosen: Chosen, gap: float, target: float) -> None:
        """Go on with the gradients of the features chosen, if that is less work."""
        problem, settings = self.problem, self.settings
        quadratic = problem.loss.constant_curvature
        if chosen.complete and quadratic and problem.incremental_products:
            return  # one step solves for them, and the others cost little
        most = settings.inner_work_quadratic if quadratic else settings.inner_work
        if problem.design.work_on(chosen.columns) <= most:
            near = chosen.complete and self.settled
            self.columns = chosen.columns
            self.until = target if near else max(settings.inner_gap * gap, target)

    def release(self) -> None:
        """Back to all features."""
        self.columns = None


def _grouped(
    penalty: Any, alpha: float, w: Array, gradient: Array, step: float, steps: Array | None,
    expected: Array | None,
) -> tuple[Indices, Array, float]:  # fmt: skip
    """Features with w_j != 0 or a violation, their violations, and the largest of all."""
    t = step if steps is None else step * steps
    violation = np.abs(w - penalty.prox(w - t * gradient, t * alpha)) / t
    chosen = (w != 0.0) | (violation > 0.0)
    if expected is not None:
        chosen &= (w != 0.0) | (penalty.prox(w - t * expected, t * alpha) != 0.0)
    columns = np.flatnonzero(chosen)
    return columns, violation[columns], kernels.max_abs(violation)


def _whole_groups(penalty: Any, columns: Indices) -> Indices:
    labels = penalty.labels
    groups = np.zeros(len(labels), dtype=bool)
    groups[labels[columns]] = True
    return np.flatnonzero(groups[labels])
