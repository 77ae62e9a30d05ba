"""A primal-dual interior-point method for the distributionally robust SVM.

With slacks s_i of the row losses, the problem is the conic programme ::

    minimise    epsilon lam + sum_i c_i s_i + ridge ||w||^2 / 2
    subject to  s_i >= 1 - m_i (p_i),  s_i >= 1 + m_i - kappa lam (r_i),  s_i >= 0 (t_i),
                ||w||_q <= lam (zeta)

with multipliers p_i + r_i + t_i = 1 and zeta in the dual cone. Along the central path each
product of a slack and its multiplier is mu for a row and far less for the cone (a row's weight
is its weight in the barrier, so that a weight of 2 equals a repeated row). A Newton step
for it, with everything of a row and of the cone eliminated, is one linear system in
(w, b, lam): a Gram matrix of X, a diagonal and a few borders. Predictor and corrector are those
of Mehrotra (1992), the scaling of the second-order cone is that of Nesterov and Todd (1997).
"""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._typing import Array
from ..certificates import relative_gap
from ..design import Design
from ..penalties import L1, L2
from ..problem import Point
from ..robust import RobustProblem
from .monitor import Monitor
from .threads import blas_threads_for

__all__ = ["interior_point"]

LARGEST_SYSTEM = 4000  # its matrix takes 128 MB
CONE_WEIGHT = 1e-4  # of the cone's products, those of all rows being 1
STEP = 0.95  # of the way to the boundary
PATIENCE = 12  # iterations without a tenth off the sum of the products
REFINEMENTS = 8  # of a solution in the rows' system
CHEAP = 100.0  # entries of a row from which on a certificate costs little beside a Gram matrix


