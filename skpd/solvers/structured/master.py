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
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Array
from ...designs import Design
from ...penalties import Penalty
from ...penalties.weighted import with_coefficient
from ...problems import Problem
from ..interior.method import minimise
from ..interior.programme import Programme
from ..interior.terms import Intervals
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
    return with_coefficient(problem.penalty, n_coefficients, 0.0)


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
    problem, slopes, d = cuts.problem, cuts.slopes, cuts.problem.n_coefficients
    if problem.penalty.is_ridge and rho == 0.0 and len(cuts) < d:
        with suppress(LinAlgError):
            return minimised_with_ridge(cuts, accuracy)
    penalty = _penalty_of_variables(problem, d).for_n_features(slopes.shape[1])
    programme = _CutsProgramme(_Planes(np.array(slopes), cuts.losses, penalty, problem))
    if rho > 0.0 and centre is not None:
        programme.stay_near(centre, rho)
    minimise(programme, accuracy)
    variables, shares = programme.point().coef, programme.losses[0].multipliers
    return variables, np.where(shares > SETTINGS.least_share, shares, 0.0)


class _Planes:
    """Planes and a penalty, with the interface of a problem whose rows are the planes."""

    fit_intercept = True
    total_weight = constraints = None

    def __init__(self, slopes: Array, losses: Array, penalty: Penalty, problem: Problem) -> None:
        self.design, self.y, self.penalty = Design(slopes), losses, penalty
        self.n_samples, self.n_coefficients = slopes.shape
        # equal weights of the planes, which determine the scales of the columns
        self.weights = np.full(self.n_samples, 1.0 / self.n_samples)
        self.alpha, self.objective_unit = problem.alpha, problem.objective_unit
        self.prediction_scale = problem.objective_unit


class _CutsProgramme(Programme):
    """The programme of -t' + alpha R(w) for t' = -t, subject to e_k + g_k.w + t' <= 0."""

    def __init__(self, planes: Any) -> None:
        super().__init__(planes)
        d = self.n_coefficients
        # as columns are centred, t' is the unknown after the coefficients minus mean.w
        self.cost[d], self.cost[:d] = -1.0, self.mean
        unit = planes.objective_unit
        self.losses = [Intervals(
            self.predictions, offset=-planes.y, lower=0.0, upper=inf, x=self.x,
            width=unit, slope=1.0 / planes.n_samples,
        )]  # fmt: skip
        planes.penalty.add_cones(self, planes.alpha)

    def _first_intercept(self) -> float:
        """The first -t, which is somewhat below minus all planes at 0."""
        return -2.0 * self.problem.objective_unit

    def stay_near(self, centre: Array, rho: float) -> None:
        """Add rho ||coef - centre||^2 / 2."""
        coefficients = slice(self.n_coefficients)
        self.ridge[coefficients] += rho
        self.cost[coefficients] -= rho * centre[self.basis.order]
