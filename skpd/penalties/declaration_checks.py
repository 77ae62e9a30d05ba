"""Numerical tests of the properties that a penalty declares (`check_penalty`)."""

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from .._checks import ACCURACY, Property, require, rounding_of
from .._typing import Array
from .base import Penalty, Structure
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
    for properties in (_values, _structure, _prox, _bounds, _at_prox, _largest_alpha, _worst_case):
        points = _Points(penalty, n_features)
        for _ in range(N_POINTS):
            require(penalty, properties(points))


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
    require(function, _of_function(function))


def _of_function(function: IncreasingFunction) -> Iterator[Property]:
    """The properties, each a row with the larger and the smaller number and the size of terms."""
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
        ("value at 0, V(0) = 0", 0.0 * x, abs(function.value(0.0)), -1.0),
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
        yield f"{what} (s = V'(z))", upper, ">=", lower, rounding_of(size), {"x": x, "z": z[j]}


class _Points:
    """Random coefficients w and x, dual vectors v and numbers alpha."""

    def __init__(self, penalty: Any, n_features: int) -> None:
        self.penalty, self.n_features, self.rng = penalty, n_features, np.random.default_rng(0)

    def vector(self) -> Array:
        """A random vector, some of its entries 0, whose scale varies over orders of magnitude."""
        entries = self.rng.normal(size=self.n_features) * LARGEST ** self.rng.uniform(-1.0, 1.0)
        return entries * (self.rng.random(self.n_features) < 0.8)

    def coefficients(self) -> Array:
        """Random coefficients at which the penalty is finite."""
        w, feasible = self.vector(), self.penalty.feasible
        return w if self.penalty.value(w) < inf else feasible(self.rng.random() * feasible(w))

    def held(self, w: Array) -> Array:
        """The coefficients w with free ones set to 0, and with level 0 where that is free.

        The suprema of `Penalty` are over such coefficients.
        """
        w = w.copy()
        w[self.penalty.free_features.columns] = 0.0
        return w - np.mean(w) if self.penalty.free_level else w

    def alpha(self) -> float:
        return float(LARGEST ** self.rng.uniform(-1.0, 1.0))

    def pair(self) -> tuple[Array, Array, float]:
        """Random w, v and alpha; in half of the cases v is a subgradient of alpha R at w."""
        alpha, v, w = self.alpha(), self.vector(), self.coefficients()
        if self.rng.random() < 0.5:
            x = self.penalty.prox(v, alpha)
            w, v = self.penalty.feasible(x), v - x
        return self.held(w), v, alpha


def _values(t: _Points) -> Iterator[Property]:
    """The function itself."""
    R, w = t.penalty.value, t.vector()
    yield "value at 0, R(0) = 0", R(np.zeros_like(w)), "=", 0.0, 0.0, {}
    value, nearest = R(w), t.penalty.feasible(w)
    yield "non-negativity, R(w) >= 0", value, ">=", 0.0, 0.0, dict(w=w)
    if t.penalty.is_finite:
        yield "is_finite, R(w) < inf", value, "<", inf, 0.0, dict(w=w)
    yield "feasible, where R is finite", R(nearest), "<", inf, 0.0, dict(w=w)
    if value < inf:
        what, moved = "feasible, w itself where R(w) is finite", float(np.max(np.abs(nearest - w)))
        yield what, moved, "=", 0.0, 0.0, dict(w=w)
    w, x, share = t.coefficients(), t.coefficients(), t.rng.random()
    between, chord = R(share * w + (1.0 - share) * x), share * R(w) + (1.0 - share) * R(x)
    what = "convexity, R <= its chord between w and x"
    yield what, between, "<=", chord, rounding_of(chord), dict(w=w, x=x, share=share)


