"""Numerical tests of the properties that a penalty declares (`check_penalty`)."""

from math import inf
from typing import cast

import numpy as np

from .._checks import ACCURACY, PropertyTests, require_everywhere
from .._typing import Array
from .base import Norm, Penalty, Structure
from .increasing_functions import IncreasingFunction

N_POINTS = 40  # vectors, at each of which every property is tested
LARGEST = 30.0  # size of their entries
NEIGHBOURS = 1.0, 1e-2, 1e-4  # relative distances of points with which a prox is compared
UNDERFLOW = 1e-290  # numbers below it may have fewer significant digits
SHORTER = 1e-6  # relative reduction of an inverse at which V must be at most the value
INSIDE = 1.0 - 1e-10  # a factor that moves points from the boundary into the dual ball


def check_penalty(penalty: Penalty, n_features: int = 6) -> None:
    """Test numerically that a penalty of your own has the properties that it declares.

    Hundreds of points, the same at every call, are tested. A penalty must be convex, non-negative
    and 0 at 0. Its prox must minimise the proximal objective. Its conjugate must satisfy the
    Fenchel-Young inequality, with equality at subgradients, and the dual norm of a norm the
    inequality v.w <= R°(v) R(w). The bounds that certificates use (`Penalty.support`,
    `Penalty.bounded_conjugate`, `Penalty.worst_case`) and the attributes that declare its
    structure are tested as well.

    Parameters
    ----------
    penalty : Penalty
        A penalty on vectors of coefficients.
    n_features : int, default=6
        The number of coefficients.

    Raises
    ------
    AssertionError
        If a property does not hold: the message names the property, a point where it fails and
        the two numbers that should agree there.
    ValueError
        If the penalty does not fit ``n_features`` features.

    Examples
    --------
    >>> from skpd.penalties import L1, GroupL2, check_penalty
    >>> check_penalty(GroupL2(groups=2), n_features=8)
    >>> class Halfway(L1):
    ...     def prox(self, w, step):
    ...         return super().prox(w, 0.5 * step)
    >>> check_penalty(Halfway())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: Halfway fails the test of its prox, which minimises ...
    """
    penalty = penalty.for_n_features(n_features)
    for kind in (_Values, _Declared, _Prox, _Duals):
        tests = kind(penalty, n_features)
        for test in tests.tests():
            for _ in range(N_POINTS):
                test()


@np.errstate(all="ignore")
def check_function(function: IncreasingFunction) -> None:
    """Test numerically that a function V of a norm has the properties that it declares.

    Numbers z from 0 to 30 and all pairs of them are tested. V must be 0 at 0, convex and
    non-decreasing, with the slopes that it returns. Its conjugate must satisfy the Fenchel-Young
    inequality, with equality at slopes. The inverse and the attribute ``is_square`` are tested as
    well.

    Parameters
    ----------
    function : IncreasingFunction

    Raises
    ------
    AssertionError
        If a property does not hold: the message names the property, the numbers where it fails
        and the two values that should agree there.

    """
    z = np.append(0.0, np.geomspace(LARGEST**-2, LARGEST, N_POINTS))
    table = np.array([(t, function.value(t), function.slope(t)) for t in z.tolist()])
    z, value, slope = table[np.isfinite(table).all(axis=1)].T
    conjugate = np.array([function.conjugate(s) for s in slope.tolist()])
    inverse = np.array([function.inverse(v) for v in value.tolist()])
    within = np.array([function.value(t) for t in (inverse * (1.0 - SHORTER)).tolist()])
    inverse[value < UNDERFLOW] = inf
    i, j = np.indices((len(z), len(z))).reshape(2, -1)
    x, s = z[i], slope[j]
    tests = [
        ("value at 0, V(0) = 0", 0.0, abs(function.value(0.0)), -1.0),
        ("slope, V'(z) >= 0", s, 0.0, -1.0),
        ("slope, V(x) >= V(z) + s (x - z)", value[i], value[j] + s * (x - z[j]), value[j] + s * x),
        ("conjugate, V(x) + V*(s) >= s x", value[i] + conjugate[j], s * x, s * x),
        ("conjugate, V*(s) = s z - V(z)", s * z[j] - value[j], conjugate[j], s * z[j]),
        ("inverse of V(z), at least z", inverse[j], z[j], z[j]),
        ("inverse of V(z), below which V <= V(z)", value[j], within[j], value[j]),
    ]
    if function.is_square:
        double = np.array([function.value(2.0 * t) for t in z.tolist()])
        tests.append(
            ("is_square, V(2 z) = 4 V(z)", 0.0, np.abs(double - 4.0 * value)[j], double[j])
        )
    for what, upper, lower, size in tests:
        holds = (upper >= lower - ACCURACY * (1.0 + size)) | (upper == inf)
        require_everywhere(function, f"{what} (s = V'(z))", holds, upper, lower, x=x, z=z[j])


