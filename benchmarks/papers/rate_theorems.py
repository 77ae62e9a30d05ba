"""The epochs after which the theorems of Dünner et al. guarantee a duality gap.

A problem is (A), f(A v) + sum_i g_i(v_i) over v of n coordinates, f smooth with the constant
1 / beta. An epoch is n coordinates. All guarantees are for expectations.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import svds


@dataclass(frozen=True)
class ProblemA:
    """The constants of a problem and of the start of a method.

    ``squares`` are the ||a_i||^2, of which the largest is R^2; ``spectral`` is sigma, the squared
    spectral norm of A; ``excess`` the objective at the start minus the optimum, and ``distance``
    the sum of ||a_i||^2 / beta times the square of the distance of v_i from an optimum. g_i* is
    ``lipschitz`` continuous, or, if that is inf, g_i is ``strong_convexity`` convex.
    ``diameter`` is the largest Euclidean distance of two points of the support of g.
    """

    squares: np.ndarray
    spectral: float
    beta: float
    excess: float
    distance: float
    lipschitz: float = np.inf
    diameter: float = np.inf
    strong_convexity: float = 0.0

    @property
    def n(self):
        return len(self.squares)

    @property
    def effect(self):
        """4 L^2 R^2 / beta, the F of the proof of Theorem 2 on coordinate descent."""
        return 4.0 * self.lipschitz**2 * float(np.max(self.squares)) / self.beta

    @property
    def first_steps(self):
        """t_0, the steps until the objective is within n F."""
        return max(0.0, self.n * log(2.0 * self.excess / (self.n * self.effect)))

    @property
    def spread(self):
        """sigma diameter^2 / beta."""
        return self.spectral * self.diameter**2 / self.beta

    @property
    def condition(self):
        """1 + R^2 / (mu beta)."""
        return 1.0 + float(np.max(self.squares)) / (self.strong_convexity * self.beta)


def average_of_the_last(problem, gap, burn_in):
    """Algorithm 1, the average after a share ``burn_in`` of the steps; g_i* Lipschitz."""
    n, effect = problem.n, problem.effect
    before = problem.first_steps + max(0.0, 4.0 * effect * n**2 / gap - 2.0 * n)
    after = max(n, effect * n**2 / gap)
    return max(before / burn_in, after / (1.0 - burn_in)) / n


def last_iterate(problem, gap):
    """Algorithm 1, whose objective is within 2 F n^2 / (2 n + t - t_0), by the theorem that turns
    such a bound e into one on the gap, sqrt(2 spread e) for e below spread / 2."""
    n = problem.n
    excess = min(gap**2 / (2.0 * problem.spread), problem.spread / 2.0)
    return (problem.first_steps + max(0.0, 2.0 * problem.effect * n**2 / excess - 2.0 * n)) / n


def _approx(problem, excess, tau, stretch):
    """APPROX, whose objective is within 4 n^2 C / ((k - 1) tau + 2 n)^2 after k steps."""
    n = problem.n
    constant = (1.0 - tau / n) * problem.excess + 0.5 * stretch * problem.distance
    return max(tau, sqrt(4.0 * n**2 * constant / excess) - 2.0 * n + tau) / n


def approx(problem, gap, tau=1, stretch=1.0):
    """APPROX with sets of tau coordinates, the curvatures ``stretch`` times those of tau = 1, by
    the same theorem; g* Lipschitz."""
    excess = min(gap**2 / (2.0 * problem.spread), problem.spread / 2.0)
    return _approx(problem, excess, tau, stretch)


def linear(problem, gap):
    """Algorithm 1 for strongly convex g_i."""
    condition = problem.condition
    return max(0.0, condition * log(problem.n * condition * problem.excess / gap))


def approx_strongly_convex(problem, gap):
    """APPROX for strongly convex g: the gap is at most 1 + sigma / (mu beta) times the excess."""
    factor = 1.0 + problem.spectral / (problem.strong_convexity * problem.beta)
    return _approx(problem, gap / factor, 1, 1.0)


def _spectral(X):
    return float(svds(X, 1, return_singular_vectors=False, random_state=0)[0]) ** 2


def _squares(X, axis):
    return np.asarray((X.multiply(X) if issparse(X) else X * X).sum(axis=axis))


def primal(X, smoothness, start, optimum, coef, *, alpha_l1=0.0, ridge=0.0):
    """The mean of a loss with this smoothness plus an elastic net, from w = 0 and its objective
    ``start``. Without a ridge the Lipschitzing trick is used, with B = start / alpha."""
    squares, beta = _squares(X, 0).ravel(), X.shape[0] / smoothness
    radius = start / alpha_l1 if alpha_l1 else np.inf
    limits = {"lipschitz": radius, "diameter": 2.0 * radius}
    return ProblemA(
        squares, _spectral(X), beta, start - optimum, float(squares @ np.ravel(coef) ** 2) / beta,
        **({"strong_convexity": ridge} if ridge else limits),
    )  # fmt: skip


def dual(X, ridge, optimum, *, theta=np.nan, smoothness=np.inf):
    """The dual of such a problem from v = 0; theta is an optimum, or as large as one may be. A
    loss that is not smooth has slopes in an interval of length 1."""
    n, squares = X.shape[0], _squares(X, 1).ravel()
    limits = {"lipschitz": 1.0 / n, "diameter": 1.0 / sqrt(n)}
    return ProblemA(
        squares, _spectral(X), ridge, optimum, float(np.sum(squares * (theta / n) ** 2)) / ridge,
        **({"strong_convexity": n / smoothness} if np.isfinite(smoothness) else limits),
    )  # fmt: skip
