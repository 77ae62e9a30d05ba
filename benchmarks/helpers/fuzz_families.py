"""Random hostile fits of the newer models, each with its objective in exact numbers.

A family draws a `Case` from a random generator: an estimator, what its `fit` takes, and a function
that gives the objective of a fitted model as `skpd` documents it
(`tests.oracles.exact_objectives`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from mpmath import mpf
from scipy.optimize import LinearConstraint

import skpd
from skpd import penalties
from skpd.penalties.increasing_functions import PowerOfNorm
from tests.oracles import exact_objectives as of

SCALES = (1e-100, 1e-30, 1e-8, 1e-3, 1e3, 1e8, 1e30, 1e100)


@dataclass
class Case:
    """A fit and the objective of its model.

    Attributes
    ----------
    estimator : estimator
    X, y : what `fit` takes
    weights : ndarray or None
    objective : callable or None
        Of a fitted model: the exact objective, by how much it misses constraints, and the sizes
        that this is to be seen beside. None where a fit that converges is all that is asked for.
    degree : int or None
        With which power of a factor of X alpha grows for the same models; None where there is
        none or the model is not of coefficients.
    upwards : bool
        Whether the certificate is of a maximum: `dual` is then what the model reaches.
    feasible : bool
        Whether linear constraints can be obeyed, so that none may be refused.
    """

    estimator: Any
    X: Any
    y: Any
    weights: Any
    objective: Callable[[Any], tuple] | None = None
    degree: int | None = None
    upwards: bool = False
    feasible: bool = False

    def fit(self, estimator, X=None):
        given = {} if self.weights is None else {"sample_weight": self.weights}
        return estimator.fit(self.X if X is None else X, self.y, **given)


# Data


def features(rng, n=None, d=None):
    """Rows of awkward scale, place and rank."""
    n, d = n or int(rng.integers(4, 22)), d or int(rng.integers(1, 7))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < rng.choice([0.4, 1.0, 1.0]))
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = X[:, rng.integers(d)]
    if rng.random() < 0.15:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0])
    if rng.random() < 0.2:
        X[rng.integers(n)] = X[rng.integers(n)]
    if rng.random() < 0.25:
        X *= rng.choice(SCALES)
    elif rng.random() < 0.25:
        X *= 10.0 ** rng.integers(-8, 9, size=d)
    elif rng.random() < 0.1:
        X *= 10.0 ** rng.integers(-6, 7, size=(n, 1))
    if rng.random() < 0.25:
        X += rng.choice([1.0, 1e4, 1e8]) * np.max(np.abs(X)) * rng.choice([-1.0, 1.0])
    return X


def layout(rng, X, single=0.15):
    """One of the layouts that estimators take, with a probability in single precision."""
    if rng.random() < single and np.max(np.abs(X)) < 1e30:
        X = X.astype(np.float32)
    kinds = (np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_matrix)
    return kinds[rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])](X)


def signal(rng, X):
    z = X @ rng.standard_normal(X.shape[1])
    z = z - np.median(z)
    z = z / (np.std(z) or 1.0)
    return z + rng.choice([0.0, 0.5, 5.0]) * rng.standard_normal(len(z))


def labels(rng, X):
    y = np.where(signal(rng, X) > rng.choice([-1.0, 0.0, 0.0, 1.0]), 1.0, -1.0)
    y[rng.choice(len(y), 2, replace=False)] = [1.0, -1.0]
    return y


def targets(rng, X):
    y = signal(rng, X)
    if rng.random() < 0.2:
        y = y * rng.choice(SCALES)
    if rng.random() < 0.2:
        y = y + rng.choice([1.0, 1e4, 1e8]) * np.max(np.abs(y))
    if rng.random() < 0.1:
        y[:] = y[0]
    return y


def sample_weights(rng, y):
    if rng.random() < 0.55:
        return None
    weights = rng.choice([0.0, 1e-200, 1.0, 1.0, 3.0, 1e-3], size=len(y))
    _, first = np.unique(y, return_index=True)  # no class without weight
    weights[first if len(first) <= len(y) // 2 else [0, 1]] = 1.0
    return weights


def weight_of_penalty(rng, X, degree, y=None):
    """Any alpha, or one of the order of those that matter."""
    if rng.random() < 0.4:
        return float(10.0 ** rng.uniform(-12, 6))
    spread = float(np.max(np.std(X, axis=0))) or 1.0
    with np.errstate(over="ignore", under="ignore"):
        alpha = spread ** (degree or 1) * (1.0 if y is None else float(np.std(y)) or 1.0)
    alpha *= 10.0 ** rng.uniform(-6.0, 0.5)
    return alpha if 0.0 < alpha < np.inf else 1.0


def common(rng):
    return {"tol": float(rng.choice([1e-2, 1e-4, 1e-6, 1e-9]))}


def with_intercept(rng):
    return {"fit_intercept": bool(rng.random() < 0.6), **common(rng)}


def any_alpha(rng, share):
    """Of any size, or of that of alphas that matter."""
    return float(10.0 ** (rng.uniform(-12, 6) if rng.random() < share else rng.uniform(-4, 0)))


def pick(rng, options):
    return options[rng.integers(len(options))]


# Linear models of one output


def linear(rng, estimator, X, y, loss, penalty, degree, *, budget=None, limits=None, of_coef=None):
    """The case of a linear model with any penalty: an estimator that lacks its weights alone."""
    weights = sample_weights(rng, y)
    stored = layout(rng, X)

    def objective(model):
        w = np.ravel(of.exact(model.coef_))
        z = of.scores(stored, model.coef_, model.intercept_)
        losses = of.scalar_losses(loss, y, z)
        if budget is None:
            value = of.mean(losses, weights)
        else:
            value = of.within_budget(losses, weights, budget)
        missed, size = of.missed_by(penalty, w), max(abs(v) for v in w)
        if limits is not None:
            missed, size = max(
                [(missed, size), of.missed_constraints(limits.A, limits.lb, limits.ub, w)],
                key=lambda pair: pair[0],
            )
        value += mpf(estimator.alpha) * of.value_of(penalty, w)
        return value, missed, size

    return Case(estimator, stored, y, weights, objective, degree)


def some_penalty(rng, d):
    """A penalty of one of the newer kinds, and its degree."""
    half = [list(range(d // 2)), list(range(d // 2, d))] if d > 1 else [[0]]
    weights = rng.choice([0.0, 0.5, 2.0], size=d) if d > 1 else np.ones(1)
    upper = np.where(rng.random(d) < 0.5, np.inf, rng.choice([0.0, 0.3, 1e3], size=d))
    kinds = [
        (penalties.WeightedL1(weights), 1),
        (penalties.Separable(weights, 0.0, -np.inf, upper), None),
        (penalties.GroupL2(groups=half), 1),
        (penalties.SparseGroup(groups=half, l1_ratio=0.4), 1),
        (penalties.SquaredGroupL2(groups=half), 2),
        (penalties.GroupLInf(groups=half), 1),
        (penalties.FunctionOfNorm(penalties.L1()), 2),
        (penalties.FunctionOfNorm(penalties.L2Norm(), PowerOfNorm(1.5, 0.5)), None),
        (penalties.FunctionOfNorm(penalties.LInf(), PowerOfNorm(2.0, 3.0)), 2),
        (penalties.FusedLasso(l1_ratio=0.4), 1),
        (penalties.LInf(), 1), (penalties.L2Norm(), 1), (penalties.ElasticNet(l1_ratio=0.5), None),
        (penalties.L1Ball(radius=0.7), None), (penalties.NonNegativeL1(), 1),
    ]  # fmt: skip
    if d > 1:
        kinds.append((penalties.TotalVariation(), 1))
    return pick(rng, kinds)


def classifier(rng):
    X = features(rng)
    y, (penalty, degree) = labels(rng, X), some_penalty(rng, X.shape[1])
    loss, alpha = pick(rng, list(of.MARGIN)), weight_of_penalty(rng, X, degree)
    model = skpd.PdproxSVC(alpha, penalty=penalty, loss=loss, **with_intercept(rng))
    return linear(rng, model, X, y, loss, penalty, degree)


def regressor(rng):
    X = features(rng)
    y, (penalty, degree) = targets(rng, X), some_penalty(rng, X.shape[1])
    loss = pick(rng, list(of.RESIDUAL))
    alpha = weight_of_penalty(rng, X, degree, y if loss == "squared" else None)
    model = skpd.PdproxRegressor(alpha, penalty=penalty, loss=loss, **with_intercept(rng))
    return linear(rng, model, X, y, loss, penalty, degree)


def means(rng):
    X = features(rng)
    penalty, degree = some_penalty(rng, X.shape[1])
    power = pick(rng, [1.0, 1.0, 1.5, 1.9, 2.0])
    y = np.exp(np.clip(signal(rng, X), -5.0, 5.0)) * rng.choice([1.0, 1.0, 1e-8, 1e8])
    if power < 2.0:
        y[1:] = np.where(rng.random(len(y) - 1) < 0.3, 0.0, y[1:])
    options = {"penalty": penalty, **with_intercept(rng)}
    alpha = weight_of_penalty(rng, X, degree)
    if power == 1.0:
        model = skpd.PoissonPD(alpha, **options)
    else:
        model = skpd.TweediePD(alpha, power=power, **options)
    return linear(rng, model, X, y, power, penalty, degree)


def constrained(rng):
    """Linear constraints that some coefficients near the data's own scale obey."""
    X = features(rng)
    d = X.shape[1]
    A = rng.normal(size=(int(rng.integers(1, min(4, d + 1))), d)) * rng.choice(
        [1.0, 1.0, 1e-6, 1e6, 1e-100, 1e100]
    )
    inside = A @ rng.normal(size=d) / (np.max(np.abs(X)) or 1.0)
    room = np.abs(inside) * rng.choice([0.0, 0.5, np.inf], size=len(A))
    limits = LinearConstraint(A, inside - rng.choice([0.0, 1.0]) * np.abs(inside), inside + room)
    penalty, degree = pick(
        rng,
        [(penalties.L1(), 1), (penalties.SquaredL2(), 2), (penalties.GroupL2(groups=1), 1),
         (penalties.ElasticNet(l1_ratio=0.5), None)],
    )  # fmt: skip
    if rng.random() < 0.5:
        y, loss = labels(rng, X), pick(rng, list(of.MARGIN))
        kind = skpd.PdproxSVC
    else:
        y, loss = targets(rng, X), pick(rng, list(of.RESIDUAL))
        kind = skpd.PdproxRegressor
    alpha = weight_of_penalty(rng, X, degree)
    model = kind(alpha, penalty=penalty, loss=loss, constraints=limits, **common(rng))
    case = linear(rng, model, X, y, loss, penalty, None, limits=limits)
    case.feasible = True  # no more rows than features, of which none depend on each other
    return case