class _Tests(PropertyTests):
    """Random coefficients w and x, dual vectors v and numbers alpha."""

    def __init__(self, penalty: Penalty, n_features: int) -> None:
        super().__init__(penalty)
        self.penalty, self.n_features = penalty, n_features

    def vector(self) -> Array:
        """A random vector, some of its entries 0, whose scale varies over orders of magnitude."""
        size = self.n_features
        entries = self.rng.normal(size=size) * LARGEST ** self.rng.uniform(-1.0, 1.0)
        return entries * (self.rng.random(size) < 0.8)

    def coefficients(self) -> Array:
        """Random coefficients at which the penalty is finite."""
        w, feasible = self.vector(), self.penalty.feasible
        if self.penalty.value(w) < inf:
            return w
        return feasible(self.rng.random() * feasible(w))

    def held(self, w: Array) -> Array:
        """The coefficients w with free ones set to 0, and with level 0 where that is free.

        The suprema of `Penalty` are over such coefficients.
        """
        w = w.copy()
        w[self.penalty.free_features.columns] = 0.0
        return w - np.mean(w) if self.penalty.free_level else w

    def alpha(self) -> float:
        return float(LARGEST ** self.rng.uniform(-1.0, 1.0))


class _Values(_Tests):
    """The function itself."""

    def domain(self) -> None:
        penalty, w = self.penalty, self.vector()
        at_zero = penalty.value(np.zeros(self.n_features))
        self.require("value at 0, R(0) = 0", at_zero == 0.0, at_zero, 0.0)
        value, nearest = penalty.value(w), penalty.feasible(w)
        self.require("non-negativity, R(w) >= 0", value >= 0.0, value, 0.0, w=w)
        if penalty.is_finite:
            self.require("is_finite, R(w) < inf", value < inf, value, inf, w=w)
        inside = penalty.value(nearest)
        self.require("feasible, where R is finite", inside < inf, inside, inf, w=w)
        if value < inf:
            moved = float(np.max(np.abs(nearest - w)))
            self.require("feasible, w itself where R(w) is finite", moved == 0.0, moved, 0.0, w=w)

    def convexity(self) -> None:
        w, x, share = self.coefficients(), self.coefficients(), self.rng.random()
        between = self.penalty.value(share * w + (1.0 - share) * x)
        chord = share * self.penalty.value(w) + (1.0 - share) * self.penalty.value(x)
        what = "convexity, R <= its chord between w and x"
        self.require_at_most(what, between, chord, chord, w=w, x=x, share=share)


class _Prox(_Tests):
    """The prox, which must minimise its objective."""

    def one_step(self) -> None:
        self._prox(np.full(self.n_features, self.alpha()))

    def own_steps(self) -> None:
        """Test the prox with a step for each coefficient, made valid by `Penalty.step_sizes`."""
        self._prox(np.array([self.alpha() for _ in range(self.n_features)]))

    def _prox(self, step: Array) -> None:
        """Compare the proximal objective with its values at other points.

        These are near the proximal point, on the segments to w and to 0, and random.
        """
        penalty, w, step = self.penalty, self.vector(), self.penalty.step_sizes(step)
        prox = penalty.prox(w, step)
        x = penalty.feasible(prox)  # rounding may have put the point outside of the domain
        distance_to_domain, size = float(np.max(np.abs(x - prox))), float(np.max(np.abs(prox)))
        what = "prox, which is where R is finite"
        self.require_at_most(what, distance_to_domain, 0.0, size, w=w, step=step, x=prox)

        def objective(u: Array) -> float:
            return float(np.sum((u - w) ** 2 / (2.0 * step))) + penalty.value(u)

        minimum = objective(x)
        what = "prox, which minimises sum_j (x_j - w_j)^2 / (2 step_j) + R(x)"
        for u in (penalty.feasible(w), np.zeros_like(w), self.coefficients(), x + self.vector()):
            for distance in NEIGHBOURS:
                other = penalty.feasible(x + distance * (u - x))
                value = objective(other)
                points = {"w": w, "step": step, "x": x, "better": other}
                self.require_at_most(what, minimum, value, value, **points)


