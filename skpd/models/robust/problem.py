"""The Wasserstein distributionally robust SVM as a problem, and its certificate.

    minimise over ||w||_q <= lam, b:   epsilon lam + sum_i c_i h(m_i, lam) + ridge ||w||_2^2 / 2,
    h(m, lam) = max(1 - m, 1 + m - kappa lam, 0),   m_i = y_i (x_i.w + b)

(Li, Chen and So, 2020, problem (1), with their c named ridge here). Multipliers p_i of
1 - m_i and r_i of 1 + m_i - kappa lam, in the triangle p_i, r_i >= 0, p_i + r_i <= 1, give for
every point ::

    P(w, b, lam) >= sum_i c_i (p_i + r_i) - v.w - s b + (epsilon - kappa rho) lam
                    + ridge ||w||^2 / 2,
    v = sum_i c_i (p_i - r_i) y_i x_i,   s = sum_i c_i (p_i - r_i) y_i,   rho = sum_i c_i r_i.

This is an ordinary problem in the variables (w, lam), with the loss `WorstCaseHinge` of
`skpd.models.robust.loss`, the penalty `skpd.penalties.NormEpigraph` and the products
(-v, -kappa rho) of a dual point. A model (w, b) has the best lam. As h is at least the hinge loss,
the interval of b for the hinge loss is valid here as well.
"""

from collections.abc import Callable
from math import inf

import numpy as np

from ..._typing import Array
from ...designs import Design
from ...penalties import Penalty, Separable, SquaredL2
from ...penalties.base import NO_FEATURES, FreeFeatures
from ...problems import Problem
from ...problems.plan import Attempt, Method, Plan
from ...problems.regularisation import Regularisation
from ...solvers.interior import cost_of_run
from ...solvers.interior.settings import SETTINGS as INTERIOR
from ...solvers.rules import BY_CONES, LAST, by_rules
from ...solvers.selection_settings import SETTINGS
from .certain_labels import certain_labels
from .hybrid_gradient import hybrid_gradient
from .incremental import hybrid, ippa, isg
from .interior_point import robust_interior_point
from .lift import Radius
from .loss import WorstCaseHinge
from .robust_multipliers import robust_multipliers
from .rows import RowsWithRadius, epigraph_of
from .settings import SELECTION


def _attempts(problem: Problem, _: bool) -> list[Attempt]:
    """The robust SVM: two methods for a share of the cost, cones, then the hybrid gradient.

    The interior-point method needs memory for a system of the smaller side of X. For many rows, or
    norm 2 and sparse ones, it takes 4 to 20 times as long as the method of multipliers, but on a
    text of 500 x 3,284, where its systems are those of the rows, 1/100.
    """
    by_cones = Attempt("robust-interior-point", BY_CONES)
    if len(problem.free_columns):
        return [by_cones]
    q, cost = epigraph_of(problem).q, cost_of_run(problem.design)
    has_system = min(problem.design.shape) <= INTERIOR.largest_system
    budget = SETTINGS.trial_share * cost if has_system else inf
    is_large, trials = cost > SELECTION.least_cost, []
    if q == 1 and is_large:
        trials.append(
            Attempt("certain-labels", "certain labels often give the same model", budget)
        )
    rows_per_feature = problem.n_samples / (problem.n_variables - 1)
    is_tall = rows_per_feature >= SELECTION.many_rows
    is_sparse = not problem.design.dense and (rows_per_feature >= 1.0 or not has_system)
    suits = is_large and (is_tall or (q == 2 and is_sparse))
    if suits and problem.rows.shift_of_features(problem.penalty) is None:
        trials.append(Attempt("robust-multipliers", "the loss bends in few rows", budget))
    last_budget = SETTINGS.last_budget(cost) if has_system else inf
    last = Attempt("robust-hybrid-gradient", LAST, last_budget)
    return [*trials, by_cones, last] if has_system else [*trials, last]


def _method(name: str, run: Callable[..., None], **more: bool) -> Method:
    """A method for the problems of this plan, or with epsilon = 0 for ordinary ones of labels."""
    return Method(name, run, lambda problem: bool(problem.loss.of_labels), "a robust SVM", **more)


def _has_norm_of_all(problem: Problem) -> bool:
    return epigraph_of(problem).q == 1 and not len(problem.free_columns)


PUBLISHED = {f.__name__: _method(f.__name__, f, is_published=True) for f in (isg, ippa, hybrid)}
METHODS = {
    "certain-labels": Method(
        "certain-labels", certain_labels, _has_norm_of_all,
        "a robust SVM with norm 1 of all features",
    ),
    "robust-multipliers": _method("robust-multipliers", robust_multipliers),
    "robust-interior-point": _method("robust-interior-point", robust_interior_point),
    "robust-hybrid-gradient": _method("robust-hybrid-gradient", hybrid_gradient),
}  # fmt: skip
PLAN = Plan(_attempts, METHODS | PUBLISHED)


def robust_problem(
    design: Design, y: Array, weights: Array, *, epsilon: float, kappa: float = inf,
    norm: float = 1, ridge: float = 0.0, fit_intercept: bool = True,
    total_weight: float | None = None,
    bounds_of_free: dict[int, tuple[float, float]] | None = None,
) -> Problem:  # fmt: skip
    """The distributionally robust SVM as a problem.

    Parameters
    ----------
    design, y, weights, fit_intercept, total_weight
        See `skpd.problems.Problem`.
    epsilon : float
        Radius of the Wasserstein ball; the problem with 0 is solved as a `plain_problem`.
    kappa, ridge : float
        See `RobustTerms`.
    norm : {1, 2, inf}
        The q of the norm on w.
    bounds_of_free : dict, default=None
        The features that the norm leaves out, which are known exactly, with bounds on their
        coefficients that hold 0.

    Returns
    -------
    problem : Problem
    """
    loss, order, free = WorstCaseHinge(float(kappa)), None, NO_FEATURES
    if bounds_of_free:
        d, columns = design.shape[1], list(bounds_of_free)
        order = np.append(np.setdiff1d(np.arange(d), columns), columns)
        lower, upper = np.array(list(bounds_of_free.values()), dtype=float).T
        design = design.columns(order)
        free = FreeFeatures(np.arange(d)[-len(columns) :], lower, upper)
    rows = RowsWithRadius(design, y, weights, loss, fit_intercept, total_weight)
    lift = Radius(norm, float(kappa), float(ridge), order, free)
    return Problem(rows, lift.regularisation_at(None, float(epsilon)), lift=lift, plan=PLAN)


def plain_problem(problem: Problem) -> Problem:
    """The ordinary problem that is equivalent to a robust SVM with epsilon = 0.

    Its objective does not depend on the radius lam of the coefficients, except through the losses.
    For lam with

        kappa lam >= min(2 m_i, 1 + m_i)   for all rows,

    1 + m_i - kappa lam is at most max(1 - m_i, 0). So for every kappa > 0 the least value over
    lam >= ||w||_q is the mean hinge loss, which depends neither on kappa nor on the norm. Without
    a ridge all coefficients are free directions (`skpd.problems.free_directions`), and the
    objective is bounded below by 0, which is its value where a hyperplane separates the classes.
    """
    rows, ridge = problem.rows.as_kind(RowsWithRadius).of_hinge, problem.lift.as_kind(Radius).ridge
    penalty: Penalty = SquaredL2()
    if ridge == 0.0:
        penalty = Separable(np.zeros(rows.n_coefficients), 0.0, -inf, inf)
    return Problem(rows, Regularisation(penalty, ridge or 1.0), plan=Plan(by_rules, PUBLISHED))
