"""Methods for the restricted problems of boosting, over the hypotheses found so far."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog

from ..._typing import Array
from ...solvers.accelerated.estimate_functions import Composite, infinite_memory
from ...solvers.accelerated.geometry import Entropic
from .interior_point import Pair, boosting_interior_point
from .problem import BoostingProblem
from .settings import SETTINGS


def linear_programme(
    problem: BoostingProblem, edges: Array, start: Array, gap: float, tol: float
) -> Pair:
    """Solve min over w in Q of max_h u_h.w, a linear programme (Demiriz et al., 2002), by HiGHS.

    Its multipliers are the mixture. The problem must not have an entropy term. The parameters are
    those of `accelerated_boosting`.
    """
    t, n = edges.shape
    programme = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.hstack([edges, -np.ones((t, 1))]),
        b_ub=np.zeros(t),
        A_eq=np.append(np.ones(n), 0.0)[None, :],
        b_eq=[1.0],
        bounds=np.column_stack([
            np.append(np.zeros(n), -1.0), np.append(problem.caps, 1.0)
        ]),
        method="highs",
        options={
            "primal_feasibility_tolerance": SETTINGS.programme_tol,
            "dual_feasibility_tolerance": SETTINGS.programme_tol,
        },
    )  # fmt: skip
    if programme.x is None or programme.ineqlin is None:
        return Pair(problem.weights, start, reached=False)
    return Pair(programme.x[:n], -np.asarray(programme.ineqlin.marginals), reached=True)


def accelerated_boosting(
    problem: BoostingProblem,
    edges: Array,
    start: Array,
    gap: float,
    tol: float,
) -> Pair:
    """Maximise F by AGM-EF with infinite memory and the entropic prox.

    F is concave over the simplex of mixtures. Its gradient U w, with the w that attains F, has the
    Lipschitz constant 1 / entropy in the l1 norm, as KL is strongly convex in this norm and edges
    are at most 1. The averages of these w, (22) of Zhang et al., and the mixture have a gap that
    converges as fast as the objective. For a problem without entropy, an entropy is used whose
    effect is a share of ``tol``.

    Parameters
    ----------
    problem : BoostingProblem
    edges : ndarray of shape (n_hypotheses, n_samples)
        The edge vectors u_h.
    start : ndarray of shape (n_hypotheses,)
        The mixture at the start.
    gap : float
        The requested accuracy.
    tol : float
        The tolerance of the whole run.
    """
    costs = SETTINGS.share * max(gap, tol, SETTINGS.least_tol)
    enough = costs / max(problem.entropy_range, SETTINGS.share)
    entropy = max(problem.entropy, enough)
    smoothed = problem.with_entropy(entropy)

    def smooth(margins: Array) -> tuple[float, Array, Array]:
        value, w = smoothed.distribution(margins)
        return -value, -w, w

    composite = Composite(
        smooth, lambda a: a @ edges, lambda rows: edges @ rows, lambda a: 0.0, Entropic(),
        lipschitz=SETTINGS.first_lipschitz_share / entropy,
    )  # fmt: skip
    spread = min(SETTINGS.spread, gap)
    begin = (1.0 - spread) * start + spread / len(start)
    best, upper, lower = Pair(problem.weights, start, reached=False), np.inf, -np.inf
    check_at = 0
    for iterate in infinite_memory(composite, begin):
        if composite.n_gradients < check_at:
            continue
        check_at = composite.n_gradients + SETTINGS.check_every
        for w, slope in ((iterate.theta, iterate.slope), iterate.latest):
            value = problem.entropy * problem.divergence(w)[0] + float(np.max(-slope))
            if value < upper:
                best, upper = best._replace(w=w), value
        value = problem.distribution(iterate.z)[0]
        if value > lower:
            best, lower = best._replace(mixture=iterate.x), value
        if upper - lower <= gap:
            return best._replace(reached=True)
        if composite.n_gradients >= SETTINGS.most_gradients:
            break
    return best


def interior_point_first(
    problem: BoostingProblem, edges: Array, start: Array, gap: float, tol: float
) -> Pair:
    """The interior-point method, and another one where rounding errors end it early."""
    pair = boosting_interior_point(problem, edges, start, gap)
    if pair.reached:
        return pair
    other = linear_programme if problem.entropy == 0.0 else accelerated_boosting
    second = other(problem, edges, pair.mixture, gap, tol)
    return second if second.reached else pair


RESTRICTED: dict[str, Callable[..., Pair]] = {
    "highs": linear_programme,
    "agm": accelerated_boosting,
    "interior-point": interior_point_first,
}
