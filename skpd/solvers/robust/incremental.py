"""Incremental methods for the distributionally robust SVM (Li, Chen and So, 2020).

The objective is the mean of f_i = epsilon lam + (n c_i) h(m_i, lam) + ridge ||w||^2 / 2. In an
epoch each row is used once: in a mini-batch of projected subgradients (ISG, equation (5)), or in a
proximal update of a single row (IPPA, equation (6)). The hybrid method starts with the first and
ends with the second (section 5.1). Step sizes follow Table 1,

    "geometric"            alpha_k = alpha_0 rho^k
    "gamma/(nk)"           alpha_k = gamma / (n k)
    "gamma/(n sqrt(k))"    alpha_k = gamma / (n sqrt(k))

over the epochs k. The multipliers of the rows' updates, averaged over epochs, are the dual point.
"""

from itertools import count
from typing import Annotated, Any

import numpy as np

from ... import kernels
from ...problems import Point
from ...problems.robust import RobustTerms, terms_of
from ..cadence import OF_PASSES, PAUSE_ENTRIES, Cadence
from ..options import POSITIVE, Count, Flag, Number, OneOf, OrNone
from ..run import Run
from .settings import INCREMENTAL

Scheme = Annotated[str | None, OrNone(OneOf("geometric", "gamma/(nk)", "gamma/(n sqrt(k))"))]
Step = Annotated[float | None, OrNone(POSITIVE)]
Share = Annotated[float, Number(0, 1)]
BatchSize = Annotated[int, Count()]


def isg(
    run: Run,
    *,
    terms: RobustTerms | None = None,
    batch_size: BatchSize = 4,
    scheme: Scheme = None,
    first_step: Step = None,
    ratio: Share = 0.98,
    cycles: Flag = False,
    gamma: Step = None,
    shuffle: Flag = False,
) -> None:
    """The incremental projected subgradient method with mini-batches.

    Parameters
    ----------
    run : Run
        An iteration is an epoch; the iterates are reported at epochs 10 % apart. The start is 0 by
        default, as in the paper.
    terms : RobustTerms, default=None
        Those of the problem by default. The ordinary problem to which the robust SVM reduces for
        epsilon = 0 needs them.
    batch_size : int, default=4
        The number of rows in a mini-batch, for a step along the mean of their subgradients.
    scheme : {"geometric", "gamma/(nk)", "gamma/(n sqrt(k))"}, default=None
        The decrease of the step sizes over the epochs. The default is that of Table 1 without
        further assumptions: for q = 1 and inf "geometric" without a ridge and "gamma/(nk)" with
        one, for q = 2 "gamma/(n sqrt(k))". For q = 2, faster schemes are proven under a regularity
        condition that is not known in advance.
    first_step : float, default=None
        alpha_0 of "geometric"; by default half the inverse of a typical squared subgradient,
        times the number of rows in a mini-batch.
    ratio : float, default=0.98
        rho of "geometric"; the steps decrease to ``tol`` times the first.
    cycles : bool, default=False
        Whether the steps of "geometric" are repeated in cycles, with ratios closer and closer to
        1, until there is little progress. The rho with which the method converges is not known in
        advance.
    gamma : float, default=None
        gamma of the other schemes; by default the smaller one of n alpha_0 and 5 over the ridge
        times the number of rows in a mini-batch.
    shuffle : bool, default=False
        Whether every epoch has a new random order of the rows.
    """
    hybrid(
        run, terms=terms, batch_size=batch_size, switch=0.0, scheme=scheme, first_step=first_step,
        ratio=ratio, cycles=cycles, gamma=gamma, shuffle=shuffle,
    )  # fmt: skip


def ippa(
    run: Run,
    *,
    terms: RobustTerms | None = None,
    scheme: Scheme = None,
    first_step: Step = None,
    ratio: Share = 0.98,
    cycles: Flag = False,
    gamma: Step = None,
    shuffle: Flag = False,
) -> None:
    """The incremental proximal point algorithm.

    The parameters are those of `isg`.
    """
    hybrid(
        run, terms=terms, batch_size=1, switch=np.inf, scheme=scheme, first_step=first_step,
        ratio=ratio, cycles=cycles, gamma=gamma, shuffle=shuffle,
    )  # fmt: skip


