"""Models as problems for an independent solver, written from their definitions alone."""

from numbers import Integral

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import xlogy

from tests.oracles.optima import linear_optimum, optimal_value


def linear_pieces(loss, y):
    """Pairs (slope, offset) with l(y_i, z) = max over the pairs of slope_i z + offset_i."""
    name = type(loss).__name__
    if name == "Shifted":  # a loss of z plus the second column of y
        return [(a, b + a * y[:, 1]) for a, b in linear_pieces(loss.inner, y[:, 0])]
    one = np.ones_like(y)
    if name == "Hinge":
        return [(0 * y, 0 * y), (-y, one)]
    if name == "GeneralizedHinge":
        return [(0 * y, 0 * y), (-y, one), (-loss.slope * y, one)]
    if name == "Absolute":
        return [(one, -y), (-one, y)]
    if name == "EpsilonInsensitive":
        return [(0 * y, 0 * y), (one, -y - loss.epsilon), (-one, y - loss.epsilon)]
    if name == "Pinball":
        q = loss.quantile
        return [((1 - q) * one, -(1 - q) * y), (-q * one, q * y)]
    if name == "PiecewiseLinear":
        ends = np.array([-np.inf, *loss.knots, np.inf])

        def value(t):  # the integral of the slope from 0 to t
            within = np.clip(t, ends[:-1], ends[1:]) - np.clip(0.0, ends[:-1], ends[1:])
            return float(np.dot(loss.slopes, within))

        knots = [loss.knots[0], *loss.knots]  # of each slope one at which the piece is known
        pieces = zip(loss.slopes, knots, strict=True)
        return [(a * one, value(t) - a * (t + y)) for a, t in pieces]
    raise ValueError(name)


def group_labels(groups, d):
    """The group of each of d features: by a size, by labels, or by lists of indices."""
    if isinstance(groups, Integral):
        return np.arange(d) // groups
    if isinstance(groups[0], list | tuple | np.ndarray):
        labels = np.empty(d, dtype=int)
        for g, members in enumerate(groups):
            labels[list(members)] = g
        return labels
    if len(groups) < d:  # the sizes of consecutive groups
        return np.repeat(np.arange(len(groups)), groups)
    _, first, labels = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[labels]  # in the order in which they first appear


def linear_programme(*arguments):
    """The optimal value of `linear_solution`."""
    return linear_solution(*arguments)[0]


