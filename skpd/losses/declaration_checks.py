"""Numerical tests of the properties that a loss declares (`check_loss`)."""

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from .._checks import ACCURACY, Property, require, rounding_of
from .._typing import Array
from .base import Loss
from .cones import LinearPiece

N_POINTS = 4000  # rows, at each of which every property is tested
LARGEST = 1e3  # size of predictions, targets and dual points
OUTSIDE = 1e-6  # how far outside of its domain a conjugate must be infinite
SAMPLES, ROWS = 20, 8  # small samples, and their rows, on which best constants are tested
NEAR, STEP = 5.0, 0.1  # distances at which a slope must change where there is curvature


def check_loss(loss: Loss) -> None:
    """Test numerically that a loss of your own has the properties that it declares.

    Thousands of points, the same at every call, are tested. A loss must be convex and
    non-negative; 0 at its target, or non-increasing in the margin. Its conjugate must be finite on
    the declared domain and infinite outside, and satisfy the Fenchel-Young inequality, with
    equality at subgradients. The subgradients, the Lipschitz and smoothness constants, the prox,
    the best constants, the intervals of intercepts, the dual values and the attributes that
    declare its structure are tested as well.

    Parameters
    ----------
    loss : Loss

    Raises
    ------
    AssertionError
        If a property does not hold: the message names the property, a point where it fails and
        the two numbers that should agree there.

    Examples
    --------
    >>> from skpd.losses import Hinge, Huber, check_loss
    >>> check_loss(Huber(delta=2.0))
    >>> class Steep(Hinge):
    ...     def _phi_derivative(self, t):
    ...         return 2.0 * super()._phi_derivative(t)
    >>> check_loss(Steep())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: Steep fails the test of its subgradient, l(y, x) >= l(y, z) + g (x - z), ...
    """
    of_one = () if loss.couples_outputs else (_constants, _single_predictions)
    for properties in (_values, _conjugates, *of_one):
        require(loss, properties(_Points(loss)))


class _Points:
    """Points for a loss: targets y, predictions z and x, and dual points theta.

    The arrays of a loss of several predictions have `Loss.n_outputs` entries for each row.
    """

    def __init__(self, loss: Any) -> None:
        self.loss, self.rng, K = loss, np.random.default_rng(0), loss.n_outputs
        if loss.of_classes:
            self.y = np.ravel(np.eye(K)[self.rng.integers(0, K, N_POINTS)])
        elif loss.of_labels:
            self.y = self.rng.choice([-1.0, 1.0], N_POINTS)
        elif loss.has_log_link:
            self.y = np.exp(self.rng.normal(scale=2.0, size=N_POINTS))
            self.y[self.rng.random(N_POINTS) < 0.2 * loss.zeros] = 0.0
        else:
            self.y = self.spread() * (self.rng.random(N_POINTS * K) < 0.8)
        around = 0.0 if loss.of_labels or loss.of_classes or loss.has_log_link else self.y
        scale = 1e-2 if loss.has_log_link else 1.0  # of predictions, whose exponential is finite
        self.z, self.x = around + scale * self.spread(), around + scale * self.spread()
        # whole numbers around the target, where losses often have kinks
        whole = self.rng.random(len(self.z)) < 0.1
        self.z[whole] = (around + self.rng.integers(-2, 3, len(self.z)))[whole]
        self.theta = loss.project_dual(self.y, self.spread())

    def spread(self) -> Array:
        """Random numbers of many orders of magnitude, one for each prediction."""
        size = N_POINTS * self.loss.n_outputs
        return self.rng.normal(size=size) * LARGEST ** self.rng.uniform(-1.0, 1.0, size)

    def rows(self, values: Array) -> Array:
        """The sum over the outputs of each row, of shape (N_POINTS,)."""
        return np.reshape(values, (N_POINTS, -1)).sum(axis=1)

    def value(self, z: Array) -> Array:
        return self.rows(self.loss.value(self.y, z))

    def conjugate(self, theta: Array) -> Array:
        return self.rows(self.loss.conjugate(self.y, theta))

    def at(self, **points: Any) -> dict[str, Any]:
        """The points, each as a row, with the targets first."""
        K = self.loss.n_outputs
        shape = (-1, K) if K > 1 else (-1,)
        return {name: np.reshape(x, shape) for name, x in {"y": self.y, **points}.items()}

    def equality(self, what: str, g: Array, z: Array, size: Array | float = 0.0) -> Property:
        """The equality of Fenchel and Young, for subgradients g at z."""
        size = size + self.value(z) + self.rows(np.abs(g * z)) + self.rows(np.abs(g * self.y))
        total = self.value(z) + self.conjugate(self.loss.project_dual(self.y, g))
        return what, total, "=", self.rows(g * z), rounding_of(size), self.at(z=z, g=g)


