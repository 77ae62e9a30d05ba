"""Numerical tests of the properties that a loss declares (`check_loss`)."""

from math import inf
from typing import Any

import numpy as np

from .._checks import ACCURACY, PropertyTests, require_everywhere
from .._typing import Array
from .base import Loss

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
    kinds: list[type[_Tests]] = [_Values, _Conjugate]
    if not loss.couples_outputs:
        kinds.append(_OfSinglePredictions)
    for kind in kinds:
        for test in kind(loss).tests():
            test()


class _Tests(PropertyTests):
    """Points for a loss: targets y, predictions z and x, and dual points theta.

    The arrays of a loss of several predictions have `Loss.n_outputs` entries for each row.
    """

    def __init__(self, loss: Any) -> None:
        super().__init__(loss)
        self.loss = loss
        K = loss.n_outputs
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

    def points(self, **points: Any) -> dict[str, Any]:
        """The points, each as a row, with the targets first."""
        K = self.loss.n_outputs
        shape = (-1, K) if K > 1 else (-1,)
        return {name: np.reshape(x, shape) for name, x in {"y": self.y, **points}.items()}

    def size(self, *factors: Array) -> Array:
        """The sum over each row of the absolute values of a product."""
        return self.rows(np.abs(np.prod(factors, axis=0)))


class _Values(_Tests):
    """The function itself, and its subgradients."""

    def signs(self) -> None:
        loss, y, z = self.loss, self.y, self.z
        value = self.value(z)
        self.require("non-negativity, l(y, z) >= 0", value >= 0.0, value, 0.0, z=z)
        if loss.of_residuals:
            at_target = self.value(y)
            self.require("value at the target, l(y, y) = 0", at_target == 0.0, at_target, 0.0)
        if loss.of_labels:
            after = self.value(z + y * np.abs(self.x))
            falls = after <= value + ACCURACY * value
            self.require("fall in the margin, l(y, z) >= l(y, z + y)", falls, value, after, z=z)

    def convexity(self) -> None:
        z, x = self.z, self.x
        share = self.rng.random(N_POINTS)
        shares = np.repeat(share, self.loss.n_outputs)
        between = self.value(shares * z + (1.0 - shares) * x)
        chord = share * self.value(z) + (1.0 - share) * self.value(x)
        what = "convexity, l(y, .) <= its chord between z and x"
        self.require_at_most(what, between, chord, chord, z=z, x=x, share=shares)

    def subgradients(self) -> None:
        loss, y, z, x = self.loss, self.y, self.z, self.x
        g = loss.gradient(y, z)
        tangent = self.value(z) + self.rows(g * (x - z))
        value = self.value(x)
        what, size = "subgradient, l(y, x) >= l(y, z) + g (x - z)", self.size(g, x - z)
        self.require_at_least(what, value, tangent, self.value(z) + size, z=z, x=x, g=g)
        distance = np.sqrt(self.rows((x - z) ** 2))
        change = np.abs(value - self.value(z))
        # the constant of a coupled loss holds for each of its predictions
        limit = loss.lipschitz * (self.rows(np.abs(x - z)) if loss.couples_outputs else distance)
        what = "Lipschitz constant, |l(y, z) - l(y, x)| <= lipschitz |z - x|"
        self.require_at_most(what, change, limit, value + self.value(z), z=z, x=x)
        change = np.sqrt(self.rows((loss.gradient(y, x) - g) ** 2))
        limit = loss.smoothness * distance
        what = "smoothness, |l'(y, z) - l'(y, x)| <= smoothness |z - x|"
        self.require_at_most(what, change, limit, self.rows(np.abs(g)), z=z, x=x)


