"""The features that a Newton step changes."""

from typing import NamedTuple

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...designs.gram import BLAS
from ...penalties import Penalty, Structure
from ...problems import Problem
from .settings import SETTINGS


class Chosen(NamedTuple):
    """The features that a step changes, with whole groups.

    Attributes
    ----------
    columns : ndarray of shape (n_columns,)
        The indices of the features, increasing.
    violation : float
        The largest violation of optimality among all variables.
    complete : bool
        Whether the features include all that are active or violate optimality.
    """

    columns: Indices
    violation: float
    complete: bool


class WorkingSet:
    """The features that are active or violate optimality.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        # whether the penalty sets features to 0; otherwise all features join at once
        penalty: Penalty = problem.penalty
        self.selects = penalty.structure is Structure.GROUPED or np.any(penalty.terms[0] > 0.0)
        self._terms: kernels.SeparableCoordinates | None = None
        if penalty.structure is Structure.SEPARABLE:
            self._terms = penalty.kernel_terms(problem.alpha, problem.n_coefficients)
        self.min_joining = self._n_joining()
        several = problem.n_outputs > 1
        self.growth = SETTINGS.growth_of_outputs if several else SETTINGS.growth

    def _n_joining(self) -> int:
        """The least number of features that may join at a time."""
        problem = self.problem
        n_outputs = problem.n_outputs
        d, fewest = problem.n_coefficients // n_outputs, SETTINGS.fewest
        if problem.loss.constant_curvature and problem.design.dense:
            # the number of features whose Gram matrix takes the time of a gradient
            fewest = max(fewest, int(np.sqrt(BLAS * d)))
        elif problem.loss.constant_curvature:
            length = max(problem.design.n_entries / problem.n_samples, 1.0)  # entries of a row
            affordable = int(d * np.sqrt(SETTINGS.gram_products / length))
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
            Numbers (t, s) of `Envelope.step_sizes`. A violation is measured by the size of a
            proximal gradient step.
        expected : ndarray of shape (n_variables,), default=None
            The predicted gradient at the solution. A feature with coefficient 0 is not chosen if
            its coefficient stays 0 by this gradient.
        """
        problem, penalty = self.problem, self.problem.penalty
        step, steps = step_sizes
        coef, slopes = w[: problem.n_coefficients], gradient[: problem.n_coefficients]
        if expected is not None:
            expected = expected[: problem.n_coefficients] / SETTINGS.coming
        measure = step, steps, expected
        if self._terms is not None:
            candidates = kernels.active_or_violating(coef, slopes, self._terms, *measure)
        else:
            candidates = _grouped(penalty, problem.alpha, coef, slopes, *measure)
        columns, violation, largest = candidates
        active = coef[columns] != 0.0
        n_active = int(np.count_nonzero(active))
        max_columns = n_active + max(int(self.growth * n_active), self.min_joining)
        complete = len(columns) <= max_columns or not self.selects
        if not complete:
            others, n_joining = np.flatnonzero(~active), max_columns - n_active
            active[others[np.argpartition(-violation[others], n_joining - 1)[:n_joining]]] = True
            columns = columns[active]
        if penalty.structure is Structure.GROUPED:
            columns = _whole_groups(penalty, columns)
        largest = max(largest, kernels.max_abs(gradient[problem.n_coefficients :]))
        return Chosen(columns, largest, complete)


def _grouped(
    penalty: Penalty, alpha: float, w: Array, gradient: Array, step: float, steps: Array | None,
    expected: Array | None,
) -> tuple[Indices, Array, float]:  # fmt: skip
    """The features with w_j != 0 or a violation, their violations, and the largest violation."""
    t = step if steps is None else step * steps
    violation = np.abs(w - penalty.prox(w - t * gradient, t * alpha)) / t
    chosen = (w != 0.0) | (violation > 0.0)
    if expected is not None:
        chosen &= (w != 0.0) | (penalty.prox(w - t * expected, t * alpha) != 0.0)
    columns = np.flatnonzero(chosen)
    return columns, violation[columns], kernels.max_abs(violation)


def _whole_groups(penalty: Penalty, columns: Indices) -> Indices:
    labels = penalty.labels
    groups = np.zeros(len(labels), dtype=bool)
    groups[labels[columns]] = True
    return np.flatnonzero(groups[labels])
