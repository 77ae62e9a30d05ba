"""The objectives of models in 50 digits and more, written from their definitions alone.

Numbers are those of `mpmath` with 400 bits and unlimited exponents: exact sums and products of
doubles for all that matters here. Data and coefficients are taken as they are, bit for bit.
"""

import itertools
from functools import partial
from types import SimpleNamespace

import mpmath
import numpy as np
import scipy.sparse as sp
from mpmath import mp, mpf

from tests.oracles.reference import group_labels

mp.prec = 400
ROUNDING = mpf("1e-9")  # of the sizes that enter: by how much constraints may be missed


def exact(values):
    """An array of doubles, or of floats of single precision, as a list of lists of numbers."""
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    return np.vectorize(lambda value: mpf(float(value)), otypes=[object])(values)


def total(values):
    return mpmath.fsum(np.ravel(values))


def scores(X, coef, intercept):
    """X coef' + intercept, of shape (n_samples, n_outputs)."""
    X, coef = exact(X), np.atleast_2d(exact(coef))
    intercept = np.ravel(exact(intercept))
    return np.array(
        [[mpmath.fdot(row, w) + b for w, b in zip(coef, intercept, strict=True)] for row in X],
        dtype=object,
    ).reshape(len(X), len(coef))


def mean(values, weights):
    """The weighted mean of numbers, or their mean."""
    weights = exact(np.ones(len(values)) if weights is None else weights)
    return mpmath.fdot(weights, values) / total(weights)


# Losses of one prediction


def _huber(t, delta):
    return t * t / 2 if abs(t) <= delta else delta * (abs(t) - delta / 2)


PHI = {  # of a margin or a residual t, by the parameters p of a loss
    "Hinge": lambda p, t: max(1 - t, 0 * t),
    "GeneralizedHinge": lambda p, t: max(1 - t, 1 - p.slope * t, 0 * t),
    "SmoothedHinge": lambda p, t: _huber(max(1 - t, 0 * t), p.mu) / p.mu,
    "SquaredHinge": lambda p, t: max(1 - t, 0 * t) ** 2,
    "ModifiedHuber": lambda p, t: max(1 - t, 0 * t) ** 2 if t >= -1 else -4 * t,
    "Logistic": lambda p, t: (
        mpmath.log1p(mpmath.exp(-t)) if t > 0 else mpmath.log1p(mpmath.exp(t)) - t
    ),
    "Squared": lambda p, t: t * t / 2,
    "Absolute": lambda p, t: abs(t),
    "EpsilonInsensitive": lambda p, t: max(abs(t) - p.epsilon, 0 * t),
    "SquaredEpsilonInsensitive": lambda p, t: max(abs(t) - p.epsilon, 0 * t) ** 2,
    "Huber": lambda p, t: _huber(t, p.delta),
    "Pinball": lambda p, t: max((1 - p.quantile) * t, -p.quantile * t),
}
DEFAULTS = SimpleNamespace(  # the doubles that are defaults of these losses
    slope=mpf(2), mu=mpf(1), epsilon=mpf(0.1), delta=mpf(1.35), quantile=mpf(0.5)
)


def phi(loss, t):
    """A loss with its own parameters at a margin or a residual, a fraction or one of mpmath."""
    exactly = {name: type(t)(value) for name, value in vars(loss).items()}
    return PHI[type(loss).__name__](SimpleNamespace(**exactly), t)


def _by_name(*names):
    return {name: partial(PHI[name.title().replace("_", "")], DEFAULTS) for name in names}


MARGIN = _by_name(
    "hinge", "squared_hinge", "smoothed_hinge", "generalized_hinge", "modified_huber", "logistic"
)
RESIDUAL = _by_name(
    "squared", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "pinball"
)


def deviance(power, y, z):
    """Half the unit deviance of the Tweedie family, of y and the mean exp(z)."""
    a, b = 2 - mpf(power), mpf(power) - 1
    if y == 0:
        return mpmath.exp(a * z) / a
    if b == 0:
        return mpmath.exp(z) - y * z + y * mpmath.log(y) - y
    if a == 0:
        return y * mpmath.exp(-z) + z - mpmath.log(y) - 1
    return mpmath.exp(a * z) / a + y * mpmath.exp(-b * z) / b - y**a / (a * b)