def linear_solution(X, y, weights, loss, penalty, alpha, fit_intercept, constraint=None):
    """Optimal value, coefficients and intercept by HiGHS.

    For a piecewise-linear loss and a polyhedral penalty. There may be a
    `scipy.optimize.LinearConstraint` on the coefficients. Variables are w+ and w- (features each,
    >= 0), b, the losses t and the penalty's r.
    """
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    n, d = X.shape
    kind = type(penalty).__name__
    cost = np.concatenate([np.zeros(2 * d + 1), weights, [alpha if kind == "LInf" else 0.0]])
    if kind in ("L1", "NonNegativeL1"):
        cost[: 2 * d] = alpha
    elif kind == "WeightedL1":
        cost[: 2 * d] = alpha * np.tile(penalty.weights, 2)
    rows, limits = [], []
    for slope, offset in linear_pieces(loss, y):
        SX = slope[:, None] * X
        rows.append(np.hstack([SX, -SX, slope[:, None], -np.eye(n), np.zeros((n, 1))]))
        limits.append(-offset)
    total = np.hstack([np.eye(d), np.eye(d), np.zeros((d, 1 + n + 1))])
    if kind == "LInf":
        total[:, -1] = -1.0
        rows.append(total)
        limits.append(np.zeros(d))
    elif kind == "L1Ball":
        rows.append(total.sum(axis=0, keepdims=True))
        limits.append([penalty.radius])
    if constraint is not None:
        A = np.hstack([constraint.A, -constraint.A, np.zeros((len(constraint.A), n + 2))])
        for sign, ends in ((1, constraint.ub), (-1, constraint.lb)):
            rows.append(sign * A[np.isfinite(ends)])
            limits.append(sign * ends[np.isfinite(ends)])
    bounds = [(0, None)] * (2 * d)
    if kind == "Box":
        bounds = [(0, penalty.upper)] * d + [(0, -penalty.lower)] * d
    elif kind == "NonNegativeL1":
        bounds = [(0, None)] * d + [(0, 0)] * d
    bounds += [(None, None) if fit_intercept else (0, 0)] + [(None, None)] * n + [(0, None)]
    if kind in ("TotalVariation", "FusedLasso"):  # behind them |w_{j+1} - w_j|
        l1_ratio = getattr(penalty, "l1_ratio", 0.0)
        cost[: 2 * d] = alpha * l1_ratio
        cost = np.concatenate([cost, np.full(d - 1, alpha * (1 - l1_ratio))])
        rows = [np.hstack([block, np.zeros((len(block), d - 1))]) for block in rows]
        D = np.diff(np.eye(d), axis=0)
        for sign in (1, -1):
            rows.append(np.hstack([sign * D, -sign * D, np.zeros((d - 1, n + 2)), -np.eye(d - 1)]))
            limits.append(np.zeros(d - 1))
        bounds += [(0, None)] * (d - 1)
    found = linear_optimum(
        cost,
        A_ub=np.vstack(rows),
        b_ub=np.concatenate(limits),
        bounds=bounds,
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return found.fun, found.x[:d] - found.x[d : 2 * d], found.x[2 * d]


def conic_programme(*arguments):
    """The optimal value of `conic_solution`."""
    return conic_solution(*arguments)[0]


def conic_solution(X, y, weights, loss, penalty, alpha, fit_intercept, constraint=None):
    """Optimal value, coefficients and intercept through CVXPY.

    There may be a `scipy.optimize.LinearConstraint` on the coefficients.
    """
    cp = pytest.importorskip("cvxpy")

    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    w, b = cp.Variable(X.shape[1]), cp.Variable() if fit_intercept else 0.0
    constraints = constraints_of(cp, penalty, w)
    if constraint is not None:
        at = constraint.A @ w
        constraints += [at >= constraint.lb, at <= constraint.ub]
    objective = weights @ losses_of(cp, loss, y, X @ w + b) + alpha * value_of(cp, penalty, w)
    value = optimal_value(cp.Problem(cp.Minimize(objective), constraints))
    return value, w.value, float(b.value) if fit_intercept else 0.0


def losses_of(cp, loss, y, z):
    """The losses of the rows at predictions."""
    name = type(loss).__name__
    if name == "Shifted":
        return losses_of(cp, loss.inner, y[:, 0], z + y[:, 1])
    m, r = cp.multiply(y, z), z - y
    slack = cp.pos(1 - m)
    return {
        "Hinge": lambda: slack,
        "GeneralizedHinge": lambda: cp.maximum(slack, 1 - loss.slope * m),
        "SmoothedHinge": lambda: cp.huber(slack, loss.mu) / (2 * loss.mu),
        "SquaredHinge": lambda: cp.square(slack),
        "Logistic": lambda: cp.logistic(-m),
        "Squared": lambda: cp.square(r) / 2,
        "Absolute": lambda: cp.abs(r),
        "EpsilonInsensitive": lambda: cp.pos(cp.abs(r) - loss.epsilon),
        "Pinball": lambda: cp.maximum((1 - loss.quantile) * r, -loss.quantile * r),
        "Huber": lambda: cp.huber(r, loss.delta) / 2,
        "ModifiedHuber": lambda: cp.huber(slack, 2.0),
        "PiecewiseLinear": lambda: cp.maximum(
            *(cp.multiply(a, z) + b for a, b in linear_pieces(loss, y))
        ),
        "Poisson": lambda: cp.exp(z) - cp.multiply(y, z) + xlogy(y, y) - y,
        "Gamma": lambda: cp.multiply(y, cp.exp(-z)) + z - np.log(y) - 1,
        "Tweedie": lambda: _tweedie(cp, y, z, loss.power),
        "NegativeBinomial": lambda: _negative_binomial(cp, y, z, 1 / loss.dispersion),
        "SquaredEpsilonInsensitive": lambda: cp.square(cp.pos(cp.abs(r) - loss.epsilon)),
    }[name]()


def value_of(cp, penalty, w):
    """The value of a penalty, 0 for one that is a constraint alone."""
    kind = type(penalty).__name__
    norms = {"L1": cp.norm1, "L2Norm": cp.norm2, "LInf": cp.norm_inf}
    if kind in norms:
        return norms[kind](w)

    def groups(norm=cp.norm2, weighted=True):
        labels = group_labels(penalty.groups, w.shape[0])
        members = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
        sizes = np.sqrt(np.bincount(labels)) if weighted else np.ones(len(members))
        weights = sizes if getattr(penalty, "weights", None) is None else penalty.weights
        return sum(c * norm(w[some]) for c, some in zip(weights, members, strict=True))

    def mixed(one, other):
        return penalty.l1_ratio * one + (1 - penalty.l1_ratio) * other

    def separable():
        l1, l2 = (np.broadcast_to(x, w.shape[0]) for x in (penalty.l1, penalty.l2))
        return l1 @ cp.abs(w) + l2 @ cp.square(w) / 2

    def of_norm():
        norm = value_of(cp, penalty.norm, w)
        return penalty.function.scale * cp.power(norm, penalty.function.exponent)

    half_square = cp.sum_squares(w) / 2
    return {
        "NonNegativeL1": lambda: cp.norm1(w),
        "SquaredL2": lambda: half_square,
        "ElasticNet": lambda: mixed(cp.norm1(w), half_square),
        "GroupL2": groups,
        "NonNegativeGroupL2": groups,
        "GroupLInf": lambda: groups(cp.norm_inf, weighted=False),
        "GroupL1Squared": lambda: groups(lambda v: cp.square(cp.norm1(v)), weighted=False),
        "GroupElasticNet": lambda: mixed(groups(), half_square),
        "SquaredGroupL2": lambda: cp.square(groups(weighted=False)),
        "FunctionOfNorm": of_norm,
        "WeightedL1": lambda: penalty.weights @ cp.abs(w),
        "Separable": separable,
        "TotalVariation": lambda: cp.tv(w),
        "FusedLasso": lambda: mixed(cp.norm1(w), cp.tv(w)),
        "SquaredL2OnL1Ball": lambda: penalty.weight * half_square,
        "SparseGroup": lambda: mixed(cp.norm1(w), groups()),
    }.get(kind, lambda: 0.0)()


def constraints_of(cp, penalty, w):
    """What a penalty demands of the coefficients."""

    def within():
        return [cp.norm1(w) <= penalty.radius]

    def elastic_net():
        ratio = penalty.l1_ratio
        return [ratio * cp.norm1(w) + (1 - ratio) * cp.sum_squares(w) / 2 <= penalty.radius]

    def separable():
        return [
            sign * w[j] <= sign * bounds[j]
            for sign, bounds in ((-1, penalty.lower), (1, penalty.upper))
            for j in np.flatnonzero(np.isfinite(bounds))
        ]

    return {
        "L1Ball": within,
        "SquaredL2OnL1Ball": within,
        "ElasticNetBall": elastic_net,
        "Box": lambda: [w >= penalty.lower, w <= penalty.upper],
        "Separable": separable,
        "NonNegativeL1": lambda: [w >= 0],
        "NonNegativeGroupL2": lambda: [w >= 0],
    }.get(type(penalty).__name__, list)()


def multinomial_programme(X, labels, rows, l1, l2, fit_intercept):
    """The least sum_i rows_i log loss + l1 ||W||_1 + l2 ||W||_2^2 / 2, as `conic_programme`."""
    cp = pytest.importorskip("cvxpy")

    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    n, K = len(labels), int(np.max(labels)) + 1
    W = cp.Variable((X.shape[1], K))
    z = X @ W
    if fit_intercept:
        z = z + np.ones((n, 1)) @ cp.reshape(cp.Variable(K), (1, K), order="C")
    own = (labels[:, None] == np.arange(K)).astype(float)
    losses = cp.log_sum_exp(z, axis=1) - cp.sum(cp.multiply(own, z), axis=1)
    objective = rows @ losses + l2 / 2 * cp.sum_squares(W)
    if l1 > 0.0:
        objective += l1 * cp.sum(cp.abs(W))
    return optimal_value(cp.Problem(cp.Minimize(objective)))


def cox_programme(X, loss, penalty, alpha):
    """The least partial likelihood of a `PartialLikelihood` plus a penalty, from its parts."""
    cp = pytest.importorskip("cvxpy")

    w = cp.Variable(X.shape[1])
    u = X[loss.used_rows] @ w + (0.0 if loss.offset is None else loss.offset)
    shares, log_s, starts = loss.shares, loss.log_s, loss.starts
    end = len(shares)
    value = -(shares @ u) - float(loss.constant)
    for g in reversed(range(len(starts) - 1)):
        if loss.last[g]:
            end = starts[g + 1]
        rows = np.arange(starts[g], end)
        tied = np.flatnonzero(shares[starts[g] : starts[g + 1]] > 0)
        d, total = len(tied), shares[starts[g] : starts[g + 1]].sum()
        terms = d if loss.efron else min(d, 1)
        for k in range(terms):
            kept = np.zeros(len(rows))
            kept[tied] = np.log1p(-k / terms)
            value += total / terms * cp.log_sum_exp(u[rows] + log_s[rows] + kept)
    value += alpha * value_of(cp, penalty, w)
    return optimal_value(cp.Problem(cp.Minimize(value)))


def ordinal_programme(X, y, rows, offset, loss, penalty, alpha):
    """The least loss of ordered classes over coefficients and thresholds."""
    cp = pytest.importorskip("cvxpy")

    w, t = cp.Variable(X.shape[1]), cp.Variable(int(np.max(y)))
    value = alpha * value_of(cp, penalty, w)
    for k in range(int(np.max(y))):
        margins = cp.multiply(np.where(y > k, 1.0, -1.0), X @ w + offset - t[k])
        value += rows @ (cp.logistic(-margins) if loss == "logistic" else cp.pos(1 - margins))
    return optimal_value(cp.Problem(cp.Minimize(value)))


def trace_norm_programme(X, Y, weights, alpha, radius, fit_intercept):
    """Least squares for many outputs over the trace-norm ball, with half a squared norm."""
    cp = pytest.importorskip("cvxpy")

    W = cp.Variable((X.shape[1], Y.shape[1]))
    b = cp.Variable((1, Y.shape[1])) if fit_intercept else np.zeros((1, Y.shape[1]))
    R = cp.multiply(np.sqrt(weights)[:, None], X @ W + np.ones((len(Y), 1)) @ b - Y)
    objective = cp.sum_squares(R) / 2 + alpha * cp.sum_squares(W) / 2
    return optimal_value(cp.Problem(cp.Minimize(objective), [cp.normNuc(W) <= radius]))


def _tweedie(cp, y, z, power):
    a, b = 2 - power, power - 1
    return cp.exp(a * z) / a + cp.multiply(y, cp.exp(-b * z)) / b - y**a / (a * b)


def _negative_binomial(cp, y, z, k):
    most = xlogy(y, y) + k * np.log(k) - (y + k) * np.log(y + k)
    t = z - np.log(k)
    return cp.multiply(y, cp.logistic(-t)) + k * cp.logistic(t) + most
