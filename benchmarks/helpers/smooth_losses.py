"""Smooth losses of scores in floats and in numbers of 50 digits, written from their definitions.

Each is an object with ``value(Z, maths)``, the weighted sum over the rows of scores Z of shape
(n, K), ``gradient(Z, maths)`` of the same shape, and ``curvature(A, Z)``, the Hessian of shape
(p K, p K) in coefficients V of shape (p, K) with Z = A V, in floats. `FLOATS` and `DIGITS` are the
two kinds of ``maths``.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import mpmath
import numpy as np
from scipy.special import expit

DIGITS_KEPT = 50
FLOATS = SimpleNamespace(
    number=lambda values: np.asarray(values, dtype=float),
    exp=np.exp,
    log=np.log,
    softplus=lambda z: np.logaddexp(0.0, z),
    expit=expit,
    positive=lambda z: np.maximum(z, 0.0),
    clip=np.clip,
    total=np.sum,
)


def _each(function):
    """A function of a number for arrays of numbers, also for empty ones."""
    return np.vectorize(function, otypes=[object])


DIGITS = SimpleNamespace(
    number=_each(lambda value: mpmath.mpf(float(value))),
    exp=_each(mpmath.exp),
    log=_each(mpmath.log),
    softplus=_each(lambda z: mpmath.log(1 + mpmath.exp(-abs(z))) + max(z, 0)),
    expit=_each(lambda z: 1 / (1 + mpmath.exp(-z))),
    positive=_each(lambda z: max(z, mpmath.mpf(0))),
    clip=lambda z, low, high: np.vectorize(lambda x: min(max(x, low), high), otypes=[object])(z),
    total=lambda values: mpmath.fsum(np.ravel(values)),
)


@dataclass(frozen=True, eq=False)
class RowLoss:
    """sum_i c_i l(y_i, z_i), of one score a row; the weights c sum to ``times`` in all digits."""

    name: str
    y: np.ndarray
    weights: np.ndarray
    parameter: float = 0.0
    times: int = 1

    def _columns(self, maths):
        c, y = maths.number(self.weights), maths.number(self.y)
        return y.reshape(len(y), -1), (self.times * c / maths.total(c))[:, None]

    def value(self, Z, maths):
        y, c = self._columns(maths)
        return maths.total(c * VALUES[self.name](y, Z, maths, self.parameter))

    def gradient(self, Z, maths):
        y, c = self._columns(maths)
        return c * SLOPES[self.name](y, Z, maths, self.parameter)

    def curvature(self, A, Z):
        y, c = self._columns(FLOATS)
        h = c * CURVATURES[self.name](y, Z, FLOATS, self.parameter)
        return A.T @ (h * A)


def _deviance(y, z, m, power):
    """Half the unit deviance of a Tweedie family, without the part of y alone where that is 0."""
    if power == 1.0:
        return m.exp(z) - y * z + _constant(y, power, m)
    if power == 2.0:
        return y * m.exp(-z) + z + _constant(y, power, m)
    a, b = (m.number([x])[0] for x in (power, 1.0))
    a, b = 2 - a, a - b
    return m.exp(a * z) / a + y * m.exp(-b * z) / b + _constant(y, power, m)


def _constant(y, power, m):
    """What makes the deviance 0 at z = log(y)."""
    positive = np.array(y > 0, dtype=bool)
    logs = m.log(np.where(positive, y, y * 0 + 1))
    if power == 1.0:
        return y * logs - y
    if power == 2.0:
        return -logs - 1
    p = m.number([power])[0]
    return -np.where(positive, m.exp((2 - p) * logs), y * 0) / ((2 - p) * (p - 1))


def _tweedie_slope(y, z, m, power):
    p = m.number([power])[0]
    return m.exp((2 - p) * z) - y * m.exp((1 - p) * z)


def _tweedie_curvature(y, z, m, power):
    return (2.0 - power) * np.exp((2.0 - power) * z) + (power - 1.0) * y * np.exp(
        (1.0 - power) * z
    )


def _huber(y, z, m, delta):
    r = z - y
    s = m.clip(r, -delta, delta)
    return s * r - s * s / 2


VALUES = {
    "logistic": lambda y, z, m, _: m.softplus(-y * z),
    "squared_hinge": lambda y, z, m, _: m.positive(1 - y * z) ** 2,
    "squared": lambda y, z, m, _: (z - y) ** 2 / 2,
    "huber": _huber,
    "deviance": _deviance,
}
SLOPES = {
    "logistic": lambda y, z, m, _: -y * m.expit(-y * z),
    "squared_hinge": lambda y, z, m, _: -2 * y * m.positive(1 - y * z),
    "squared": lambda y, z, m, _: z - y,
    "huber": lambda y, z, m, delta: m.clip(z - y, -delta, delta),
    "deviance": _tweedie_slope,
}
CURVATURES = {
    "logistic": lambda y, z, m, _: expit(z) * expit(-z),
    "squared_hinge": lambda y, z, m, _: 2.0 * (y * z < 1.0),
    "squared": lambda y, z, m, _: np.ones_like(z),
    "huber": lambda y, z, m, delta: (np.abs(z - y) < delta) * 1.0,
    "deviance": _tweedie_curvature,
}


@dataclass(frozen=True, eq=False)
class Softmax:
    """sum_i c_i (log sum_k exp(z_ik) - z_i,label)."""

    labels: np.ndarray
    weights: np.ndarray

    def _shares(self, maths):
        c = maths.number(self.weights)
        return c / maths.total(c)

    def _probabilities(self, Z, maths):
        shifted = Z - np.max(Z, axis=1, keepdims=True)
        e = maths.exp(shifted)
        sums = np.sum(e, axis=1, keepdims=True)
        return shifted, e / sums, sums

    def value(self, Z, maths):
        shifted, _, sums = self._probabilities(Z, maths)
        own = shifted[np.arange(len(Z)), self.labels]
        return maths.total(self._shares(maths) * (maths.log(sums[:, 0]) - own))

    def gradient(self, Z, maths):
        _, P, _ = self._probabilities(Z, maths)
        own = np.zeros(Z.shape)
        own[np.arange(len(Z)), self.labels] = 1.0
        return self._shares(maths)[:, None] * (P - maths.number(own))

    def curvature(self, A, Z):
        _, P, _ = self._probabilities(Z, FLOATS)
        p, K = A.shape[1], Z.shape[1]
        c, H = self._shares(FLOATS), np.zeros((p, K, p, K))
        for j in range(K):
            for k in range(K):
                h = c * P[:, j] * ((j == k) - P[:, k])
                H[:, j, :, k] = A.T @ (h[:, None] * A)
        return H.reshape(p * K, p * K)


class SquaredOutputs(RowLoss):
    """sum_i c_i ||z_i - y_i||^2 / 2 of several outputs."""

    def __init__(self, Y, weights):
        super().__init__("squared", Y, weights)

    def curvature(self, A, Z):
        _, c = self._columns(FLOATS)
        return np.kron(A.T @ (c * A), np.eye(Z.shape[1]))


@dataclass(frozen=True, eq=False)
class PartialLikelihood:
    """The negative log partial likelihood of Cox's model over the sum of the weights.

    A row is at risk from its entry, excluded, to its exit, with the rows of its stratum. With
    Efron's method the l-th of d tied events leaves the share l / d of them out of its sum, with
    the mean of their weights; with Breslow's none. sum_i c_i log(s_i) over the events is taken
    off, so that a weight without ties counts as repeated rows; a constant keeps the value above 0.
    """

    entry: np.ndarray
    exit: np.ndarray
    event: np.ndarray
    weights: np.ndarray
    strata: np.ndarray
    efron: bool

    def __post_init__(self):
        rows, masses, happens = [], [], (self.event > 0) & (self.weights > 0.0)
        for stratum, at in sorted(set(zip(self.strata[happens], self.exit[happens], strict=True))):
            inside = self.strata == stratum
            risk = inside & (self.entry < at) & (at <= self.exit)
            tied = inside & happens & (self.exit == at)
            d = int(tied.sum()) if self.efron else 1
            for step in range(d):  # step / d is exact where a share is left out in 50 digits
                rows.append((risk, tied, step, d))
                masses.append((tied, d))
        object.__setattr__(self, "terms", rows)
        object.__setattr__(self, "happens", happens)

    def _matrix(self, maths):
        """The shares of rows in each sum, times their weights, and the weights of the sums."""
        if maths is not FLOATS:
            return self._made(maths)
        if not hasattr(self, "_floats"):
            object.__setattr__(self, "_floats", self._made(maths))
        return self._floats

    def _made(self, maths):
        s = maths.number(self.weights)
        total = maths.total(s)
        one = maths.number([1.0])[0]
        M, mass = [], []
        for risk, tied, step, d in self.terms:
            row = np.where(risk, s, s * 0)
            if step:
                row = np.where(tied, s * (one * (d - step) / d), row)
            M.append(row)
            mass.append(maths.total(s[tied]) / d / total)
        return np.array(M), np.array(mass), np.where(self.happens, s, s * 0) / total, s

    def _sums(self, Z, maths):
        z = Z[:, 0] - self._centre(Z)
        M, mass, own, s = self._matrix(maths)
        e = maths.exp(z)
        return z, e, M, mass, own, s, M @ e

    def _centre(self, Z):
        """The largest score of each stratum, which no sum of a stratum notices."""
        centre = Z[:, 0] * 0
        for stratum in np.unique(self.strata):
            inside = self.strata == stratum
            centre[inside] = np.max(Z[inside, 0])
        return centre

    def value(self, Z, maths):
        z, _, _, mass, own, s, S = self._sums(Z, maths)
        used = self.happens
        logs = maths.log(s[used])
        value = maths.total(mass * maths.log(S)) - maths.total(own[used] * (z[used] + logs))
        return value + self._raised(own, maths)

    def _raised(self, own, maths):
        """What keeps Efron's sums of events with unequal weights from being negative.

        Of d events of weights c at a time, which alone are at risk, C log C - sum c log(c) +
        C (log(d!) / d - log(d)) is a lower bound.
        """
        raised = own[:1].sum() * 0
        for _, tied, step, d in self.terms:
            if d > 1 and not step:
                c = own[tied]
                total = maths.total(c)
                shares = -maths.total(c * maths.log(c / total))
                logs = maths.log(maths.number(np.arange(1.0, d + 1.0)))
                least = shares + total * (maths.total(logs) / d - logs[-1])
                raised = raised + max(-least, least * 0)
        return raised

    def gradient(self, Z, maths):
        _, e, M, mass, own, _, S = self._sums(Z, maths)
        return (e * (M.T @ (mass / S)) - own)[:, None]

    def curvature(self, A, Z):
        _, e, M, mass, _, _, S = self._sums(Z, FLOATS)
        means = (M * e) @ A / S[:, None]
        q = e * (M.T @ (mass / S))
        return A.T @ (q[:, None] * A) - means.T @ (mass[:, None] * means)