def _prox(t: _Points) -> Iterator[Property]:
    """The prox with one step, and with steps made valid by `Penalty.step_sizes`.

    Its objective is compared with that of points near the proximal point, on the segments to w and
    to 0, and random ones.
    """
    penalty, one_step = t.penalty, np.full(t.n_features, t.alpha())
    for step in (one_step, np.array([t.alpha() for _ in one_step])):
        w, step = t.vector(), penalty.step_sizes(step)
        prox = penalty.prox(w, step)
        x = penalty.feasible(prox)  # rounding may have put the point outside of the domain
        what, moved = "prox, which is where R is finite", float(np.max(np.abs(x - prox)))
        size = float(np.max(np.abs(prox)))
        yield what, moved, "<=", 0.0, rounding_of(size), dict(w=w, step=step, x=prox)

        what = "prox, which minimises sum_j (x_j - w_j)^2 / (2 step_j) + R(x)"
        for u in (penalty.feasible(w), np.zeros_like(w), t.coefficients(), x + t.vector()):
            for distance in NEIGHBOURS:
                other = penalty.feasible(x + distance * (u - x))
                points = dict(w=w, step=step, x=x, better=other)
                least, value = (
                    float(np.sum((point - w) ** 2 / (2.0 * step))) + penalty.value(point)
                    for point in (x, other)
                )
                yield what, least, "<=", value, rounding_of(value), points


def _bounds(t: _Points) -> Iterator[Property]:
    """The dual norm, the conjugate of alpha R, and the bounds that certificates take."""
    penalty, (w, v, alpha) = t.penalty, t.pair()
    value, product, size = penalty.value(w), float(v @ w), float(np.abs(v) @ np.abs(w))
    if penalty.is_norm:
        what, bound = "dual norm, v.w <= R°(v) R(w)", penalty.dual_norm(v) * value
        yield what, product, "<=", bound, rounding_of(size), dict(w=w, v=v)
    total = alpha * value + penalty.conjugate(v, alpha)
    what = "Fenchel-Young inequality, alpha R(w) + (alpha R)*(v) >= v.w"
    yield what, total, ">=", product, rounding_of(size), dict(w=w, v=v, alpha=alpha)
    radius = value + t.rng.choice([0.0, 1.0]) * t.alpha()
    points = dict(v=v, w=w, radius=radius)
    what, support = "support, at least v.w where R(w) <= radius", penalty.support(v, radius)
    yield what, product, "<=", support, rounding_of(size), points
    points, bounded = {"alpha": alpha} | points, penalty.bounded_conjugate(v, alpha, radius)
    what = "bounded_conjugate, at least v.w - alpha R(w) where R(w) <= radius"
    yield what, product - alpha * value, "<=", bounded, rounding_of(size), points
    what, conjugate = "bounded_conjugate, at most the conjugate", penalty.conjugate(v, alpha)
    yield what, bounded, "<=", conjugate, rounding_of(bounded), points


def _at_prox(t: _Points) -> Iterator[Property]:
    """Moreau's identity: w - prox(w, alpha) is a subgradient of alpha R at the prox."""
    penalty, w, alpha = t.penalty, t.vector(), t.alpha()
    x, points, size = penalty.prox(w, alpha), dict(w=w, alpha=alpha), float(np.max(np.abs(w)))
    total = value = alpha * penalty.value(x)
    v = (w - x) * INSIDE
    v[penalty.free_features.columns] = 0.0  # free coefficients, whose subgradient is 0
    if not penalty.is_norm:
        total += penalty.conjugate(v, alpha)
    elif value > 0.0:  # the conjugate of a norm is 0 or inf, tested by its dual norm
        what = "dual norm, R°(w - prox(w, alpha)) = alpha where the prox is not 0"
        yield what, penalty.dual_norm(w - x), "=", alpha, rounding_of(alpha + size), points
    what = "Fenchel-Young equality, alpha R(x) + (alpha R)*(v) = v.x for x = prox(w, alpha) and "
    size = float(np.abs(v) @ np.abs(x)) + value
    yield f"{what}v = w - x", total, "=", float(v @ x), rounding_of(size), points


