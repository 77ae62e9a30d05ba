"""LPBoost by column generation: hypotheses are added that violate the current solution."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array
from ...certificates import Certificate
from ...certificates.interface import Sum
from ...problems.boosting import BoostingProblem
from ...problems.hypotheses import Hypotheses
from ..monitor import HISTORY_DTYPE
from .interior_point import Pair
from .restricted import RESTRICTED
from .settings import SETTINGS

BOOSTING_HISTORY = np.dtype([*HISTORY_DTYPE.descr, ("restricted_primal", float)])


@dataclass(frozen=True)
class Boosted:
    """The result of column generation.

    Attributes
    ----------
    hypotheses : list
    mixture : ndarray of shape (n_hypotheses,)
        The weights of the hypotheses, which sum to 1.
    w : ndarray of shape (n_samples,)
        The distribution over the rows.
    certificate, restricted : Certificate
        The certificate over all hypotheses, if the learner maximises over them, and that over the
        hypotheses found.
    history : structured ndarray
    converged : bool
    """

    hypotheses: list[Any]
    mixture: Array
    w: Array
    certificate: Certificate
    restricted: Certificate
    history: Any
    converged: bool

    @property
    def n_iter(self) -> int:
        return len(self.history)


def method_for(name: str, entropy: float) -> str:
    """The name of the method for restricted problems: "auto" is the interior-point method.

    Raises
    ------
    ValueError
        If the name is "highs" and the problems have an entropy term.
    """
    if name == "auto":
        return "interior-point"
    if name == "highs" and entropy > 0.0:
        raise ValueError(
            f"solver='highs' is for linear programmes, with entropy=0, got entropy={entropy!r}. "
            "solver='agm' takes any."
        )
    return name


class _Run:
    """The hypotheses so far, with the best bounds on the optimal value over all hypotheses."""

    def __init__(self, problem: BoostingProblem, signs: Array) -> None:
        self.problem, self.signs = problem, signs
        self.hypotheses: list[Any] = []
        self.edges = np.empty((0, len(signs)))
        self.primal, self.dual = np.inf, -np.inf
        self.w, self.mixture = problem.weights, np.empty(0)
        self.rows: list[tuple] = []
        self.begin = time.perf_counter()

    def add(self, hypothesis: Any, values: Array) -> bool:
        """Add a hypothesis unless there is one with the same values; whether it was added."""
        edge = self.signs * values
        if np.any(np.all(self.edges == edge, axis=1)):
            return False
        self.edges = np.vstack([self.edges, edge])
        self.hypotheses.append(hypothesis)
        return True

    def largest_edge(self, w: Array) -> Sum:
        """The largest edge of the hypotheses so far, and a bound on its rounding error."""
        rounding = (len(w) + 4) * EPSILON * float(np.sum(w))
        return float(np.max(self.edges @ w)), rounding

    def lower_bound(self, mixture: Array) -> float:
        """The lower bound of a mixture whose sum is 1 up to rounding; margins are at most 1."""
        error = 2.0 * (len(mixture) + 4) * EPSILON
        return self.problem.lower_bound(mixture @ self.edges[: len(mixture)], error)

    def drop_small_weights(self, upper: float, tol: float) -> None:
        """Set the smallest weights of the mixture to 0.

        The interior-point method gives every hypothesis some weight. The distance to the upper
        bound stays at most ``tol``.
        """
        order = np.argsort(self.mixture)
        few, many = 0, len(order)  # dropping ``few`` is possible, dropping ``many`` is not
        while many - few > 1:
            middle = (few + many) // 2
            mixture = self.mixture.copy()
            mixture[order[:middle]] = 0.0
            mixture /= np.sum(mixture)
            dual = self.lower_bound(mixture)
            if upper - dual <= tol:
                few, best = middle, (dual, mixture)
            else:
                many = middle
        if few:
            self.dual, self.mixture = best

    def record(self, restricted: float, primal: float, dual: float) -> None:
        seconds = time.perf_counter() - self.begin
        best = self.primal, self.dual, self.primal - self.dual
        self.rows.append((len(self.rows) + 1, seconds, *best, primal, dual, restricted))


def generate_columns(
    problem: BoostingProblem,
    signs: Array,
    learner: Hypotheses,
    *,
    solver: str = "auto",
    tol: float = 1e-4,
    max_iter: int = 1000,
    on_round: Callable[[Any], None] | None = None,
) -> Boosted:
    """Solve LPBoost by column generation (Demiriz et al., 2002; Warmuth et al., 2008).

    Parameters
    ----------
    problem : BoostingProblem
    signs : ndarray of shape (n_samples,)
        The labels y_i, -1 or 1.
    learner : Hypotheses
    solver : {"auto", "interior-point", "highs", "agm"}
        The method for the problems over the hypotheses so far.
    tol : float
        The gap at which to stop. It has no unit, as edges are at most 1.
    max_iter : int
        The largest number of rounds, each with a call of the learner.
    on_round : callable, default=None
        Called after each round with its record.
    """
    solve = RESTRICTED[method_for(solver, problem.entropy)]
    context, gap, restricted = _Run(problem, signs), 1.0, np.inf
    w = problem.weights
    mixture, reached, added = np.empty(0), True, 1
    while True:
        first = not context.hypotheses
        if not first:
            goal = SETTINGS.share * (max(gap, tol) if added else tol)
            w, mixture, reached = _solved(
                context, solve(problem, context.edges, mixture, goal, tol)
            )
        found, edge = learner.best(w * signs, SETTINGS.columns_per_round)
        if first:
            context.add(*found[0])
            mixture = np.ones(1)
        seen = context.largest_edge(w)
        restricted, dual = problem.upper_bound(w, seen), context.lower_bound(mixture)
        if not learner.maximises:  # earlier bounds do not hold for hypotheses found later
            primal, context.primal = restricted, np.inf
        else:
            primal = problem.upper_bound(w, edge)
        if primal < context.primal:
            context.primal, context.w = primal, w
        if dual > context.dual:
            context.dual, context.mixture = dual, mixture
        context.record(restricted, primal, dual)
        if on_round is not None:
            on_round(context.rows[-1])
        gap = max(context.primal - context.dual, 0.0)
        better = edge[0] - seen[0] > (0.0 if learner.maximises else tol)
        done = gap <= tol if learner.maximises else gap <= tol and not better
        if done or len(context.rows) >= max_iter:
            break
        added = sum(context.add(*some) for some in found) if better else 0
        if added:
            mixture = np.append(mixture, np.zeros(added))
        elif not first and (not reached or solve is RESTRICTED["highs"]):
            break  # limited by rounding, or by the method for restricted problems
    if done:
        upper = context.primal if learner.maximises else restricted
        context.drop_small_weights(upper, tol)
    return _result(context, restricted, done)


def _solved(context: _Run, pair: Pair) -> tuple[Array, Array, bool]:
    """The solution of a restricted problem as a distribution and a mixture, and its success."""
    mixture = np.maximum(np.nan_to_num(pair.mixture), 0.0)
    total = float(np.sum(mixture))
    mixture = mixture / total if total > 0.0 else np.full(len(mixture), 1.0 / len(mixture))
    return context.problem.feasible(pair.w), mixture, pair.reached


def _result(context: _Run, restricted: float, converged: bool) -> Boosted:
    mixture = np.append(context.mixture, np.zeros(len(context.hypotheses) - len(context.mixture)))
    return Boosted(
        context.hypotheses, mixture, context.w,
        context.problem.certificate(context.primal, context.dual),
        context.problem.certificate(restricted, context.dual),
        np.array(context.rows, dtype=BOOSTING_HISTORY), converged,
    )  # fmt: skip