class _Conjugate(_Tests):
    """The conjugate, its domain and its prox."""

    def domain(self) -> None:
        loss, y = self.loss, self.y
        if loss.couples_outputs:
            return
        what = "domain of the conjugate, where dual_bounds and conjugate_domain have it"
        g = loss.gradient(y, self.z)
        lower, upper = loss.dual_bounds(y)
        for side, end in ((-1.0, lower), (1.0, upper)):
            self.require(f"{what}: 0 is not in it", side * end >= 0.0, 0.0, end)
            inside = side * (g - end) <= ACCURACY
            self.require(f"{what}: a subgradient is outside", inside, g, end, z=self.z)
            theta = np.where(np.isfinite(end), end, side * np.abs(self.x))
            value = self.conjugate(theta)
            finite = np.isfinite(value)
            self.require(f"{what}: l* is infinite inside", finite, value, inf, theta=theta)
            if np.isfinite(end).all():
                theta = end + side * OUTSIDE * (1.0 + np.abs(end))
                value = self.conjugate(theta)
                holds = value == inf
                self.require(f"{what}: l* is finite outside", holds, value, inf, theta=theta)

    def fenchel_young(self) -> None:
        loss, y, z, theta = self.loss, self.y, self.z, self.theta
        total, product = self.value(z) + self.conjugate(theta), self.rows(theta * z)
        what = "Fenchel-Young inequality, l(y, z) + l*(y, theta) >= theta z"
        size = self.value(z) + self.size(theta, z) + self.size(theta, y)
        self.require_at_least(what, total, product, size, z=z, theta=theta)
        g = loss.gradient(y, z)
        self._touches("Fenchel-Young equality, l(y, z) + l*(y, g) = g z at a subgradient", g, z)

    def _touches(self, what: str, g: Array, z: Array, extra_size: Array | float = 0.0) -> None:
        """Require that g are subgradients at z, by the equality of Fenchel and Young."""
        size = self.value(z) + self.size(g, z) + self.size(g, self.y) + extra_size
        total = self.value(z) + self.conjugate(self.loss.project_dual(self.y, g))
        self.require_equal(what, total, self.rows(g * z), size, z=z, g=g)

    def prox(self) -> None:
        loss = self.loss
        step = np.repeat(10.0 ** self.rng.uniform(-2.0, 2.0, N_POINTS), loss.n_outputs)
        v = self.spread()
        theta = loss.prox_conjugate(self.y, v, step)
        z = (v - theta) / step
        what = "prox of the conjugate, whose theta is a subgradient at z = (v - theta) / step"
        self._touches(what, theta, z, extra_size=self.rows(np.abs(z)))

    def dual_values(self) -> None:
        loss, weights = self.loss, np.full(len(self.y), 1.0 / N_POINTS)
        for scale in (0.0, 0.3, 1.0):
            value, rounding = loss.dual_value(self.y, weights, self.theta, scale)
            expected = -float(weights @ loss.conjugate(self.y, scale * self.theta))
            size = float(weights @ np.abs(loss.conjugate(self.y, scale * self.theta)))
            is_close = abs(value - expected) <= rounding + 1e-13 * size
            require_everywhere(
                loss, "dual value, the sum of -l* up to its rounding", is_close, value, expected,
                scale=scale,
            )  # fmt: skip