def deviance_conjugate(power, y, theta):
    """The largest theta z - l(y, z), at the root of its derivative."""
    a, b = 2 - mpf(power), mpf(power) - 1

    def slope(z):
        return mpmath.exp(a * z) - y * mpmath.exp(-b * z) - theta

    low, high = mpf(-1), mpf(1)
    while slope(low) > 0:
        low *= 2
    while slope(high) < 0:
        high *= 2
    for _ in range(420):  # a digit of 400 each
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return theta * low - deviance(power, y, low)


def scalar_losses(name, y, z):
    """The losses of targets and predictions of any shape, one after the other.

    The name of a deviance is its power.
    """
    pairs = zip(np.ravel(exact(y)), np.ravel(z), strict=True)
    if isinstance(name, float):
        return [deviance(name, t, p) for t, p in pairs]
    if name in MARGIN:
        return [MARGIN[name](t * p) for t, p in pairs]
    return [RESIDUAL[name](p - t) for t, p in pairs]


def row_losses(name, Y, Z):
    """Of each row the sum over its outputs, or what couples them."""
    if name == "l2_norm":
        R = Z - exact(Y).reshape(Z.shape)
        return [mpmath.sqrt(mpmath.fdot(r, r)) for r in R]
    losses = np.array(scalar_losses(name, Y, Z), dtype=object).reshape(Z.shape)
    return [total(row) for row in losses]


def class_losses(name, labels, Z):
    """Softmax or the loss of Crammer and Singer, max over k of 1[k != y] + z_k - z_y."""
    found = []
    for own, z in zip(labels, Z, strict=True):
        differences = [value - z[own] for value in z]
        if name == "softmax":
            largest = max(differences)
            terms = [mpmath.exp(value - largest) for value in differences]
            found.append(largest + mpmath.log(mpmath.fsum(terms)))
        else:
            found.append(max(v + (k != own) for k, v in enumerate(differences)))
    return found


def quantile_losses(quantiles, y, Z):
    """The sum of the pinball losses of each row, and by how much the quantiles cross."""
    q = exact(quantiles)
    losses, crossing = [], mpf(0)
    for t, z in zip(exact(y), Z, strict=True):
        residuals = [(p - t, s) for p, s in zip(z, q, strict=True)]
        losses.append(mpmath.fsum([max((1 - s) * r, -s * r) for r, s in residuals]))
        crossing = max([crossing, *(a - b for a, b in itertools.pairwise(z))])
    return losses, crossing


def within_budget(losses, weights, budget):
    """The largest sum of c_i p_i l_i with p in [0, 1] and sum(s_i p_i) <= budget; l_i any sign."""
    weights = exact(np.ones(len(losses)) if weights is None else weights)
    left, found = mpf(budget), mpf(0)
    for loss, weight in sorted(zip(losses, weights, strict=True), reverse=True):
        part = min(left, weight)
        if loss <= 0:
            break
        found, left = found + part * loss, left - part
    return found / total(weights)


# Losses of all labels


def multivariate(scoring, y, z, beta=1.0):
    """1 - score plus the mean of the margins missed, at its worst over all labelings."""
    positive = sorted(p for t, p in zip(y, z, strict=True) if t > 0)
    negative = sorted((p for t, p in zip(y, z, strict=True) if t <= 0), reverse=True)
    P, N, n = len(positive), len(negative), len(z)
    if scoring == "roc_auc":
        return total([max(1 - (a - b), mpf(0)) for a in positive for b in negative]) / (P * N)
    low, high = [mpf(0)], [mpf(0)]
    low.extend(itertools.accumulate(positive))
    high.extend(itertools.accumulate(negative))
    found = [mpf(0)] if scoring in ("precision_at_k", "recall_at_k") else []
    for b, c in itertools.product(range(P + 1), range(N + 1)):
        if scoring in ("f1", "fbeta"):
            square = mpf(beta) ** 2
            delta = (square * b + c) / (square * P + (P - b) + c)
        elif P - b + c == P:  # k is the number of positive samples
            delta = 1 - mpf(P - b) / P
        else:
            continue
        found.append(delta + 2 * (high[c] - low[b]) / n)
    return max(found)