def hybrid(
    run: Run,
    *,
    terms: RobustTerms | None = None,
    batch_size: BatchSize = 4,
    switch: Share = 1e-4,
    scheme: Scheme = None,
    first_step: Step = None,
    ratio: Share = 0.98,
    cycles: Flag = False,
    gamma: Step = None,
    shuffle: Flag = False,
) -> None:
    """The hybrid method: mini-batch subgradients for long steps, proximal updates for short ones.

    Parameters
    ----------
    switch : float, default=1e-4
        Step sizes below this share of the first are proximal.
    batch_size, scheme, first_step, ratio, cycles, gamma, shuffle
        See `isg`.
    """
    first = first_step, gamma, batch_size
    terms = terms or terms_of(run.problem)
    steps = _Steps(run, terms, scheme, first, ratio, cycles)
    epochs = _Epochs(run, terms, shuffle)
    for step in steps:
        if run.is_over(epochs.n_iter):
            return
        epochs.take(step, batch_size if step >= switch * steps.first else None)
        steps.objective = run.monitor.primal


def _scheme_of_table_1(terms: RobustTerms) -> str:
    if terms.q == 2:
        return "gamma/(n sqrt(k))"
    return "gamma/(nk)" if terms.ridge > 0.0 else "geometric"


class _Steps:
    """The iterator over the step sizes of the epochs."""

    def __init__(self, run, terms, scheme, first, ratio, cycles) -> None:
        problem, (first_step, gamma, batch_size) = run.problem, first
        self.tol, self.goal, self.ratio, self.cycles = run.monitor.tol, run.goal, ratio, cycles
        self.scheme = scheme or _scheme_of_table_1(terms)
        n = int(np.count_nonzero(problem.weights))
        square = float(np.sum(problem.squares))
        if np.isfinite(terms.kappa):
            square += min(terms.kappa * terms.kappa, INCREMENTAL.kappa_limit * square)
        own = max(INCREMENTAL.first_step * batch_size / (square or 1.0), np.finfo(float).tiny)
        self.first = first_step or own
        if self.scheme != "geometric":
            own = n * self.first
            if terms.ridge > 0.0:
                own = min(own, INCREMENTAL.ridge_gamma * batch_size / terms.ridge)
            self.first = (gamma or own) / n
        self.objective = np.inf  # the best so far, kept up to date by the method

    def __iter__(self):
        if self.scheme == "geometric":
            return self._geometric()
        power = 1.0 if self.scheme == "gamma/(nk)" else 0.5
        return (self.first / k**power for k in count(1))

    def _geometric(self):
        least = max(self.tol, INCREMENTAL.least_step) * self.first
        step, ratio = self.first, self.ratio
        while True:
            before, begin = self.objective, step
            while step > least:
                yield step
                step *= ratio
            gained = before - self.objective
            if not self.cycles or (begin < self.first and gained <= self.goal):
                return
            step, ratio = INCREMENTAL.cycle_start * self.first, np.sqrt(ratio)


class _Epochs:
    """The iterate, with reports of the last model and mean multipliers at epochs 10 % apart."""

    def __init__(self, run: Run, terms: RobustTerms, shuffle: bool) -> None:
        problem, start = run.problem, run.start
        self.run, self.terms, self.shuffle = run, terms, shuffle
        self.design = problem.design.by_rows
        self.method = kernels.incremental(
            self.design.matrix, problem.y, problem.weights, *terms, problem.fit_intercept,
        )  # fmt: skip
        if start is not None:
            coef = np.ascontiguousarray(start.coef[: problem.design.shape[1]])
            self.method.move(coef, terms.norm.value(coef), start.intercept)
        self.rows = np.flatnonzero(problem.weights > 0.0)
        self.chunk = max(1, int(PAUSE_ENTRIES / max(1, problem.design.shape[1])))
        self.n_iter, self.cadence = run.monitor.n_iter, Cadence(run, OF_PASSES)
        self.sums: Any = np.zeros((2, problem.n_samples))
        self.n_sums = 0

    def take(self, step: float, batch_size: int | None = None) -> None:
        """Run an epoch of proximal updates, or of mini-batches of the given size."""
        order = self.run.random_state.permutation(self.rows) if self.shuffle else self.rows
        chunk = self.chunk if batch_size is None else -(-self.chunk // batch_size) * batch_size
        for first in range(0, len(order), chunk):
            rows = order[first : first + chunk]
            if batch_size is None:
                self.method.proximal_pass(rows, step)
            else:
                self.method.subgradient_pass(rows, step, batch_size)
        self.n_iter += 1
        self.sums += self.method.multipliers()
        self.n_sums += 1
        if self.cadence.is_due(self.n_iter):
            self.report()

    def report(self) -> None:
        theta = self.terms.dual_coef(self.run.problem.y, self.sums / self.n_sums)
        coef = self.run.problem.completed(self.method.w(), self.method.intercept)
        self.run.monitor.check(self.n_iter, Point(coef, self.method.intercept, theta))
        self.sums[:] = 0.0
        self.n_sums = 0