def _values(t: _Points) -> Iterator[Property]:
    """The function itself, and its subgradients."""
    loss, y, z, x, value, other = t.loss, t.y, t.z, t.x, t.value(t.z), t.value(t.x)
    yield "non-negativity, l(y, z) >= 0", value, ">=", 0.0, 0.0, t.at(z=z)
    if loss.of_residuals:
        yield "value at the target, l(y, y) = 0", t.value(y), "=", 0.0, 0.0, t.at()
    if loss.of_labels:
        what, after = "fall in the margin, l(y, z) >= l(y, z + y)", t.value(z + y * np.abs(x))
        yield what, value, ">=", after, ACCURACY * value, t.at(z=z)
    share = t.rng.random(N_POINTS)
    shares = np.repeat(share, loss.n_outputs)
    between, chord = t.value(shares * z + (1 - shares) * x), share * value + (1 - share) * other
    what = "convexity, l(y, .) <= its chord between z and x"
    yield what, between, "<=", chord, rounding_of(chord), t.at(z=z, x=x, share=shares)
    g = loss.gradient(y, z)
    what, size = "subgradient, l(y, x) >= l(y, z) + g (x - z)", t.rows(np.abs(g * (x - z)))
    tangent = value + t.rows(g * (x - z))
    yield what, other, ">=", tangent, rounding_of(value + size), t.at(z=z, x=x, g=g)
    distance, change = np.sqrt(t.rows((x - z) ** 2)), np.abs(other - value)
    # the constant of a coupled loss holds for each of its predictions
    limit = loss.lipschitz * (t.rows(np.abs(x - z)) if loss.couples_outputs else distance)
    what = "Lipschitz constant, |l(y, z) - l(y, x)| <= lipschitz |z - x|"
    yield what, change, "<=", limit, rounding_of(other + value), t.at(z=z, x=x)
    change, limit = np.sqrt(t.rows((loss.gradient(y, x) - g) ** 2)), loss.smoothness * distance
    what = "smoothness, |l'(y, z) - l'(y, x)| <= smoothness |z - x|"
    yield what, change, "<=", limit, rounding_of(t.rows(np.abs(g))), t.at(z=z, x=x)


def _domain(t: _Points) -> Iterator[Property]:
    """The interval on which the conjugate of a single prediction is finite."""
    what = "domain of the conjugate, where dual_bounds and conjugate_domain have it"
    g, bounds = t.loss.gradient(t.y, t.z), t.loss.dual_bounds(t.y)
    for side, end, relation in zip((-1.0, 1.0), bounds, (">=", "<="), strict=True):
        yield f"{what}: 0 is not in it", 0.0, relation, end, 0.0, t.at()
        yield f"{what}: a subgradient is outside", g, relation, end, ACCURACY, t.at(z=t.z)
        inside = np.where(np.isfinite(end), end, side * np.abs(t.x))
        value, points = t.conjugate(inside), t.at(theta=inside)
        yield f"{what}: l* is infinite inside", value, "<", inf, 0.0, points
        if np.isfinite(end).all():
            outside = end + side * OUTSIDE * (1.0 + np.abs(end))
            value, points = t.conjugate(outside), t.at(theta=outside)
            yield f"{what}: l* is finite outside", value, "=", inf, 0.0, points


def _conjugates(t: _Points) -> Iterator[Property]:
    """The conjugate, its domain and its prox."""
    loss, y, z, theta, value = t.loss, t.y, t.z, t.theta, t.value(t.z)
    if not loss.couples_outputs:
        yield from _domain(t)
    what = "Fenchel-Young inequality, l(y, z) + l*(y, theta) >= theta z"
    total, product = value + t.conjugate(theta), t.rows(theta * z)
    size = value + t.rows(np.abs(theta * z)) + t.rows(np.abs(theta * y))
    yield what, total, ">=", product, rounding_of(size), t.at(z=z, theta=theta)
    what = "Fenchel-Young equality, l(y, z) + l*(y, g) = g z at a subgradient"
    yield t.equality(what, loss.gradient(y, z), z)
    step = np.repeat(10.0 ** t.rng.uniform(-2.0, 2.0, N_POINTS), loss.n_outputs)
    prox = loss.prox_conjugate(y, v := t.spread(), step)
    z = (v - prox) / step
    what = "prox of the conjugate, whose theta is a subgradient at z = (v - theta) / step"
    yield t.equality(what, prox, z, t.rows(np.abs(z)))
    for scale in (0.0, 0.3, 1.0):
        value, rounding = loss.dual_value(y, np.full(len(y), 1.0 / N_POINTS), theta, scale)
        terms, what = loss.conjugate(y, scale * theta) / N_POINTS, "dual value, the sum of -l*"
        total, tolerance = np.sum(terms), rounding + 1e-13 * np.sum(np.abs(terms))
        yield f"{what} up to its rounding", value, "=", -total, tolerance, {"scale": scale}