def chain(labels, Z, transitions, soft):
    """The loss of one sequence: minus the log-likelihood, or that of its worst labeling."""
    K, T = Z.shape[1], exact(transitions)
    true = total([Z[t, k] for t, k in enumerate(labels)])
    true += total([T[a, b] for a, b in itertools.pairwise(labels)])

    def join(values):
        largest = max(values)
        if not soft:
            return largest
        return largest + mpmath.log(mpmath.fsum([mpmath.exp(v - largest) for v in values]))

    at = [Z[0, k] + (not soft and k != labels[0]) for k in range(K)]
    for t in range(1, len(labels)):
        at = [
            join([at[j] + T[j, k] for j in range(K)]) + Z[t, k] + (not soft and k != labels[t])
            for k in range(K)
        ]
    return join(at) - true


def soft_margin(margins, weights, nu, entropy):
    """The least sum w_i m_i + entropy KL(w, c) over the w in the simplex with w_i <= c_i / nu."""
    weights = exact(np.ones(len(margins)) if weights is None else weights)
    kept = [(m, c) for m, c in zip(margins, weights, strict=True) if c > 0]
    every = total([c for _, c in kept])
    kept, cap = [(m, c / every) for m, c in kept], 1 / mpf(nu)
    if entropy == 0:
        left, found = mpf(1), mpf(0)
        for m, c in sorted(kept):
            part = min(left, c * cap)
            found, left = found + part * m, left - part
        return found
    scale = mpf(entropy)

    def ratios(level):
        return [min(cap, mpmath.exp((level - m) / scale)) for m, _ in kept]

    low = min(m for m, _ in kept) - scale
    high = max(m for m, _ in kept) + scale * (1 + mpmath.log(cap))
    for _ in range(350):
        level = (low + high) / 2
        mass = mpmath.fdot(ratios(level), [c for _, c in kept])
        low, high = (level, high) if mass < 1 else (low, level)
    at = ratios(high)
    sums = [c * r * (m + scale * mpmath.log(r)) for r, (m, c) in zip(at, kept, strict=True) if r]
    return total(sums) / mpmath.fdot(at, [c for _, c in kept])


# Penalties


def norm(values):
    return mpmath.sqrt(mpmath.fdot(values, values))


def singular_values(M):
    """From the eigenvalues of the smaller product, with twice the digits."""
    M = M if M.shape[0] <= M.shape[1] else M.T
    size = max([abs(value) for value in np.ravel(M)], default=mpf(0))
    if not size:
        return [mpf(0)]
    with mp.workprec(900):
        A = mpmath.matrix((M / size).tolist())
        values = mpmath.eigsy(A * A.T, eigvals_only=True)
        return [size * mpmath.sqrt(max(value, mpf(0))) for value in values]


def partition(penalty, size):
    labels = group_labels(penalty.groups, size)
    return [np.flatnonzero(labels == g) for g in range(int(labels.max()) + 1)]


def _groups(penalty, w, weighted=True, of=norm):
    members = partition(penalty, len(w))
    weights = [mpmath.sqrt(len(some)) for some in members]
    if penalty.weights is not None if weighted else True:
        weights = exact(penalty.weights) if weighted else [1] * len(members)
    return total([c * of(w[some]) for c, some in zip(weights, members, strict=True)])


def _l1(values):
    return total([abs(value) for value in values])


def _elastic(penalty, w):
    ratio = mpf(penalty.l1_ratio)
    return ratio * _l1(w) + (1 - ratio) * mpmath.fdot(w, w) / 2


