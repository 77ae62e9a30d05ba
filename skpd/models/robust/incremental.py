"""Incremental methods for the distributionally robust SVM (Li, Chen and So, 2020).

The objective is the mean of f_i = epsilon lam + (n c_i) h(m_i, lam) + ridge ||w||^2 / 2. In an
epoch each row is used once: in a mini-batch of projected subgradients (ISG, equation (5)), or in a
proximal update of a single row (IPPA, equation (6)). The hybrid method starts with the first and
ends with the second (section 5.1). The paper leaves a mini-batch version of IPPA to the future:
here it is the prox of the mean of the rows' f_i, by ascent in its dual, in the multipliers of one
row after the other. For each row that is the update (6) from a centre that the multipliers of the
others have moved. The rows that remain for a last mini-batch have a step that is shorter by as
much, so that every row counts the same. Step sizes follow Table 1,

    "geometric"            alpha_k = alpha_0 rho^k
    "gamma/(nk)"           alpha_k = gamma / (n k)
    "gamma/(n sqrt(k))"    alpha_k = gamma / (n sqrt(k))

over the epochs k. The multipliers of the rows' updates, averaged over epochs, are the dual point.
`PRESETS` has the parameters of the authors' experiments.
"""

from collections.abc import Callable, Iterator
from itertools import count
from numbers import Real
from typing import Annotated, Literal, NamedTuple, TypedDict, Unpack

import numpy as np
from sklearn.utils._param_validation import Interval

from ... import kernels
from ...problems import Point
from ...solvers.certificate_schedule import OF_PASSES, PAUSE_ENTRIES, CertificateSchedule
from ...solvers.options import Count, Factor, Flag, Option, OptionalCount, OptionalFactor
from ...solvers.solver_context import SolverContext
from .lift import RobustTerms, terms_of
from .settings import INCREMENTAL

Scheme = Literal["geometric", "gamma/(nk)", "gamma/(n sqrt(k))", None]
Share = Annotated[float, Interval(Real, 0, 1, closed="neither")]
OptionalShare = Annotated[float | None, Interval(Real, 0, 1, closed="neither")]


class Preset(NamedTuple):
    """The parameters of an experiment: steps alpha_0 rho^k, and the rows of a mini-batch."""

    first_step: float
    ratio: float
    batch_size: int = 1


# The parameters in the scripts main_figure.m and main_bs.m of the authors' repository, for the
# generated data of figure 1 (a) and for a1a; and those that were found here for two tables.
PRESETS = {
    "figure 1a, isg": Preset(1e-2, 0.99),
    "figure 1a, ippa": Preset(1e-2, 0.965),
    "figure 1e, batch size 1": Preset(1e-2, 0.95),
    "figure 1e, batch size 32": Preset(1e-1, 0.975, 32),
    "figure 1e, batch size 256": Preset(1.0, 0.998, 256),
    "table 2, ippa": Preset(1e-2, 0.98),
    "table 3, ijcnn1": Preset(1e-3, 0.95),
    "table 4, a1a": Preset(1e-2, 0.999),
}
Name = Annotated[str | None, Option((*PRESETS, None))]


class StepOptions(TypedDict, total=False):
    """The options of steps and orders that all of the methods have, described in `isg`."""

    terms: RobustTerms
    preset: Name
    scheme: Scheme
    first_step: OptionalFactor
    ratio: OptionalShare
    cycles: Flag
    gamma: OptionalFactor
    shuffle: Flag