def interior_point(
    problem: RobustProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """A primal-dual interior-point method, where features or rows are at most a few thousand.

    Each iteration costs a Gram matrix of the smaller side of X with its factorisation, and six
    products. The iterations, some 10 to 50, hardly depend on the data. It ends
    unfinished where rounding keeps the products of slacks and multipliers from falling.

    Parameters
    ----------
    problem, monitor, max_iter
        As for `skpd.solvers.pdprox.pdprox_dual`; an iteration is a Newton step.
    start, random_state
        Not used: the start is well inside the cones.
    """
    state = _State(problem)
    first = n_iter = monitor.n_iter
    checked, checked_at = inf, n_iter
    rarely = min(10.0, CHEAP * problem.n_samples / max(problem.design.matrix.n_entries, 1))
    best, best_at = inf, n_iter
    with blas_threads_for(state.system.size), np.errstate(all="ignore"):
        while True:
            products = state.products()
            if not np.isfinite(products):
                return
            gap = relative_gap(problem, products)
            if products < 0.9 * best:
                best, best_at = products, n_iter
            last = n_iter >= max_iter or n_iter > best_at + PATIENCE
            waited = n_iter >= checked_at + rarely
            if n_iter > first and (gap <= monitor.tol or gap < checked / 30.0 or waited or last):
                monitor.check(n_iter, state.point())
                checked, checked_at = gap, n_iter
            if monitor.done or last:
                return
            try:
                state.step(products)
            except LinAlgError:
                monitor.check(n_iter, state.point())
                return
            n_iter += 1


class _State:
    """The iterates: w, b, lam; slacks and multipliers of rows and of the cone."""

    def __init__(self, problem: RobustProblem) -> None:
        self.problem = problem
        self.counted = np.flatnonzero(problem.weights > 0.0)
        self.y, self.weights = problem.y[self.counted], problem.weights[self.counted]
        n, d = len(self.counted), problem.n_features
        self.design = problem.design
        if n < problem.n_samples:
            self.design = problem.design.rows(self.counted)
        self.flips = problem.kappa < inf
        self.kappa = problem.kappa if self.flips else 0.0
        self.w, self.intercept = np.zeros(d), 0.0
        norm = sqrt(float(np.sum(problem.squares[:d])))
        self.radius = 10.0 / max(problem.epsilon, norm)
        flipped = min(1.0 / 3.0, 0.5 * problem.epsilon / problem.kappa)
        # multipliers p, r, t; the slacks at w = 0 and s = 2
        self.dual = np.empty((3, n))
        self.dual[0], self.dual[1] = 1.0 / 3.0, flipped
        self.dual[2] = 2.0 / 3.0 - flipped
        self.slack = np.ones((3, n))
        self.slack[1] += self.kappa * self.radius
        self.slack[2] += 1.0
        cone: type[_L1Cone] | type[_L2Cone] | type[_LInfCone] = _LInfCone
        if isinstance(problem.norm, L1):
            cone = _L1Cone
        elif isinstance(problem.norm, L2):
            cone = _L2Cone
        self.cone = cone(d, self.radius, problem.epsilon - self.kappa * flipped)
        self.cone_weight = CONE_WEIGHT
        self.system = _System(self.design, problem.fit_intercept, problem.ridge)

    def point(self) -> Point:
        theta = np.zeros((2, self.problem.n_samples))
        theta[:, self.counted] = self.dual[:2] / self.dual.sum(axis=0)
        return Point(self.w.copy(), self.intercept, theta)

    def products(self) -> float:
        """The sum of the products of slacks and multipliers: the gap, of feasible points."""
        rows = self.slack[0] * self.dual[0] + self.slack[2] * self.dual[2]
        if self.flips:
            rows += self.slack[1] * self.dual[1]
        return float(self.weights @ rows) + self.cone.product()

    def step(self, products: float) -> None:
        """A predictor step to mu = 0, then the step that aims at what it promises."""
        self._factorise()
        zero = np.zeros_like(self.slack)
        affine = self._newton(zero, self.cone.target(0.0, None))
        mu = products / (2.0 + self.flips + self.cone_weight * self.cone.degree)
        primal, dual = self._lengths(affine, 1.0)
        after = float(np.sum(
            self.weights
            * (self.slack + primal * affine.slack) * (self.dual + dual * affine.dual)
        ))  # fmt: skip
        after += float(
            (self.cone.slack + primal * affine.cone_slack)
            @ (self.cone.dual + dual * affine.cone_dual)
        )
        mu *= min(1.0, max(after / products, 0.0)) ** 3
        found = self._newton(
            mu - affine.slack * affine.dual, self.cone.target(mu * self.cone_weight, affine)
        )
        primal, dual = self._lengths(found, STEP)
        self.w = self.w + primal * found.w
        self.intercept += primal * found.intercept
        self.radius += primal * found.radius
        self.slack += primal * found.slack
        self.dual += dual * found.dual
        self.cone.slack = self.cone.slack + primal * found.cone_slack
        self.cone.dual = self.cone.dual + dual * found.cone_dual

    def _factorise(self) -> None:
        """The system of all Newton steps from here, everything of a row eliminated."""
        kappa = self.kappa
        self.ratio = self.dual / self.slack
        if not self.flips:
            self.ratio[1] = 0.0
        one, two, three = self.ratio
        self.total = one + two + three
        # second derivatives of the rows' barriers in (m, lam)
        margin = (4.0 * one * two + (one + two) * three) / self.total
        mixed = -kappa * two * (2.0 * one + three) / self.total
        radius = kappa * kappa * two * (one + three) / self.total
        self.system.factorise(
            self.weights * margin,
            self.weights * self.y * mixed,
            float(self.weights @ radius),
            self.cone,
        )

    def _newton(self, target: Array, cone_target: Array) -> "_Direction":
        """The Newton step to products of slacks and multipliers equal to the targets."""
        problem, kappa, weights, y = self.problem, self.kappa, self.weights, self.y
        one, two = self.ratio[:2]
        wanted = target / self.slack - self.dual
        if not self.flips:
            wanted[1] = -self.dual[1]
        sums = (wanted.sum(axis=0) - (1.0 - self.dual.sum(axis=0))) / self.total
        # changes of p - r and of r for dm = dlam = 0, beside p - r and r themselves
        rows = (
            weights
            * y
            * (self.dual[0] - self.dual[1] + wanted[0] - wanted[1] - (one - two) * sums)
        )
        flipped = self.dual[1] + wanted[1] - two * sums
        cone_w, cone_radius, cone_border = self.cone.right_side(cone_target)
        zeta_w, zeta_radius = self.cone.multipliers()
        dw, db, dradius, border = self.system.solve(
            self.design.rmatvec(rows) + zeta_w + cone_w - problem.ridge * self.w,
            float(np.sum(rows)),
            kappa * float(weights @ flipped) - problem.epsilon + zeta_radius + cone_radius,
            cone_border,
        )
        margins = y * (self.design.matvec(dw) + db)
        slack = np.empty_like(self.slack)
        slack[2] = sums - ((one - two) * margins + two * (kappa * dradius)) / self.total
        slack[0] = slack[2] + margins
        slack[1] = slack[2] - margins + kappa * dradius if self.flips else 0.0
        cone_slack, cone_dual = self.cone.step(dw, dradius, border)
        return _Direction(
            dw, db, dradius, slack, wanted - self.ratio * slack, cone_slack, cone_dual
        )

    def _lengths(self, step: "_Direction", share: float) -> tuple[float, float]:
        """Primal and dual step lengths that keep to the inside; one for both with a ridge."""
        primal = min(
            _largest_step(self.slack, step.slack),
            self.cone.largest_step(self.cone.slack, step.cone_slack),
        )
        live = slice(None, None, None if self.flips else 2)  # r is 0 where labels are certain
        dual = min(
            _largest_step(self.dual[live], step.dual[live]),
            self.cone.largest_step(self.cone.dual, step.cone_dual),
        )
        primal, dual = min(1.0, share * primal), min(1.0, share * dual)
        if self.problem.ridge > 0.0:
            primal = dual = min(primal, dual)
        return primal, dual


@dataclass(frozen=True)
class _Direction:
    w: Array
    intercept: float
    radius: float
    slack: Array
    dual: Array
    cone_slack: Array
    cone_dual: Array


def _largest_step(x: Array, change: Array) -> float:
    """The largest t with x + t change >= 0."""
    fastest = float(np.min(change / x, initial=0.0))
    return -1.0 / fastest if fastest < 0.0 else inf


class _System:
    """The Newton systems: X' diag(h) X plus a diagonal, bordered by lam and what is dense.

    Where the rows are fewer than the features, it is the rows' system (Woodbury)
    with the intercept as another border, and refined.
    """

    def __init__(self, design: Design, fit_intercept: bool, ridge: float) -> None:
        n, d = design.shape
        self.design, self.fit_intercept, self.ridge = design, fit_intercept, ridge
        self.few_rows = n < d and d > LARGEST_SYSTEM // 4
        self.size = min(n, d + fit_intercept)
        self.columns = np.arange(d)

    def factorise(self, h: Array, mixed: Array, radius: float, cone: Any) -> None:
        design, d = self.design, self.design.shape[1]
        cone.factorise()
        self.h, self.diagonal = h, cone.diagonal + self.ridge
        borders = [design.rmatvec(mixed) + cone.mixed]
        inside = [float(np.sum(mixed))]
        corner = [[radius + cone.radius]]
        if cone.border is not None:
            borders.append(cone.border)
            inside.append(0.0)
            corner = [[corner[0][0], cone.border_radius], [cone.border_radius, cone.corner]]
        if self.few_rows:
            self.root = np.sqrt(h)
            rows = np.arange(len(h))
            matrix = design.transposed.gram(1.0 / self.diagonal, rows, False)
            matrix *= self.root * self.root[:, np.newaxis]
            matrix.ravel()[:: len(h) + 1] += 1.0
            self.corner = np.array(corner)
            if self.fit_intercept:
                k = len(inside)
                borders.append(design.rmatvec(h))
                bottom = np.append(inside, float(np.sum(h)))
                self.corner = np.block([
                    [self.corner, bottom[:k, np.newaxis]], [bottom[np.newaxis]]
                ])  # fmt: skip
            self.borders = np.stack(borders, axis=1)
        else:
            matrix = design.gram(h, self.columns, self.fit_intercept)
            places = np.arange(d)
            matrix[places, places] += self.diagonal
            self.corner = np.array(corner)
            self.borders = np.stack(borders, axis=1)
            if self.fit_intercept:
                self.borders = np.vstack([self.borders, inside])
        self._cholesky(matrix)
        self.inverse_borders = self._inverse(self.borders)
        self.schur = self.corner - self.borders.T @ self.inverse_borders

    def _cholesky(self, matrix: Array) -> None:
        diagonal = matrix.diagonal().copy()
        for regularisation in (1e-14, 1e-12, 1e-10, 1e-8):
            np.fill_diagonal(matrix, diagonal * (1.0 + regularisation))
            try:
                self.factor = cho_factor(matrix, lower=True, check_finite=False)
                return
            except LinAlgError:
                continue
        raise LinAlgError

    def _inverse(self, right: Array) -> Array:
        """Solves with what is not a border."""
        if not self.few_rows:
            return cho_solve(self.factor, right, check_finite=False)
        if right.ndim == 2:
            return np.stack([self._inverse(column) for column in right.T], axis=1)
        # conjugate gradients, as the formula cancels where a feature is active
        found, left = np.zeros_like(right), right
        direction, before = np.zeros_like(right), 1.0
        for _ in range(REFINEMENTS):
            step = self._woodbury(left)
            size = float(step @ left)
            if not size > 0.0:
                break
            direction = step + (size / before) * direction
            image = self.diagonal * direction
            image += self.design.rmatvec(self.h * self.design.matvec(direction))
            length = size / float(direction @ image)
            found, left = found + length * direction, left - length * image
            before = size
            if np.max(np.abs(left)) <= 1e-13 * np.max(np.abs(right)):
                break
        return found

    def _woodbury(self, right: Array) -> Array:
        rows = self.root * self.design.matvec(right / self.diagonal)
        rows = self.root * cho_solve(self.factor, rows, check_finite=False)
        return (right - self.design.rmatvec(rows)) / self.diagonal

    def solve(
        self, w: Array, intercept: float, radius: float, border: float
    ) -> tuple[Array, float, float, float]:
        """dw, db, dlam and the border's unknown."""
        d = len(w)
        right, bottom = w, [radius, border][: self.corner.shape[0]]
        if self.few_rows:
            bottom = [radius, border][: len(self.schur) - self.fit_intercept]
            bottom += [intercept] * self.fit_intercept
        elif self.fit_intercept:
            right = np.append(w, intercept)
        found = self._inverse(right)
        unknowns = np.linalg.solve(self.schur, np.array(bottom) - self.borders.T @ found)
        found = found - self.inverse_borders @ unknowns
        db = 0.0
        if self.fit_intercept:
            db = float(unknowns[-1] if self.few_rows else found[d])
        k = len(unknowns) - (self.fit_intercept and self.few_rows)
        return found[:d], db, float(unknowns[0]), float(unknowns[1]) if k > 1 else 0.0


# The cones {||w||_q <= lam} with what a Newton step needs of them: curvature as a diagonal, parts
# shared with lam, and one unknown more (a border) where it is dense.


class _Polyhedral:
    """Slacks and multipliers that are numbers, with the target as their product."""

    mixed: Any = 0.0
    radius = 0.0
    border: Any = None
    border_radius = corner = 0.0
    slack: Array
    dual: Array
    degree: int

    def product(self) -> float:
        return float(self.slack @ self.dual)

    def target(self, mu: float, affine: _Direction | None) -> Array:
        if affine is None:
            return np.zeros_like(self.slack)
        return mu - affine.cone_slack * affine.cone_dual

    @staticmethod
    def largest_step(x: Array, change: Array) -> float:
        return _largest_step(x, change)


class _L1Cone(_Polyhedral):
    """u - w, u + w >= 0 and lam >= sum(u), whose multiplier is the border."""

    border_radius = -1.0

    def __init__(self, d: int, radius: float, multiplier: float) -> None:
        self.d, self.degree = d, 2 * d + 1
        self.slack = np.append(np.full(2 * d, 0.5 * radius / max(d, 1)), 0.5 * radius)
        self.dual = np.append(np.full(2 * d, 0.5 * multiplier), multiplier)

    def multipliers(self) -> tuple[Array, float]:
        """zeta, as its parts for w and for lam."""
        d = self.d
        return self.dual[d : 2 * d] - self.dual[:d], float(self.dual[-1])

    def factorise(self) -> None:
        d = self.d
        self.ratio = self.dual / self.slack
        one, two = self.ratio[:d], self.ratio[d : 2 * d]
        self.sums = one + two
        self.diagonal = 4.0 * one * two / self.sums
        self.border = (one - two) / self.sums
        self.corner = -1.0 / self.ratio[-1] - float(np.sum(1.0 / self.sums))

    def right_side(self, target: Array) -> tuple[Array, float, float]:
        d = self.d
        self.wanted = target / self.slack - self.dual
        one, two = self.wanted[:d], self.wanted[d : 2 * d]
        off = self.dual[-1] - self.dual[:d] - self.dual[d : 2 * d]
        self.shift = (one + two - off) / self.sums
        constant = self.wanted[-1] / self.ratio[-1] + float(np.sum(self.shift))
        return two - one + self.border * (one + two - off), 0.0, -constant

    def step(self, dw: Array, dradius: float, border: float) -> tuple[Array, Array]:
        du = self.shift + self.border * dw - border / self.sums
        slack = np.concatenate([du - dw, du + dw, [dradius - float(np.sum(du))]])
        return slack, self.wanted - self.ratio * slack


class _LInfCone(_Polyhedral):
    """lam - w, lam + w >= 0."""

    def __init__(self, d: int, radius: float, multiplier: float) -> None:
        self.d, self.degree = d, 2 * d
        self.slack = np.full(2 * d, radius)
        self.dual = np.full(2 * d, 0.5 * multiplier / max(d, 1))

    def multipliers(self) -> tuple[Array, float]:
        return self.dual[self.d :] - self.dual[: self.d], float(np.sum(self.dual))

    def factorise(self) -> None:
        self.ratio = self.dual / self.slack
        one, two = self.ratio[: self.d], self.ratio[self.d :]
        self.diagonal, self.mixed, self.radius = one + two, two - one, float(np.sum(self.ratio))

    def right_side(self, target: Array) -> tuple[Array, float, float]:
        self.wanted = target / self.slack - self.dual
        w = self.wanted[self.d :] - self.wanted[: self.d]
        return w, float(np.sum(self.wanted)), 0.0

    def step(self, dw: Array, dradius: float, border: float) -> tuple[Array, Array]:
        slack = np.concatenate([dradius - dw, dradius + dw])
        return slack, self.wanted - self.ratio * slack


class _L2Cone:
    """(lam, w) in the second-order cone, its multiplier in the same."""

    degree = 1
    mixed = 0.0

    def __init__(self, d: int, radius: float, multiplier: float) -> None:
        self.slack, self.dual = np.zeros(d + 1), np.zeros(d + 1)
        self.slack[0], self.dual[0] = radius, multiplier

    def multipliers(self) -> tuple[Array, float]:
        return self.dual[1:], float(self.dual[0])

    def product(self) -> float:
        return float(self.slack @ self.dual)

    def factorise(self) -> None:
        """The scaling point: with J = diag(1, -1, ..., -1), W^2 = size (2 v v' - J)."""
        slack, dual = _determinant(self.slack), _determinant(self.dual)
        if not (slack > 0.0 and dual > 0.0):
            raise LinAlgError("rounding has taken a point out of the cone")
        slack, dual = sqrt(slack), sqrt(dual)
        v = self.slack / slack
        cosine = sqrt(0.5 * (1.0 + float(v @ self.dual) / dual))
        v[0] += self.dual[0] / dual
        v[1:] -= self.dual[1:] / dual
        v /= 2.0 * cosine
        v[0] = sqrt(1.0 + float(v[1:] @ v[1:]))
        self.v, self.size = v, slack / dual
        self.scaled = self._scale(self.dual, 1.0)
        self.diagonal = np.full(len(v) - 1, 1.0 / self.size)
        # W^-2 = (2 (J v) (J v)' - J) / size, with its product of vectors as the border
        self.radius = -1.0 / self.size
        self.border, self.border_radius, self.corner = -v[1:], float(v[0]), -0.5 * self.size

    def _scale(self, x: Array, sign: float) -> Array:
        """W x, or with sign -1 its inverse's."""
        v = self.v
        along = float(v[1:] @ x[1:])
        out = np.empty_like(x)
        out[0] = v[0] * x[0] + sign * along
        out[1:] = x[1:] + (sign * x[0] + along / (1.0 + v[0])) * v[1:]
        return out * self.size ** (0.5 * sign)

    def target(self, mu: float, affine: _Direction | None) -> Array:
        if affine is None:
            return np.zeros_like(self.slack)
        target = -_circle(self._scale(affine.cone_slack, -1.0), self._scale(affine.cone_dual, 1.0))
        target[0] += mu
        return target

    def right_side(self, target: Array) -> tuple[Array, float, float]:
        left = target - _circle(self.scaled, self.scaled)
        # the x with scaled o x = left
        x = np.empty_like(left)
        x[0] = (self.scaled[0] * left[0] - float(self.scaled[1:] @ left[1:])) / _determinant(
            self.scaled
        )
        x[1:] = (left[1:] - x[0] * self.scaled[1:]) / self.scaled[0]
        self.wanted = self._scale(x, -1.0)
        return self.wanted[1:], float(self.wanted[0]), 0.0

    def step(self, dw: Array, dradius: float, border: float) -> tuple[Array, Array]:
        slack, v = np.append(dradius, dw), self.v
        along = 2.0 * (v[0] * dradius - float(v[1:] @ dw))
        change = np.append(along * v[0] - dradius, dw - along * v[1:])
        return slack, self.wanted - change / self.size

    @staticmethod
    def largest_step(x: Array, change: Array) -> float:
        """The largest t with x + t change in the cone."""
        a, c = _determinant(change), _determinant(x)
        b = float(x[0] * change[0] - x[1:] @ change[1:])
        most = -float(x[0] / change[0]) if change[0] < 0.0 else inf
        discriminant = b * b - a * c
        if b > 0.0 and a < 0.0:
            most = min(most, -(b + sqrt(discriminant)) / a)
        elif b <= 0.0 and discriminant >= 0.0 and discriminant + b * b > 0.0:
            most = min(most, c / (sqrt(discriminant) - b))
        return most


def _determinant(x: Array) -> float:
    """x_0^2 - ||x_1||^2."""
    norm = float(np.linalg.norm(x[1:]))
    return float((x[0] - norm) * (x[0] + norm))


def _circle(x: Array, y: Array) -> Array:
    """The Jordan product (x.y, x_0 y_1 + y_0 x_1)."""
    out = x[0] * y + y[0] * x
    out[0] = float(x @ y)
    return out