def _separable(penalty, w):
    l1, l2 = (exact(np.broadcast_to(x, len(w))) for x in (penalty.l1, penalty.l2))
    return total([a * abs(v) + b * v * v / 2 for a, b, v in zip(l1, l2, w, strict=True)])


def _variation(w):
    return _l1(np.diff(w))


def _fused(penalty, w):
    ratio = mpf(penalty.l1_ratio)
    return ratio * _l1(w) + (1 - ratio) * _variation(w)


def _sparse_group(penalty, w):
    ratio = mpf(penalty.l1_ratio)
    return ratio * _l1(w) + (1 - ratio) * _groups(penalty, w)


def _of_norm(penalty, w):
    function = penalty.function
    return mpf(function.scale) * value_of(penalty.norm, w) ** mpf(function.exponent)


def _group_linf(penalty, w):
    found = [max(abs(v) for v in w[some]) for some in partition(penalty, len(w))]
    weights = [1] * len(found) if penalty.weights is None else exact(penalty.weights)
    return mpmath.fdot(weights, found)


def _group_l1_squared(penalty, w):
    return total([_l1(w[some]) ** 2 for some in partition(penalty, len(w))])


def _group_elastic(penalty, w):
    ratio = mpf(penalty.l1_ratio)
    return ratio * _groups(penalty, w) + (1 - ratio) * mpmath.fdot(w, w) / 2


def _spectral(penalty, w):
    return value_of(penalty.of_values, singular_values(w.reshape(-1, penalty.n_outputs)))


VALUES = {
    "L1": lambda penalty, w: _l1(w),
    "NonNegativeL1": lambda penalty, w: _l1(w),
    "L2Norm": lambda penalty, w: norm(w),
    "LInf": lambda penalty, w: max(abs(v) for v in w),
    "SquaredL2": lambda penalty, w: mpmath.fdot(w, w) / 2,
    "ElasticNet": _elastic,
    "WeightedL1": lambda penalty, w: mpmath.fdot(exact(penalty.weights), [abs(v) for v in w]),
    "Separable": _separable,
    "GroupL2": _groups,
    "NonNegativeGroupL2": _groups,
    "SparseGroup": _sparse_group,
    "SquaredGroupL2": lambda penalty, w: _groups(penalty, w, weighted=False) ** 2,
    "GroupLInf": _group_linf,
    "GroupL1Squared": _group_l1_squared,
    "GroupElasticNet": _group_elastic,
    "FunctionOfNorm": _of_norm,
    "TotalVariation": lambda penalty, w: _variation(w),
    "FusedLasso": _fused,
    "Spectral": _spectral,
    "Box": lambda penalty, w: mpf(0),
    "L1Ball": lambda penalty, w: mpf(0),
}


def value_of(penalty, w):
    """R(w) without the constraints that R holds, for an array of exact numbers."""
    return VALUES[type(penalty).__name__](penalty, w)


def missed_by(penalty, w):
    """By how much w misses the set of a penalty, 0 inside of it."""
    name = type(penalty).__name__
    if name in ("Box", "Separable"):
        lower, upper = (np.broadcast_to(x, len(w)) for x in (penalty.lower, penalty.upper))
        sides = [(mpf(a) - v, v - mpf(b)) for a, v, b in zip(lower, w, upper, strict=True)]
        return max([mpf(0), *itertools.chain(*sides)])
    if name in ("NonNegativeL1", "NonNegativeGroupL2"):
        return max([mpf(0), *(-v for v in w)])
    if name == "L1Ball":
        return max(mpf(0), _l1(w) - mpf(penalty.radius))
    return mpf(0)


def missed_constraints(A, lower, upper, w):
    """By how much w misses lower <= A w <= upper, and the largest sum of sizes in a row."""
    worst, size = mpf(0), mpf(0)
    for row, a, b in zip(exact(A), lower, upper, strict=True):
        at = mpmath.fdot(row, w)
        worst = max(worst, mpf(a) - at, at - mpf(b))
        size = max(size, mpmath.fdot([abs(v) for v in row], [abs(v) for v in w]))
    return worst, size
