"""The optimum of a smooth loss with norms of single coefficients or groups, in 50 digits.

    minimise over V   loss(A V + offset) + sum_g c_g ||v_g|| + sum_j r_j v_j^2 / 2

by damped Newton steps on the groups that are not 0, in floats, then by Newton steps whose
gradients are of 50 digits. What is returned satisfies the conditions of optimality to 30 digits,
so that its value is the optimal one. Columns are scaled by powers of 2 before, which is exact.
"""

from dataclasses import dataclass, field, replace

import mpmath
import numpy as np

from benchmarks.helpers.smooth_losses import DIGITS, DIGITS_KEPT, FLOATS
from tests.oracles.optima import NotSolved

OPTIMAL = mpmath.mpf("1e-30")  # of the sizes that cancel in a gradient
STEPS, POLISHING, ROUNDS = 300, 60, 60
RANK = 1e-11  # eigenvalues below this share of the largest are those of dependent columns


@dataclass(frozen=True, eq=False)
class SmoothProblem:
    """The parts of the objective.

    ``groups`` are pairs of indices of the raveled V and a weight c_g > 0; coefficients that are in
    none, and whose ridge is 0, are free.
    """

    A: np.ndarray
    loss: object
    n_outputs: int = 1
    groups: tuple = ()
    ridge: np.ndarray | float = 0.0
    offset: np.ndarray | float = 0.0
    factors: np.ndarray = field(init=False)

    def __post_init__(self):
        sizes = np.max(np.abs(self.A), axis=0, initial=0.0)
        exponents = np.frexp(np.where(sizes > 0.0, sizes, 1.0))[1]
        factors = np.ldexp(1.0, np.clip(-exponents, -1000, 1000))
        object.__setattr__(self, "factors", factors)

    @property
    def shape(self):
        return self.A.shape[1], self.n_outputs

    def objective(self, V, maths=DIGITS):
        """The objective of coefficients of shape (p, K), exactly in all digits."""
        V = V if V.dtype == object else maths.number(V)
        value = self.loss.value(self._scores(maths.number(self.A), V, maths), maths)
        v, ridge = np.ravel(V), np.broadcast_to(self.ridge, V.size)
        for members, weight in self.groups:
            value = value + maths.number([weight])[0] * _norm(v[members], maths)
        return value + maths.total(maths.number(ridge) * v * v) / 2

    def _scores(self, A, V, maths):
        offset = np.broadcast_to(self.offset, (len(A), self.n_outputs))
        return A @ V + maths.number(offset)

    def scaled(self):
        """The same problem for coefficients over their factors."""
        factors = np.repeat(self.factors, self.n_outputs)
        groups = tuple((members, c * factors[members[0]]) for members, c in self.groups)
        ridge = np.broadcast_to(self.ridge, factors.size) * factors**2
        return replace(self, A=self.A * self.factors, groups=groups, ridge=ridge)


def _norm(values, maths):
    if len(values) == 1:
        return abs(values[0])
    total = maths.total(values * values)
    return mpmath.sqrt(total) if maths is DIGITS else np.sqrt(total)


class Search:
    """The state of the search: coefficients, the signs of single ones, and which are not 0."""

    def __init__(self, problem):
        self.problem, (p, K) = problem, problem.shape
        self.single = {int(m[0]): c for m, c in problem.groups if len(m) == 1}
        self.several = [(m, c) for m, c in problem.groups if len(m) > 1]
        self.v, self.signs, self.active = np.zeros(p * K), np.zeros(p * K), np.ones(p * K, bool)
        for members, _ in problem.groups:
            self.active[members] = False
        self.maths = FLOATS
        self.A = problem.A
        self.ridge = np.broadcast_to(problem.ridge, p * K)

    def in_digits(self):
        self.maths = DIGITS
        self.A = DIGITS.number(self.A)
        self.v = DIGITS.number(self.v)
        self.exact_ridge = DIGITS.number(self.ridge)

    def scores(self, v):
        return self.problem._scores(self.A, v.reshape(self.problem.shape), self.maths)

    def smooth_gradient(self):
        """The gradient of loss and ridge, and the sum of the sizes of its terms."""
        theta = self.problem.loss.gradient(self.scores(self.v), self.maths)
        ridge = self.ridge if self.maths is FLOATS else self.exact_ridge
        sizes = np.ravel(abs(self.A).T @ abs(theta)) + abs(ridge * self.v)
        return np.ravel(self.A.T @ theta) + ridge * self.v, sizes

    def gradient(self):
        """That of the whole objective where it has one."""
        g, sizes = self.smooth_gradient()
        for j, c in self.single.items():
            if self.active[j]:
                g[j] = g[j] + self.maths.number([c])[0] * int(self.signs[j])
                sizes[j] = sizes[j] + c
        for members, c in self.several:
            if self.active[members[0]]:
                v = self.v[members]
                g[members] = g[members] + self.maths.number([c])[0] * v / _norm(v, self.maths)
                sizes[members] = sizes[members] + c
        return g, sizes

    def curvature(self):
        v = np.array(self.v, dtype=float)
        Z = np.array(self.scores(self.v), dtype=float)
        H = self.problem.loss.curvature(self.problem.A, Z) + np.diag(self.ridge)
        for members, c in self.several:
            if self.active[members[0]]:
                size = np.linalg.norm(v[members])
                unit = v[members] / size
                block = np.eye(len(members)) - np.outer(unit, unit)
                H[np.ix_(members, members)] += c / size * block
        return H[np.ix_(self.active, self.active)]

    def value(self, v):
        V = v.reshape(self.problem.shape)
        return float(self.problem.objective(V, FLOATS))