def _constants(t: _Points) -> Iterator[Property]:
    """The best constants of small samples, and the intervals that must contain them."""
    for _ in range(SAMPLES):
        rows = t.rng.permutation(N_POINTS)[:ROWS]
        y = np.where(np.arange(ROWS) % 2, 1.0, -1.0) if t.loss.of_labels else t.y[rows]
        yield from _constants_of(t, y, t.rng.random(ROWS), t.x[rows])


def _constants_of(t: _Points, y: Array, weights: Array, x: Array) -> Iterator[Property]:
    """The best constant of a sample, and the interval for predictions x without a constant."""
    loss, others = t.loss, np.append(np.linspace(-2.0, 2.0, 81) * np.max(np.abs(y)), y)
    values = loss.value(np.tile(y, len(others)), np.repeat(others, ROWS))
    means = np.reshape(values, (-1, ROWS)) @ weights
    best = float(weights @ loss.value(y, np.full(ROWS, loss.best_constant(y, weights))))
    what = "best constant, whose mean loss is the least"
    yield what, best, "<=", means, rounding_of(means), {"other": others}
    b, groups = float(t.rng.normal()) * 3.0, loss.row_groups(y, weights)
    bounds = [abs(group.weights @ x) / group.total for group in groups]
    value = float(weights @ loss.value(y, x + b))
    lower, upper = loss.constant_interval(groups, value, bounds)
    what = "constant_interval, which holds every intercept with a mean loss"
    yield what, lower, "<=", b, rounding_of(abs(b)), {"value": value}
    yield what, b, "<=", upper, rounding_of(abs(b)), {"value": value}


def _single_predictions(t: _Points) -> Iterator[Property]:
    """What is declared of the structure of a `ScalarLoss`."""
    loss, y, z, x, theta, g = t.loss, t.y, t.z, t.x, t.theta, t.loss.gradient(t.y, t.z)
    if not loss.linear_tails:
        middle, ahead = 0.0 if loss.of_labels else y, loss.gradient(y, z + STEP)
        tested = (np.abs(z - middle) < NEAR) & (np.abs(y) < NEAR) & (np.abs(g) > STEP)
        what = f"linear_tails=False: l' must rise between z and z + {STEP}"
        yield what, g, "<", np.where(tested, ahead, inf), 0.0, t.at(z=z)
    if loss.constant_curvature:
        rise, straight = loss.gradient(y, x) - g, loss.smoothness * (x - z)
        what = "constant_curvature, l'(y, x) - l'(y, z) = smoothness (x - z)"
        yield what, rise, "=", straight, rounding_of(np.abs(x) + np.abs(z)), t.at(z=z, x=x)
    at = [t.conjugate(k / 3.0 * theta) for k in range(4)]
    tolerance = rounding_of(np.abs(at[3]) + np.abs(y * theta))
    if loss.linear_conjugate:
        what = "linear_conjugate, l*(y, theta / 3) = l*(y, theta) / 3"
        yield what, at[1], "=", at[3] / 3.0, tolerance, t.at(theta=theta)
    if loss.quadratic_conjugate:
        what = "quadratic_conjugate: no third difference of l* from 0 to theta"
        yield what, at[3] - at[0], "=", 3.0 * (at[2] - at[1]), tolerance, t.at(theta=theta)
    if loss.conjugate_curvature is not None:
        parabola = y * theta + 0.5 * loss.conjugate_curvature * theta * theta
        what = "conjugate_curvature q, l*(y, theta) = y theta + q theta^2 / 2"
        yield what, at[3], "=", parabola, tolerance, t.at(theta=theta)
    pieces = loss.pieces(y)
    if pieces is not None:
        total, value = sum(_of_piece(piece, z) for piece in pieces), t.value(z)
        yield "pieces, whose sum is l(y, z)", total, "=", value, rounding_of(value), t.at(z=z)
    # the derivatives of the loss and of its Moreau envelope, used by solvers
    weights, (slopes, *outputs) = np.full(N_POINTS, 1.0 / N_POINTS), np.empty((3, N_POINTS))
    for sigma in (0.5,) if loss.linear_tails else (0.5, inf):
        loss.evaluator.smoothed_derivatives(y, weights, theta, z, sigma, slopes, *outputs)
        expected = g if sigma == inf else loss.prox_conjugate(y, theta + sigma * z, sigma)
        what, size = f"evaluator, its derivative for sigma={sigma}", np.abs(expected)
        yield what, slopes, "=", expected, rounding_of(size), t.at(z=z, theta=theta)


def _of_piece(piece: LinearPiece, z: Array) -> Array:
    """The maximum over u of a `LinearPiece`."""
    s = piece.sign * (z - piece.offset)
    u = np.where(s > 0.0, piece.upper, piece.lower)
    if piece.curvature > 0.0:
        u = np.clip(s / piece.curvature, piece.lower, piece.upper)
    return np.where(s == 0.0, 0.0, u * s) - 0.5 * piece.curvature * u * u
