"""LPBoost by column generation: hypotheses are added that violate the current solution."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array
from ...certificates import Certificate
from ...certificates.interface import Sum
from ...solvers.monitor import HISTORY_DTYPE
from .hypotheses import Hypotheses
from .interior_point import Pair
from .problem import BoostingProblem
from .restricted_problems import RESTRICTED
from .settings import SETTINGS

BOOSTING_HISTORY = np.dtype([*HISTORY_DTYPE.descr, ("restricted_primal", float)])


class Boosted(NamedTuple):
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
    history: Array
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
            "solver='interior-point' and 'agm' take any."
        )
    return name


class _Run:
    """The hypotheses so far, with the best bounds on the optimal value over all hypotheses.

    If the learner does not maximise, the upper bound is that over the hypotheses of the round, as
    earlier ones do not hold for hypotheses found later.
    """

    def __init__(self, problem: BoostingProblem, signs: Array, maximises: bool) -> None:
        self.problem, self.signs, self.maximises = problem, signs, maximises
        self.hypotheses: list[Any] = []
        self.edges = np.empty((0, len(signs)))
        self.primal, self.restricted, self.dual = np.inf, np.inf, -np.inf
        self.w, self.mixture = problem.weights, np.empty(0)
        self.rows: list[tuple] = []
        self.begin = time.perf_counter()

    @property
    def gap(self) -> float:
        return max(self.primal - self.dual, 0.0)

    def add(self, hypothesis: object, values: Array) -> bool:
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

    def report(self, w: Array, mixture: Array, edge: Sum, edge_so_far: Sum) -> None:
        """Record the bounds of a round, whose best hypothesis has this edge."""
        self.restricted = self.problem.upper_bound(w, edge_so_far)
        primal, dual = self.restricted, self.lower_bound(mixture)
        if self.maximises:
            primal = self.problem.upper_bound(w, edge)
        if primal < self.primal or not self.maximises:
            self.primal, self.w = primal, w
        if dual > self.dual:
            self.dual, self.mixture = dual, mixture
        seconds = time.perf_counter() - self.begin
        bounds = self.primal, self.dual, self.primal - self.dual, primal, dual, self.restricted
        self.rows.append((len(self.rows) + 1, seconds, *bounds))

    def drop_small_weights(self, gap: float) -> None:
        """Set the smallest weights of the mixture to 0, as many as this gap allows.

        The interior-point method gives every hypothesis some weight.
        """
        order = np.argsort(self.mixture)
        n_dropped, too_many, best = 0, len(order), (self.dual, self.mixture)
        while too_many - n_dropped > 1:
            middle = (n_dropped + too_many) // 2
            mixture = self.mixture.copy()
            mixture[order[:middle]] = 0.0
            mixture /= np.sum(mixture)
            dual = self.lower_bound(mixture)
            if self.primal - dual <= gap:
                n_dropped, best = middle, (dual, mixture)
            else:
                too_many = middle
        self.dual, self.mixture = best

    def result(self, converged: bool) -> Boosted:
        mixture = np.append(self.mixture, np.zeros(len(self.hypotheses) - len(self.mixture)))
        return Boosted(
            self.hypotheses, mixture, self.w, self.problem.certificate(self.primal, self.dual),
            self.problem.certificate(self.restricted, self.dual),
            np.array(self.rows, dtype=BOOSTING_HISTORY), converged,
        )  # fmt: skip


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
    method = method_for(solver, problem.entropy)
    run, final_goal = _Run(problem, signs, learner.maximises), SETTINGS.share * tol
    w, mixture, goal, reached, converged = problem.weights, np.ones(1), np.inf, True, False
    while True:
        hypotheses, edge = learner.best(w * signs, SETTINGS.columns_per_round)
        if not run.hypotheses:
            run.add(*hypotheses[0])
        edge_so_far = run.largest_edge(w)
        run.report(w, mixture, edge, edge_so_far)
        if on_round is not None:
            on_round(run.rows[-1])
        better = edge[0] - edge_so_far[0] > (0.0 if learner.maximises else tol)
        converged = run.gap <= tol and (learner.maximises or not better)
        if converged or len(run.rows) >= max_iter:
            break
        n_added = sum(run.add(*hypothesis) for hypothesis in hypotheses) if better else 0
        if not n_added and (goal <= final_goal or not reached):
            break  # rounding errors limit the gap, or the method for restricted problems does
        goal = max(SETTINGS.share * run.gap, final_goal) if n_added else final_goal
        start = np.append(mixture, np.zeros(n_added))
        w, mixture, reached = _solved(
            problem, RESTRICTED[method](problem, run.edges, start, goal, tol)
        )
    if method != "highs":  # whose mixtures are vertices
        run.drop_small_weights(tol if converged else run.gap)
    return run.result(converged)


def _solved(problem: BoostingProblem, pair: Pair) -> tuple[Array, Array, bool]:
    """The solution of a restricted problem as a distribution and a mixture, and its success."""
    mixture = np.maximum(np.nan_to_num(pair.mixture), 0.0)
    total = float(np.sum(mixture))
    mixture = mixture / total if total > 0.0 else np.full(len(mixture), 1.0 / len(mixture))
    return problem.feasible(pair.w), mixture, pair.reached