def descend(search):
    """Damped Newton steps on what is not 0; single coefficients stop at 0 and are then 0."""
    damping, value = 1e-12, search.value(search.v)
    for _ in range(STEPS):
        active = search.active
        g, sizes = search.gradient()
        if not active.any() or np.all(np.abs(g[active]) <= 1e-13 * sizes[active]):
            return
        H = search.curvature()
        size = np.trace(H) / len(H) + 1e-300
        while True:
            matrix = H + damping * size * np.eye(len(H))
            step = np.zeros_like(search.v)
            step[active] = -np.linalg.lstsq(matrix, g[active], rcond=1e-15)[0]
            length = 1.0
            stops = [
                j for j in search.single
                if active[j] and search.signs[j] * (search.v[j] + step[j]) < 0.0
            ]  # fmt: skip
            if stops:
                reach = [abs(search.v[j] / step[j]) for j in stops]
                length = min(1.0, min(reach))
                stops = [j for j, r in zip(stops, reach, strict=True) if r <= length]
            trial = search.v + length * step
            trial[stops] = 0.0
            with np.errstate(over="ignore", invalid="ignore"):
                new = search.value(trial)
            if np.isfinite(new) and (new < value or (stops and new <= value)):
                damping = max(damping / 10.0, 1e-14)
                break
            damping *= 10.0
            if damping > 1e6:
                return  # floats cannot tell what is lower
        search.v, value = trial, new
        search.active[stops] = False
        search.signs[stops] = 0.0
        drop_small_groups(search)


def drop_small_groups(search):
    """Set groups to 0 for which that is better."""
    for members, _ in search.several:
        if search.active[members[0]]:
            trial = search.v.copy()
            trial[members] = 0.0
            if search.value(trial) <= search.value(search.v):
                search.v = trial
                search.active[members] = False


def violated(search, tolerance):
    """The groups at 0 whose gradient is longer than their weight, the worst last."""
    g, sizes = search.smooth_gradient()
    found = []
    for members, c in search.problem.groups:
        if not search.active[members[0]]:
            excess = _norm(g[members], search.maths) - search.maths.number([c])[0]
            scale = max(float(np.max(sizes[members])), c)
            if excess > tolerance * scale:
                found.append((float(excess) / scale, members, g[members]))
    return sorted(found, key=lambda item: item[0])


def add(search, found):
    """Make groups active, at a first small step where they have several coefficients."""
    for _, members, g in found:
        g = np.array(g, dtype=float)
        if len(members) == 1:
            search.active[members] = True
            search.signs[members] = -np.sign(g)
            continue
        step, before = -g / np.linalg.norm(g), search.value(search.v)
        for exponent in range(0, 60):
            trial = search.v.copy()
            trial[members] = np.ldexp(step, -exponent)
            if search.value(trial) < before:
                search.v = trial
                search.active[members] = True
                break


def polish(search):
    """Newton steps with gradients of 50 digits; whether they have ended at a root."""
    pseudo_inverse = None
    for k in range(POLISHING):
        g, sizes = search.gradient()
        active = search.active
        if all(abs(x) <= OPTIMAL * s for x, s in zip(g[active], sizes[active], strict=True)):
            return True
        if k % 10 == 0:
            H = search.curvature()
            pseudo_inverse = np.linalg.pinv(H, rcond=RANK, hermitian=True)
        unit = max(abs(x) for x in g[active])
        step = pseudo_inverse @ np.array(g[active] / unit, dtype=float)
        search.v[active] = search.v[active] - DIGITS.number(step) * unit
    return False


def minimiser(problem):
    """The coefficients of shape (p, K) in floats, where every group is active or there is none."""
    search = Search(problem.scaled())
    descend(search)
    return search.v.reshape(problem.shape) * problem.factors[:, None]


def optimum(problem):
    """The coefficients of shape (p, K) and the optimal value, both in 50 digits.

    Raises
    ------
    NotSolved
        If the conditions of optimality do not hold to 30 digits.
    """
    with mpmath.workdps(DIGITS_KEPT):
        search = Search(problem.scaled())
        everything, last = True, np.inf
        for _ in range(ROUNDS):
            descend(search)
            value, found = search.value(search.v), violated(search, 1e-12)
            if not found:
                break
            everything, last = value < last, value
            add(search, found if everything else found[-1:])
        search.in_digits()
        if not polish(search) or violated(search, 1e-25):
            raise NotSolved("the conditions of optimality")
        signs = [int(mpmath.sign(search.v[j])) for j in search.single if search.active[j]]
        if signs != [int(search.signs[j]) for j in search.single if search.active[j]]:
            raise NotSolved("the signs")
        V = search.v.reshape(problem.shape) * DIGITS.number(problem.factors)[:, None]
        return V, problem.objective(V)
