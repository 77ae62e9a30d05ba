"""Fitted models as points of problems of this package, and their certificates."""

from dataclasses import dataclass, replace

import numpy as np

from .. import certificates
from .._typing import Array, Numbers
from ..certificates import Certificate
from ..certificates.rigorous import rigorous_certificate
from ..formulation.following import point_of
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
        return certificates.primal_objective(self.problem, self.coef, self.intercept)

    def certify(self, tol: float, max_iter: int, rigorous: bool) -> tuple[Certificate, float]:
        """The certificate of the model, and the relative gap of the best model and lower bound.

        The first dual point is the gradient of the loss at the model. Unless its gap is at most
        ``tol``, a solver finds a better model and dual point, and the lower bound is that of the
        solution.
        """
        problem, primal, model = self.problem, self.primal, (self.coef, self.intercept)
        theta = problem.dual_point_of(*model)
        point = best = Point(*model, theta)
        bound, solved = certificates.dual_bound(problem, theta, primal), None
        gap = certificates.relative_gap(problem, primal, bound.value)
        # start from the model if it is better than a constant, then without a start, as a model
        # may be a bad one
        for start in (point, None) if primal <= problem.null_objective else (None,):
            if gap <= tol:
                break
            numbers = np.random.RandomState(0)
            solution = solve(
                problem, tol=tol, max_iter=max_iter, random_state=numbers, start=start
            )
            if solution.interrupted:
                raise KeyboardInterrupt
            gap = min(gap, solution.certificate.relative_gap)
            if solution.certificate.dual > bound.value:
                best = point_of(solution)
                solved = solution.certificate
                radii = solved.radius, solved.intercept_radius
                bound = certificates.DualBound(solved.dual, solved.kind, best.dual_coef, *radii)
        if not rigorous:
            certificate = certificates.certificate_of(problem, primal, bound, model)[0]
            if solved is not None:  # bounds on optimal models do not depend on the model
                certificate = replace(certificate, implied_bounds=solved.implied_bounds)
            return certificate, gap
        better = best.coef, best.intercept
        return rigorous_certificate(problem, model, better, bound), gap
