"""An interior-point method for the restricted problems of boosting.

With U the edge vectors of the hypotheses as rows, the problem of `skpd.problems.boosting` is ::

    minimise t + entropy KL(w, c)   subject to   U w + s = t,  w + v = caps,  sum_i w_i = 1,

with slacks s, w, v >= 0. Their multipliers are the mixture a, z and y. At an optimum the products
of slacks and multipliers are 0, sum_h a_h = 1, and with a multiplier rho of the sum of w ::

    entropy (log(w / c) + 1) + U' a - rho - z + y = 0.

A step linearises these equations (Mehrotra, 1992). With the diagonal matrix
D = z / w + y / v + entropy / w, what is left is a system U D^-1 U' + diag(s / a) in the mixture.
Far from the optimum its solutions are in the middle of the solutions that are nearly as good,
which takes column generation fewer rounds than vertices do (Gondzio, Gonzalez-Brevis and Munari,
New developments in the primal-dual column generation technique, 2013).
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..._typing import Array
from ...problems.boosting import BoostingProblem
from .settings import SETTINGS


class Pair(NamedTuple):
    """A distribution over the rows and a mixture of the hypotheses, both without a proof.

    ``reached`` is whether the method has reached the requested accuracy.
    """

    w: Array
    mixture: Array
    reached: bool


class _Step(NamedTuple):
    """Changes of the slacks (s, w, v), of the multipliers (a, z, y), and of rho and t."""

    slacks: list[Array]
    multipliers: list[Array]
    rho: float
    t: float


class _Iterate:
    """Slacks and multipliers that are positive, and obey the equations up to residuals.

    Attributes
    ----------
    slacks : list of ndarray
        The slacks s, w, v.
    multipliers : list of ndarray
        Their multipliers a, z, y.
    t, rho : float
    degree : int
        The number of products of slacks and multipliers.
    inverse : ndarray of shape (n_samples,)
        The diagonal of D^-1. `factorise` computes it and what follows.
    factor : tuple
        The Cholesky factor of the system.
    sums : ndarray of shape (n_hypotheses,)
        U D^-1 1.
    of_t, of_rho : ndarray of shape (n_hypotheses,)
        The solutions of the system for 1 and for ``sums``.
    residual_w, residual_s : ndarray
        The residuals of the equations in w and in s.
    """

    def __init__(self, problem: BoostingProblem, edges: Array) -> None:
        self.problem, self.edges = problem, edges
        w = problem.weights / np.sum(problem.weights)
        values, a = edges @ w, np.full(len(edges), 1.0 / len(edges))
        highest = float(np.max(values))
        self.t = highest + SETTINGS.first_slack * (1.0 + highest - float(np.min(values)))
        gradient = a @ edges
        self.rho = float(w @ gradient)
        reduced = gradient - self.rho
        z = np.maximum(reduced, 0.0) + np.abs(reduced) + SETTINGS.first_slack
        self.slacks = [self.t - values, w, problem.caps - w]
        self.multipliers = [a, z, z - reduced]
        self.degree = sum(map(len, self.slacks))

    @property
    def products(self) -> float:
        """The sum of the products of slacks and multipliers."""
        return float(sum(x @ y for x, y in zip(self.slacks, self.multipliers, strict=True)))

    def factorise(self) -> None:
        """Compute what the systems of the predictor and of the corrector share."""
        (s, w, v), (a, z, y) = self.slacks, self.multipliers
        entropy, c, n_hypotheses = self.problem.entropy, self.problem.weights, len(a)
        self.inverse = 1.0 / (z / w + y / v + entropy / w)
        matrix = (self.edges * self.inverse) @ self.edges.T
        diagonal = matrix.diagonal() + s / a
        matrix.flat[:: n_hypotheses + 1] = (1.0 + SETTINGS.diagonal_growth) * diagonal
        self.factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        self.sums = self.edges @ self.inverse
        self.of_t = cho_solve(self.factor, np.ones(n_hypotheses), check_finite=False)
        self.of_rho = cho_solve(self.factor, self.sums, check_finite=False)
        slope = entropy * (np.log(w / c) + 1.0) if entropy else 0.0
        self.residual_w = slope + a @ self.edges - self.rho - z + y
        self.residual_s = self.t - self.edges @ w - s

    def newton(self, changes: list[Array]) -> _Step:
        """The step in which the linearised products of the three pairs change by ``changes``."""
        (_, w, v), (a, z, y) = self.slacks, self.multipliers
        change_s, change_w, change_v = changes
        q = change_w / w - change_v / v - self.residual_w
        right_side = self.edges @ (q * self.inverse) - self.residual_s + change_s / a
        da = cho_solve(self.factor, right_side, check_finite=False)
        # the two equations sum(a) = 1 and sum(w) = 1, in the changes of rho and t
        equations = [
            [np.sum(self.of_rho), -np.sum(self.of_t)],
            [np.sum(self.inverse) - self.sums @ self.of_rho, self.sums @ self.of_t],
        ]
        of_w = self.inverse @ q - self.sums @ da
        rho, t = np.linalg.solve(equations, [1.0 - np.sum(a) - np.sum(da), 1.0 - np.sum(w) - of_w])
        da += rho * self.of_rho - t * self.of_t
        dw = (q + rho - da @ self.edges) * self.inverse
        slacks = [self.residual_s + t - self.edges @ dw, dw, -dw]
        dz, dy = (change_w - z * dw) / w, (change_v + y * dw) / v
        return _Step(slacks, [da, dz, dy], rho, t)

    def lengths(self, step: _Step) -> tuple[float, float]:
        """The longest steps, up to 1, that keep slacks and multipliers from being negative."""
        primal = min(map(_longest, self.slacks, step.slacks))
        dual = min(map(_longest, self.multipliers, step.multipliers))
        if self.problem.entropy > 0.0:  # whose slope ties multipliers to w
            primal = dual = min(primal, dual)
        return primal, dual

    def move(self, step: _Step, primal: float, dual: float) -> None:
        self.slacks = [x + primal * dx for x, dx in zip(self.slacks, step.slacks, strict=True)]
        pairs = zip(self.multipliers, step.multipliers, strict=True)
        self.multipliers = [x + dual * dx for x, dx in pairs]
        self.t, self.rho = self.t + primal * step.t, self.rho + dual * step.rho

    def advance(self, goal: float) -> None:
        """Take a step to products of which the sum is ``goal`` at the least.

        Raises
        ------
        LinAlgError
            If rounding errors make the system indefinite.
        """
        self.factorise()
        pairs = list(zip(self.slacks, self.multipliers, strict=True))
        predictor = self.newton([-x * y for x, y in pairs])
        primal, dual = self.lengths(predictor)
        steps = list(zip(predictor.slacks, predictor.multipliers, strict=True))
        predicted = sum(
            (x + primal * dx) @ (y + dual * dy)
            for (x, y), (dx, dy) in zip(pairs, steps, strict=True)
        )
        remaining = (predicted / self.products) ** SETTINGS.centring_power
        product = max(remaining * self.products, goal) / self.degree
        corrector = self.newton([
            product - x * y - dx * dy for (x, y), (dx, dy) in zip(pairs, steps, strict=True)
        ])  # fmt: skip
        primal, dual = self.lengths(corrector)
        self.move(corrector, SETTINGS.boundary_share * primal, SETTINGS.boundary_share * dual)


def _longest(x: Array, step: Array) -> float:
    fastest = float(np.min(step / x))
    return min(1.0, -1.0 / fastest) if fastest < 0.0 else 1.0


def interior_point(problem: BoostingProblem, edges: Array, start: Array, gap: float) -> Pair:
    """Solve a restricted problem by predictor and corrector steps, to a gap of two bounds.

    The method starts in the middle; ``start`` is a mixture to return where it finds none. The
    other parameters are those of `skpd.solvers.boosting.restricted.accelerated_gradients`.
    """
    if np.min(problem.caps - problem.weights) <= 0.0:  # nu is 1: there is one distribution
        mixture = np.zeros(len(edges))
        mixture[np.argmax(edges @ problem.weights)] = 1.0
        return Pair(problem.weights, mixture, reached=True)
    iterate = _Iterate(problem, edges)
    best, upper, lower = Pair(problem.weights, start, reached=False), np.inf, -np.inf
    with np.errstate(all="ignore"):
        for _ in range(SETTINGS.most_steps):
            w, a = problem.feasible(iterate.slacks[1]), iterate.multipliers[0]
            value = problem.entropy * problem.divergence(w)[0] + float(np.max(edges @ w))
            if value < upper:
                best, upper = best._replace(w=w), value
            mixture = a / np.sum(a)
            value = problem.distribution(mixture @ edges)[0]
            if value > lower:
                best, lower = best._replace(mixture=mixture), value
            if upper - lower <= gap:
                return best._replace(reached=True)
            try:
                iterate.advance(SETTINGS.products_share * gap)
            except LinAlgError:
                break
            if not np.isfinite(iterate.products):
                break
    return best