class _OfSinglePredictions(_Tests):
    """Constants, and what is declared of the structure of a `ScalarLoss`."""

    def constants(self) -> None:
        """Test the best constant of small samples, and the intervals that must contain it."""
        for _ in range(SAMPLES):
            rows = self.rng.permutation(N_POINTS)[:ROWS]
            y, weights, x = self.y[rows], self.rng.random(ROWS), self.x[rows]
            if self.loss.of_labels:
                y = np.where(np.arange(ROWS) % 2, 1.0, -1.0)
            self._best_constant(y, weights)
            self._constant_interval(y, weights, x)

    def _best_constant(self, y: Array, weights: Array) -> None:
        loss = self.loss
        best = loss.best_constant(y, weights)
        others = np.append(np.linspace(-2.0, 2.0, 81) * np.max(np.abs(y)), y)
        min_mean = float(weights @ loss.value(y, np.full(ROWS, best)))
        values = loss.value(np.tile(y, len(others)), np.repeat(others, ROWS))
        means = np.reshape(values, (-1, ROWS)) @ weights
        require_everywhere(
            loss, "best constant, whose mean loss is the least",
            min_mean <= means + ACCURACY * (1.0 + means), min_mean, means, other=others,
        )  # fmt: skip

    def _constant_interval(self, y: Array, weights: Array, x: Array) -> None:
        loss, b = self.loss, float(self.rng.normal()) * 3.0
        groups = loss.row_groups(y, weights)
        bounds = [abs(group.weights @ x) / group.total for group in groups]
        value = float(weights @ loss.value(y, x + b))
        lower, upper = loss.constant_interval(groups, value, bounds)
        tolerance = ACCURACY * (1.0 + abs(b))
        what = "constant_interval, which holds every intercept with a mean loss"
        require_everywhere(loss, what, lower <= b + tolerance, lower, b, value=value)
        require_everywhere(loss, what, b - tolerance <= upper, b, upper, value=value)

    def declared_curvature(self) -> None:
        loss, y, z, x = self.loss, self.y, self.z, self.x
        g = loss.gradient(y, z)
        if not loss.linear_tails:
            middle = 0.0 if loss.of_labels else y
            ahead = loss.gradient(y, z + STEP)
            asked = (np.abs(z - middle) < NEAR) & (np.abs(y) < NEAR) & (np.abs(g) > STEP)
            curved = ~asked | (ahead > g)
            what = f"linear_tails=False: l' must rise between z and z + {STEP}"
            self.require(what, curved, g, ahead, z=z)
        if loss.constant_curvature:
            rise, straight = loss.gradient(y, x) - g, loss.smoothness * (x - z)
            self.require_equal(
                "constant_curvature, l'(y, x) - l'(y, z) = smoothness (x - z)", rise, straight,
                np.abs(x) + np.abs(z), z=z, x=x,
            )  # fmt: skip

    def declared_conjugate(self) -> None:
        loss, y, theta = self.loss, self.y, self.theta
        at = [self.conjugate(k / 3.0 * theta) for k in range(4)]
        size = np.abs(at[3]) + np.abs(y * theta)
        if loss.linear_conjugate:
            self.require_equal(
                "linear_conjugate, l*(y, theta / 3) = l*(y, theta) / 3", at[1], at[3] / 3.0, size,
                theta=theta,
            )  # fmt: skip
        if loss.quadratic_conjugate:
            self.require_equal(
                "quadratic_conjugate: no third difference of l* from 0 to theta", at[3] - at[0],
                3.0 * (at[2] - at[1]), size, theta=theta,
            )  # fmt: skip
        q = loss.conjugate_curvature
        if q is not None:
            parabola = y * theta + 0.5 * q * theta * theta
            self.require_equal(
                "conjugate_curvature q, l*(y, theta) = y theta + q theta^2 / 2", at[3], parabola,
                size, theta=theta,
            )  # fmt: skip

    def pieces(self) -> None:
        y, z = self.y, self.z
        pieces = self.loss.pieces(y)
        if pieces is None:
            return
        total = np.zeros(N_POINTS)
        for piece in pieces:
            s = piece.sign * (z - piece.offset)
            u = np.where(s > 0.0, piece.upper, piece.lower)
            if piece.curvature > 0.0:
                u = np.clip(s / piece.curvature, piece.lower, piece.upper)
            total += np.where(s == 0.0, 0.0, u * s) - 0.5 * piece.curvature * u * u
        value = self.value(z)
        self.require_equal("pieces, whose sum is l(y, z)", total, value, value, z=z)

    def evaluator(self) -> None:
        """Test the derivatives of the loss and of its Moreau envelope, used by solvers."""
        loss, y, z, theta = self.loss, self.y, self.z, self.theta
        weights = np.full(N_POINTS, 1.0 / N_POINTS)
        for sigma in (0.5, inf) if not loss.linear_tails else (0.5,):
            slopes, gradient, curvature = (np.empty(N_POINTS) for _ in range(3))
            loss.evaluator.smoothed_derivatives(
                y, weights, theta, z, sigma, slopes, gradient, curvature
            )
            expected = loss.gradient(y, z)
            if sigma < inf:
                expected = loss.prox_conjugate(y, theta + sigma * z, sigma)
            self.require_equal(
                f"evaluator, its derivative for sigma={sigma}", slopes, expected, np.abs(expected),
                z=z, theta=theta,
            )  # fmt: skip
