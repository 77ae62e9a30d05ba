"""The master problem of cutting planes: the maximum of the planes plus the penalty.

    minimise over x = (w, b), t   t + alpha R(w) + rho ||x - centre||^2 / 2
    subject to                    e_k + g_k.w + s_k b <= t  for all k

With fewer planes than coefficients, half the squared norm leaves a quadratic programme in the
multipliers of the constraints, which are the shares of the labelings
(`skpd.solvers.structured.ridge_master`). For more planes, which depend on each other, for other
penalties, near a centre, and where rounding errors end that method, the interior-point method for
problems (`skpd.solvers.interior`) has the planes as rows. The intercept of these rows is -t, and b
is a coefficient that the penalty leaves free.
"""

from contextlib import suppress
from math import inf

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Array
from ...designs import Design
from ...losses import Hinge
from ...penalties import Penalty
from ...penalties.weighted import with_extra_coefficient
from ...problems import Problem, linear_problem
from ..interior.loss_terms import Intervals
from ..interior.method import minimise
from ..interior.programme import Programme
from ..interior.representation import Representation
from .cuts import Cuts
from .ridge_master import minimised_with_ridge
from .settings import SETTINGS


def require_master(problem: Problem, other: str) -> None:
    """Raise a ValueError if no method solves the master problem with the penalty of a problem.

    ``other`` is what takes such a penalty.
    """
    if not _penalty_of_variables(problem, problem.n_coefficients).has_cones:
        raise ValueError(
            "penalty must be one whose problem cutting planes leave can be solved, got "
            f"{problem.penalty!r}: {other} takes it."
        )


def _penalty_of_variables(problem: Problem, n_coefficients: int) -> Penalty:
    """The penalty on the coefficients, followed by the intercept as a free coefficient."""
    if not problem.fit_intercept:
        return problem.penalty
    return with_extra_coefficient(problem.penalty, n_coefficients, 0.0)


def minimised(
    cuts: Cuts, accuracy: float, centre: Array | None = None, rho: float = 0.0
) -> tuple[Array, Array]:
    """The minimiser of the planes and the penalty near a centre, and the shares of the planes.

    Parameters
    ----------
    cuts : Cuts
    accuracy : float
        The largest allowed difference of the value from the minimum.
    centre : ndarray of shape (n_variables,), default=None
        The centre of the proximal term.
    rho : float, default=0.0
        The weight of half the squared distance from the centre.

    Returns
    -------
    variables : ndarray of shape (n_variables,)
        The coefficients, followed by the intercept if there is one.
    shares : ndarray of shape (n_cuts,)
        The shares of the planes, which sum to 1 up to the accuracy.

    Raises
    ------
    LinAlgError
        If rounding errors end the method before it has a solution.
    """
    problem, d = cuts.problem, cuts.problem.n_coefficients
    if problem.penalty.is_ridge and rho == 0.0 and len(cuts) < d:
        with suppress(LinAlgError):
            return minimised_with_ridge(cuts, accuracy)
    programme = _programme(cuts, _penalty_of_variables(problem, d))
    if rho > 0.0 and centre is not None:
        programme.ridge[: len(centre)] += rho
        programme.cost[: len(centre)] -= rho * centre[programme.basis.order]
    minimise(programme, accuracy)
    variables, shares = programme.point().coef, programme.losses[0].multipliers
    return variables, np.where(shares > SETTINGS.least_share, shares, 0.0)


def _programme(cuts: Cuts, penalty: Penalty) -> Programme:
    """The programme of -t' + alpha R(w) for t' = -t, subject to e_k + g_k.w + t' <= 0."""
    unit, alpha, n = cuts.problem.objective_unit, cuts.problem.alpha, len(cuts)
    # equal weights of the planes, which determine the scales of the columns
    planes = linear_problem(
        Design(np.array(cuts.slopes)), cuts.losses, np.full(n, 1.0 / n), Hinge(), penalty, alpha,
        fit_intercept=True,
    )  # fmt: skip
    programme = Programme(planes, unit)
    programme.minimise_minus_intercept()
    programme.x[-1] = -2.0 * unit  # somewhat below minus all planes at 0
    programme.losses.append(Intervals(
        programme.predictions, offset=-programme.y, lower=0.0, upper=inf, x=programme.x,
        width=unit, slope=1.0 / n,
    ))  # fmt: skip
    planes.penalty.add_cones(Representation(programme), alpha)
    return programme
