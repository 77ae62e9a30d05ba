"""A model as a point of a problem, and its certificate."""

from dataclasses import dataclass

import numpy as np

from ._rigorous import rigorous_certificate
from ._typing import Array
from .certificates import (
    Certificate,
    DualBound,
    certificate_of,
    dual_bound,
    primal_objective,
    relative_gap,
)
from .problem import Point, Problem
from .solvers import solve

__all__ = ["LinearFit"]


@dataclass(frozen=True)
class LinearFit:
    """Coefficients and an intercept that somebody found for a problem."""

    problem: Problem
    coef: Array
    intercept: float

    def certify(self, tol: float, max_iter: int, rigorous: bool) -> tuple[Certificate, float]:
        """Its certificate, and the relative gap to which the lower bound is optimal.

        The first dual point is the loss's gradient at the model. Unless that closes the gap
        to ``tol``, a solver improves on the model and on the dual point: then the lower bound
        is that of the solution.
        """
        problem = self.problem
        primal = primal_objective(problem, self.coef, self.intercept)
        z = problem.matvec(problem.join(self.coef, self.intercept))
        theta = problem.dual_point(z)
        point = best = Point(self.coef, self.intercept, theta)
        bound = dual_bound(problem, theta, primal)
        gap = relative_gap(problem, primal - bound.value)
        # from the model if it is of any use, then from nothing, as some are a bad start
        for start in (point, None) if primal <= problem.null_objective else (None,):
            if gap <= tol:
                break
            found = solve(
                problem,
                tol=tol,
                max_iter=max_iter,
                random_state=np.random.RandomState(0),
                start=start,
            )
            if found.interrupted:
                raise KeyboardInterrupt
            gap = min(gap, found.certificate.relative_gap)
            if found.certificate.dual > bound.value:
                best = Point(found.coef, found.intercept, found.dual_coef)
                bound = DualBound(
                    found.certificate.dual,
                    found.certificate.kind,
                    found.dual_coef,
                    found.certificate.radius,
                    found.certificate.intercept_radius,
                )
        if not rigorous:
            return certificate_of(problem, primal, bound)[0], gap
        point = Point(self.coef, self.intercept, bound.theta)
        return rigorous_certificate(problem, point, best, bound.kind), gap