def _largest_alpha(t: _Points) -> Iterator[Property]:
    """The least alpha with a conjugate of 0."""
    penalty, v = t.penalty, t.vector()
    threshold, size = penalty.largest_alpha(v), rounding_of(float(np.max(np.abs(v))))
    if np.isfinite(threshold) and not penalty.free_level:
        value, points = penalty.conjugate(v, threshold + size), dict(v=v, alpha=threshold)
        yield "largest_alpha, from which on (alpha R)*(v) = 0", value, "=", 0.0, 0.0, points
        if threshold > size:
            value = penalty.conjugate(v, threshold - size)
            yield "largest_alpha, below which (alpha R)*(v) > 0", value, ">", 0.0, 0.0, points


def _worst_case(t: _Points) -> Iterator[Property]:
    """The point of a box with the largest conjugate and support."""
    penalty, alpha, v, error = t.penalty, t.alpha(), t.vector(), np.abs(t.vector())
    inside = v + t.rng.uniform(-1.0, 1.0, t.n_features) * error
    of_arguments = penalty.of_conjugate_arguments
    worst = of_arguments.worst_case(*penalty.conjugate_arguments(v.copy(), error))
    for name in ("conjugate", "support"):
        value = getattr(penalty, name)(inside, alpha)
        largest = getattr(of_arguments, name)(worst, alpha)
        what = f"worst_case, whose {name} is the largest of the box"
        yield what, value, "<=", largest, ACCURACY * largest, dict(v=v, error=error, other=inside)


def _structure(t: _Points) -> Iterator[Property]:
    """The attributes by which a penalty declares its structure."""
    penalty, R, w, alpha = t.penalty, t.penalty.value, t.coefficients(), t.alpha()
    value = R(w)
    tolerance, points = rounding_of(value), dict(w=w)
    if penalty.is_norm:
        scaled, limit = R(penalty.feasible(alpha * w)), alpha * value
        yield "norm, R(t w) = t R(w)", scaled, "=", limit, rounding_of(limit), points
    if penalty.even:
        yield "even, R(-w) = R(w)", R(-w), "=", value, tolerance, points
    if penalty.symmetric:
        other = t.rng.permutation(w) * t.rng.choice([-1.0, 1.0], len(w))
        what = "symmetric, the same for every sign and order"
        yield what, R(other), "=", value, tolerance, dict(w=w, other=other)
    if penalty.is_quadratic:
        yield "is_quadratic, R(2 w) = 4 R(w)", R(2.0 * w), "=", 4.0 * value, tolerance, points
    if penalty.l1_radius < inf:
        far = np.full_like(w, 2.0 * penalty.l1_radius)
        yield "l1_radius, outside of which R is infinite", R(far), "=", inf, 0.0, dict(w=far)
    a, other, b = penalty.without_ridge()
    total = 0.5 * a * float(w @ w) + (b * other.value(w) if other is not None else 0.0)
    yield "without_ridge, R(w) = a ||w||^2 / 2 + b Q(w)", total, "=", value, tolerance, points
    (columns, lower, upper), other = penalty.free_features, w.copy()
    other[columns] = np.clip(t.vector()[columns], lower, upper)
    what = "free_features, of which R does not depend"
    yield what, R(other), "=", value, tolerance, dict(w=w, other=other)
    if penalty.free_level:
        what, size = "free_level, R(w + level) = R(w)", value + alpha
        yield what, R(w + alpha), "=", value, rounding_of(size), dict(w=w, level=alpha)
    if penalty.structure is Structure.SEPARABLE:
        (l1, l2, lower, upper), w = penalty.terms, t.vector()
        total = float(np.sum(l1 * np.abs(w) + 0.5 * l2 * w * w))
        total = total if np.all((w >= lower) & (w <= upper)) else inf
        what = "terms, sum_j (l1_j |w_j| + l2_j w_j^2 / 2) within their bounds"
        yield what, total, "=", R(w), rounding_of(min(total, R(w))), dict(w=w)