class _Duals(_Tests):
    """The conjugate of alpha R, and the bounds that certificates take."""

    def _pair(self) -> tuple[Array, Array, float]:
        """Random w, v and alpha; in half of the cases v is a subgradient of alpha R at w."""
        alpha, v, w = self.alpha(), self.vector(), self.coefficients()
        if self.rng.random() < 0.5:
            x = self.penalty.prox(v, alpha)
            w, v = self.penalty.feasible(x), v - x
        return self.held(w), v, alpha

    def dual_norm(self) -> None:
        if not self.penalty.is_norm:
            return
        penalty, (w, v, _) = self.penalty, self._pair()
        product, bound = float(v @ w), cast(Norm, penalty).dual_norm(v) * penalty.value(w)
        what, size = "dual norm, v.w <= R°(v) R(w)", float(np.abs(v) @ np.abs(w))
        self.require_at_most(what, product, bound, size, w=w, v=v)

    def attained_dual_norm(self) -> None:
        """Test R°(w - prox(w)) = alpha, Moreau's identity at points whose prox is not 0."""
        if not self.penalty.is_norm:
            return
        penalty, v, t = self.penalty, self.vector(), self.alpha()
        x = penalty.prox(v, t)
        if penalty.value(x) > 0.0:
            self.require_equal(
                "dual norm, R°(w - prox(w, alpha)) = alpha where the prox is not 0",
                cast(Norm, penalty).dual_norm(v - x), t, t + float(np.max(np.abs(v))),
                w=v, alpha=t,
            )  # fmt: skip

    def fenchel_young(self) -> None:
        penalty, (w, v, alpha) = self.penalty, self._pair()
        total, product = alpha * penalty.value(w) + penalty.conjugate(v, alpha), float(v @ w)
        what = "Fenchel-Young inequality, alpha R(w) + (alpha R)*(v) >= v.w"
        size = float(np.abs(v) @ np.abs(w))
        self.require_at_least(what, total, product, size, w=w, v=v, alpha=alpha)

    def subgradient(self) -> None:
        """Test that w - prox(w, alpha) is a subgradient of alpha R at the prox (Moreau)."""
        penalty, alpha, w = self.penalty, self.alpha(), self.vector()
        x = penalty.prox(w, alpha)
        v = (w - x) * INSIDE
        v[penalty.free_features.columns] = 0.0  # free coefficients, whose subgradient is 0
        total = alpha * penalty.value(x)
        if not penalty.is_norm:  # the conjugate of a norm is 0 or inf, tested by its dual norm
            total += penalty.conjugate(v, alpha)
        size = float(np.abs(v) @ np.abs(x)) + alpha * penalty.value(x)
        self.require_equal(
            "Fenchel-Young equality, alpha R(x) + (alpha R)*(v) = v.x for x = prox(w, alpha) and "
            "v = w - x", total, float(v @ x), size, w=w, alpha=alpha,
        )  # fmt: skip

    def bounds(self) -> None:
        penalty, (w, v, alpha) = self.penalty, self._pair()
        radius = penalty.value(w) + self.rng.choice([0.0, 1.0]) * self.alpha()
        product, size = float(v @ w), float(np.abs(v) @ np.abs(w))
        points = {"v": v, "w": w, "radius": radius}
        support = penalty.support(v, radius)
        what = "support, at least v.w where R(w) <= radius"
        self.require_at_most(what, product, support, size, **points)
        value = product - alpha * penalty.value(w)
        bounded = penalty.bounded_conjugate(v, alpha, radius)
        what = "bounded_conjugate, at least v.w - alpha R(w) where R(w) <= radius"
        self.require_at_most(what, value, bounded, size, alpha=alpha, **points)
        conjugate = penalty.conjugate(v, alpha)
        what = "bounded_conjugate, at most the conjugate"
        self.require_at_most(what, bounded, conjugate, bounded, alpha=alpha, **points)

    def largest_alpha(self) -> None:
        penalty, v = self.penalty, self.vector()
        threshold = penalty.largest_alpha(v)
        if not np.isfinite(threshold) or penalty.free_level:
            return
        size = ACCURACY * (1.0 + float(np.max(np.abs(v))))
        above = penalty.conjugate(v, threshold + size)
        what = "largest_alpha, from which on (alpha R)*(v) = 0"
        self.require(what, above == 0.0, above, 0.0, v=v, alpha=threshold)
        if threshold > size:
            below = penalty.conjugate(v, threshold - size)
            what = "largest_alpha, below which (alpha R)*(v) > 0"
            self.require(what, below > 0.0, below, 0.0, v=v, alpha=threshold)

    def worst_case(self) -> None:
        penalty, alpha, v = self.penalty, self.alpha(), self.vector()
        error = np.abs(self.vector())
        inside = v + self.rng.uniform(-1.0, 1.0, self.n_features) * error
        of_arguments = penalty.of_conjugate_arguments
        worst = of_arguments.worst_case(*penalty.conjugate_arguments(v, error))
        radius = self.alpha()
        for name, left, right in (
            ("conjugate", penalty.conjugate(inside, alpha), of_arguments.conjugate(worst, alpha)),
            ("support", penalty.support(inside, radius), of_arguments.support(worst, radius)),
        ):
            self.require(
                f"worst_case, whose {name} is the largest of the box",
                left <= right * (1 + ACCURACY), left, right, v=v, error=error, other=inside,
            )  # fmt: skip


