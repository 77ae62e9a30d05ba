"""Fitted models as points of problems of this package, and their certificates."""

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array, Numbers
from ..certificates import (
    Certificate,
    DualBound,
    certificate_of,
    dual_bound,
    primal_objective,
    relative_gap,
)
from ..certificates.rigorous import rigorous_certificate
from ..problems import Point, Problem
from ..solvers import solve


@dataclass(frozen=True)
class LinearFit:
    """Coefficients and intercepts from any source, as a point of a problem."""

    problem: Problem
    coef: Array
    intercept: Numbers

    @property
    def primal(self) -> float:
        """The objective value of the model, rounded up."""
        return primal_objective(self.problem, self.coef, self.intercept)

    def certify(self, tol: float, max_iter: int, rigorous: bool) -> tuple[Certificate, float]:
        """The certificate of the model, and the relative gap of the best model and lower bound.

        The first dual point is the gradient of the loss at the model. Unless its gap is at most
        ``tol``, a solver finds a better model and dual point, and the lower bound is that of the
        solution.
        """
        problem, primal = self.problem, self.primal
        theta = problem.dual_point_of(self.coef, self.intercept)
        point = best = Point(self.coef, self.intercept, theta)
        bound, solved = dual_bound(problem, theta, primal), None
        gap = relative_gap(problem, primal, bound.value)
        # start from the model if it is better than a constant, then without a start, as a model
        # may be a bad one
        for start in (point, None) if primal <= problem.null_objective else (None,):
            if gap <= tol:
                break
            solution = solve(
                problem,
                tol=tol,
                max_iter=max_iter,
                random_state=np.random.RandomState(0),
                start=start,
            )
            if solution.interrupted:
                raise KeyboardInterrupt
            gap = min(gap, solution.certificate.relative_gap)
            if solution.certificate.dual > bound.value:
                best = Point(solution.coef, solution.intercept, solution.dual_coef)
                solved = solution.certificate
                radii = solved.radius, solved.intercept_radius
                bound = DualBound(solved.dual, solved.kind, solution.dual_coef, *radii)
        if not rigorous:
            model = self.coef, self.intercept
            certificate = certificate_of(problem, primal, bound, model)[0]
            if solved is not None:  # bounds on optimal models do not depend on the model
                certificate = replace(certificate, implied_bounds=solved.implied_bounds)
            return certificate, gap
        model, better = (self.coef, self.intercept), (best.coef, best.intercept)
        return rigorous_certificate(problem, model, better, bound), gap