def noise_budget(rng):
    X = features(rng)
    y, one_group = labels(rng, X), [list(range(X.shape[1]))]
    penalty = pick(rng, [
        penalties.L1(), penalties.SquaredL2(), penalties.L2Norm(), penalties.GroupL2(one_group),
        penalties.ElasticNet(l1_ratio=0.5), penalties.LInf(), penalties.GroupLInf(one_group),
        penalties.SparseGroup(one_group), penalties.FusedLasso(0.5), penalties.SquaredGroupL2(1),
    ])  # fmt: skip
    degree = {"SquaredL2": 2, "ElasticNet": None, "SquaredGroupL2": 2}
    degree = degree.get(type(penalty).__name__, 1)
    budget = float(rng.choice([1e-6, 0.5, 1.0, 3.0, 10.0, 1e6]))
    model = skpd.PdproxSVC(
        weight_of_penalty(rng, X, degree), penalty=penalty, noise_budget=budget, **common(rng)
    )
    return linear(rng, model, X, y, "hinge", penalty, degree, budget=budget)


def overlapping(rng):
    """Groups that share features: exact coefficients with a vector for each group."""
    X = features(rng, d=5)
    y, stored = labels(rng, X), layout(rng, X)
    groups, loss = [[0, 1, 2], [2, 3], [3, 4, 0]], pick(rng, list(of.MARGIN))
    factors = rng.uniform(0.5, 2.0, size=3)
    weights, alpha = sample_weights(rng, y), weight_of_penalty(rng, X, 1)
    model = skpd.GroupLassoSVC(
        alpha, groups=groups, group_weights=factors, loss=loss, **with_intercept(rng)
    )

    def objective(model):
        parts = np.split(np.ravel(of.exact(model.latent_coef_)), [3, 5])
        rest = np.ravel(of.exact(model.coef_))
        for part, some in zip(parts, groups, strict=True):
            rest[some] -= part
        for j, value in enumerate(rest):  # what rounding left, to a group that has the feature
            k = next(k for k, some in enumerate(groups) if j in some)
            parts[k][groups[k].index(j)] += value
        z = of.scores(stored, model.coef_, model.intercept_)
        value = of.mean(of.scalar_losses(loss, y, z), weights)
        norms = [mpf(float(c)) * of.norm(part) for c, part in zip(factors, parts, strict=True)]
        return value + mpf(alpha) * of.total(norms), mpf(0), mpf(1)

    return Case(model, stored, y, weights, objective)


LINEAR = {
    "PdproxSVC": classifier,
    "PdproxRegressor": regressor,
    "PoissonPD": means,
    "constraints": constrained,
    "noise_budget": noise_budget,
    "overlapping": overlapping,
}