def isg(
    context: SolverContext, *, batch_size: OptionalCount = None, **options: Unpack[StepOptions]
) -> None:
    """The incremental projected subgradient method with mini-batches.

    Parameters
    ----------
    context : SolverContext
        An iteration is an epoch; the iterates are reported at epochs 10 % apart. The start is 0 by
        default, as in the paper.
    terms : RobustTerms, default=None
        Those of the problem by default. The ordinary problem to which the robust SVM reduces for
        epsilon = 0 needs them.
    preset : str, default=None
        The name of an experiment of the paper (`PRESETS`), whose steps are "geometric" and whose
        parameters the others replace.
    batch_size : int, default=None
        The number of rows in a mini-batch, for a step along the mean of their subgradients; by
        default 4.
    scheme : {"geometric", "gamma/(nk)", "gamma/(n sqrt(k))"}, default=None
        The decrease of the step sizes over the epochs. The default is that of Table 1 without
        further assumptions: for q = 1 and inf "geometric" without a ridge and "gamma/(nk)" with
        one, for q = 2 "gamma/(n sqrt(k))". For q = 2, faster schemes are proven under a regularity
        condition that is not known in advance.
    first_step : float, default=None
        alpha_0 of "geometric"; by default half the inverse of a typical squared subgradient, or
        200 over the number of rows times that inverse if this is less, as in the authors'
        experiments; times the number of rows in a mini-batch.
    ratio : float, default=None
        rho of "geometric", by default 0.98; the steps decrease to ``tol`` times the first.
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
    hybrid(context, batch_size=batch_size, switch=0.0, **options)


def ippa(
    context: SolverContext, *, batch_size: OptionalCount = None,
    prox_tol: Factor = INCREMENTAL.prox_tol, **options: Unpack[StepOptions],
) -> None:  # fmt: skip
    """The incremental proximal point algorithm.

    Parameters
    ----------
    batch_size : int, default=None
        The number of rows in a mini-batch, for the proximal update of the mean of their f_i; by
        default 1, as in the paper.
    prox_tol : float, default=1e-2
        The change of a multiplier in [0, 1] in a sweep through a mini-batch below which its update
        ends.
    terms, preset, scheme, first_step, ratio, cycles, gamma, shuffle
        See `isg`.
    """
    hybrid(
        context, batch_size=batch_size or 1, proximal_batch_size=batch_size or 1,
        prox_tol=prox_tol, switch=np.inf, **options,
    )  # fmt: skip


def hybrid(
    context: SolverContext, *, terms: RobustTerms | None = None, preset: Name = None,
    batch_size: OptionalCount = None, proximal_batch_size: Count = 1,
    prox_tol: Factor = INCREMENTAL.prox_tol, switch: Share = INCREMENTAL.switch,
    scheme: Scheme = None, first_step: OptionalFactor = None, ratio: OptionalShare = None,
    cycles: Flag = False, gamma: OptionalFactor = None, shuffle: Flag = False,
) -> None:  # fmt: skip
    """The hybrid method: mini-batch subgradients for long steps, proximal updates for short ones.

    The paper changes from the first to the second "in a local region around the optimal point"
    (section 5.1), which it does not define.

    Parameters
    ----------
    proximal_batch_size, prox_tol
        The ``batch_size`` and ``prox_tol`` of proximal updates, see `ippa`.
    switch : float, default=0.02
        Step sizes below this share of the first are proximal.
    preset, batch_size, scheme, first_step, ratio, cycles, gamma, shuffle
        See `isg`.
    """
    terms = terms or terms_of(context.problem)
    if preset is not None:
        experiment = PRESETS[preset]
        scheme, first_step = scheme or "geometric", first_step or experiment.first_step
        ratio, batch_size = ratio or experiment.ratio, batch_size or experiment.batch_size
    batch_size, scheme = batch_size or INCREMENTAL.batch_size, scheme or _scheme_of_table_1(terms)
    n = max(int(np.count_nonzero(context.problem.weights)), 1)
    first = first_step or _first_step(context, terms, batch_size, n)
    if scheme == "geometric":
        steps = _geometric(context, first, ratio or INCREMENTAL.ratio, cycles)
    else:
        power = 1.0 if scheme == "gamma/(nk)" else 0.5
        if gamma is None:
            limit = INCREMENTAL.ridge_gamma * batch_size / terms.ridge if terms.ridge else np.inf
            gamma = min(n * first, limit)
        first = gamma / n
        steps = (first / k**power for k in count(1))
    epochs = _Epochs(context, terms, shuffle)
    for step in steps:
        if context.is_over(epochs.n_iter):
            return
        if step >= switch * first:
            epochs.take(epochs.method.subgradient_pass, step, batch_size)
        else:
            epochs.take(epochs.method.proximal_pass, step, proximal_batch_size, prox_tol)


def _scheme_of_table_1(terms: RobustTerms) -> Scheme:
    if terms.q == 2:
        return "gamma/(n sqrt(k))"
    return "gamma/(nk)" if terms.ridge > 0.0 else "geometric"


def _first_step(context: SolverContext, terms: RobustTerms, batch_size: int, n: int) -> float:
    """The default of alpha_0, from the mean square of a subgradient; n rows have a weight."""
    square = float(np.sum(context.problem.squares))
    if np.isfinite(terms.kappa):
        square += min(terms.kappa * terms.kappa, INCREMENTAL.kappa_limit * square)
    share = min(INCREMENTAL.first_step, INCREMENTAL.first_step_of_rows / n)
    return max(share * batch_size / (square or 1.0), np.finfo(float).tiny)


def _geometric(
    context: SolverContext, first: float, ratio: float, cycles: bool
) -> Iterator[float]:
    """The steps of "geometric", in cycles until one gains less than the tolerance."""
    last = max(context.monitor.tol, 1e-12) * first
    step, primal = first, np.inf
    while True:
        start = step
        while step > last:
            yield step
            step *= ratio
        gain, primal = primal - context.monitor.primal, context.monitor.primal
        if not cycles or (start < first and gain <= context.monitor.goal):
            return
        step, ratio = INCREMENTAL.cycle_start * first, np.sqrt(ratio)


class _Epochs:
    """The iterate, with reports of the last model and mean multipliers at epochs 10 % apart."""

    def __init__(self, context: SolverContext, terms: RobustTerms, shuffle: bool) -> None:
        problem, start = context.problem, context.start
        self.context, self.terms, self.shuffle = context, terms, shuffle
        matrix = problem.design.by_rows.matrix
        self.method = kernels.incremental(
            matrix, problem.y, problem.weights, *terms, problem.fit_intercept
        )
        if start is not None:
            coef = np.ascontiguousarray(start.coef[: problem.design.shape[1]])
            self.method.move(coef, terms.norm.value(coef), start.intercept)
        self.rows = np.flatnonzero(problem.weights > 0.0)
        self.chunk = max(1, int(PAUSE_ENTRIES / max(1, problem.design.shape[1])))
        self.n_iter = context.monitor.n_iter
        self.schedule = CertificateSchedule(context, OF_PASSES)
        self.sums = np.zeros((2, problem.n_samples))
        self.n_sums = 0

    def take(
        self, updates: Callable[..., None], step: float, batch_size: int, *settings: float
    ) -> None:
        """Run an epoch of updates of mini-batches."""
        order = self.context.random_state.permutation(self.rows) if self.shuffle else self.rows
        chunk = -(-self.chunk // batch_size) * batch_size
        for first in range(0, len(order), chunk):
            updates(order[first : first + chunk], step, batch_size, *settings)
        self.n_iter += 1
        self.sums += self.method.multipliers()
        self.n_sums += 1
        if not self.schedule.is_due(self.n_iter):
            return
        problem, intercept = self.context.problem, self.method.intercept
        theta = self.terms.dual_coef(problem.y, self.sums / self.n_sums)
        coef = problem.extend(self.method.w(), intercept)
        self.context.monitor.check(self.n_iter, Point(coef, intercept, theta))
        self.sums, self.n_sums = np.zeros_like(self.sums), 0