class _Declared(_Tests):
    """The attributes by which a penalty declares its structure."""

    def homogeneity(self) -> None:
        if not self.penalty.is_norm:
            return
        penalty, w, t = self.penalty, self.coefficients(), self.alpha()
        value, scaled = penalty.value(w), penalty.value(penalty.feasible(t * w))
        self.require_equal("norm, R(t w) = t R(w)", scaled, t * value, t * value, w=w)

    def symmetry(self) -> None:
        penalty, w = self.penalty, self.coefficients()
        value = penalty.value(w)
        if penalty.even:
            self.require_equal("even, R(-w) = R(w)", penalty.value(-w), value, value, w=w)
        if penalty.symmetric:
            other = self.rng.permutation(w) * self.rng.choice([-1.0, 1.0], len(w))
            what = "symmetric, the same for every sign and order"
            self.require_equal(what, penalty.value(other), value, value, w=w, other=other)
        if penalty.is_quadratic:
            what = "is_quadratic, R(2 w) = 4 R(w)"
            self.require_equal(what, penalty.value(2.0 * w), 4.0 * value, value, w=w)
        if penalty.l1_radius < inf:
            far = np.full_like(w, 2.0 * penalty.l1_radius)
            what = "l1_radius, outside of which R is infinite"
            self.require(what, penalty.value(far) == inf, penalty.value(far), inf, w=far)

    def ridge(self) -> None:
        w = self.coefficients()
        a, other, b = self.penalty.without_ridge()
        total = 0.5 * a * float(w @ w) + (b * other.value(w) if other is not None else 0.0)
        value = self.penalty.value(w)
        what = "without_ridge, R(w) = a ||w||^2 / 2 + b Q(w)"
        self.require_equal(what, total, value, value, w=w)

    def free_parts(self) -> None:
        penalty, w = self.penalty, self.coefficients()
        value = penalty.value(w)
        columns, lower, upper = penalty.free_features
        other = w.copy()
        other[columns] = np.clip(self.vector()[columns], lower, upper)
        what = "free_features, of which R does not depend"
        self.require_equal(what, penalty.value(other), value, value, w=w, other=other)
        if penalty.free_level:
            level = self.alpha()
            what = "free_level, R(w + level) = R(w)"
            shifted = penalty.value(w + level)
            self.require_equal(what, shifted, value, value + level, w=w, level=level)

    def terms(self) -> None:
        if self.penalty.structure is not Structure.SEPARABLE:
            return
        w = self.vector()
        l1, l2, lower, upper = self.penalty.terms
        total = float(np.sum(l1 * np.abs(w) + 0.5 * l2 * w * w))
        total = total if np.all((w >= lower) & (w <= upper)) else inf
        value = self.penalty.value(w)
        what = "terms, sum_j (l1_j |w_j| + l2_j w_j^2 / 2) within their bounds"
        self.require_equal(what, total, value, min(total, value), w=w)
