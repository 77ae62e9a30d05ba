"""Random data, penalties that leave coefficients free, and the optima of models of them.

Smooth losses have their optimum from `benchmarks.helpers.newton_optimum`; hinges and absolute
values that of HiGHS where it is a linear programme, and of Clarabel otherwise, evaluated at their
solutions in 50 digits: an upper bound.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
import scipy.sparse as sp

import skpd
from benchmarks.helpers.newton_optimum import SmoothProblem, optimum
from benchmarks.helpers.separations import Directions
from benchmarks.helpers.smooth_losses import DIGITS, DIGITS_KEPT
from skpd.penalties import Separable, WeightedL1
from tests.oracles.reference import conic_solution, linear_solution

TOL = 1e-8  # of the fits
L1_SHARES = {"l1": 1.0, "l2": 0.0, "elasticnet": 0.4}


@dataclass(frozen=True, eq=False)
class Case:
    """A fit and what is known of it.

    ``best`` gives the optimal value or an upper bound on it, ``constant`` the objective of the
    best constant prediction, ``objective`` that of a fitted model; ``directions`` are those that
    separation is looked for in.
    """

    estimator: Any
    arguments: dict
    best: Callable
    constant: Callable
    objective: Callable
    directions: Directions | None = None

    def fit(self):
        return self.estimator.fit(**self.arguments)


@dataclass(frozen=True, eq=False)
class Scales:
    """Powers of two by which data are multiplied after they are drawn, and how X is stored."""

    of_columns: Callable  # the exponents of the columns, for their number and the generator
    of_y: int = 0
    of_weights: Callable = lambda n, rng: np.zeros(n, int)
    of_offset: int = 0
    store: Callable = lambda X: X

    def __call__(self, drawn, rng):
        n, d = drawn.X.shape
        exponents = self.of_columns(d, rng)
        stored = self.store(np.ldexp(drawn.X, exponents))
        dense = stored.toarray() if sp.issparse(stored) else stored
        if isinstance(stored, skpd.RowBlocks):
            dense = stored.gathered()
        weights = drawn.weights
        if weights is not None:
            weights = np.ldexp(weights, self.of_weights(n, rng))
        offset = None if drawn.offset is None else np.ldexp(drawn.offset, self.of_offset)
        return replace(
            drawn, X=np.asarray(dense, dtype=float), stored=stored, weights=weights,
            offset=offset, exponents=exponents, y_exponent=self.of_y,
        )  # fmt: skip


changes: ContextVar[Scales | None] = ContextVar("changes", default=None)


@dataclass(frozen=True, eq=False)
class Draw:
    """Data and a penalty with free coefficients.

    ``alpha`` is 0 for a model without a penalty, whose ``factors`` are then 0, and otherwise they
    are the weights of the features.
    """

    X: np.ndarray
    stored: Any
    weights: np.ndarray | None
    offset: np.ndarray | None
    scores: np.ndarray
    alpha: float
    factors: np.ndarray
    kind: str
    fit_intercept: bool
    exponents: np.ndarray | int = 0
    y_exponent: int = 0

    def target(self, y):
        """Targets of a residual, in their scale."""
        return np.ldexp(y, self.y_exponent)

    @property
    def parameters(self):
        """Those of estimators with names of penalties."""
        found = {"alpha": self.alpha, "penalty": self.kind, "tol": TOL}
        if self.kind == "elasticnet":
            found["l1_ratio"] = L1_SHARES[self.kind]
        return found | ({"penalty_weights": self.factors} if self.alpha else {})

    @property
    def shares(self):
        return np.ones(len(self.X)) if self.weights is None else self.weights

    @property
    def shift(self):
        return np.zeros(len(self.X)) if self.offset is None else self.offset

    @property
    def free(self):
        return self.factors == 0.0 if self.alpha else np.ones(self.X.shape[1], bool)

    @property
    def terms(self):
        """The weights of absolute values and of half squares, without those of a product."""
        share = L1_SHARES[self.kind]
        factors = self.factors if self.alpha else np.zeros(self.X.shape[1])
        return (self.alpha * share) * factors, (self.alpha * (1.0 - share)) * factors

    def arguments(self, y, offset=True):
        found = {"X": self.stored, "y": y, "sample_weight": self.weights}
        return found | ({"offset": self.offset} if offset and self.offset is not None else {})


def draw(rng, *, most=200, offsets=True, kinds=("l1", "l2", "elasticnet"), unpenalised=True):
    """Features with scales, gaps and dependent free columns, and a penalty of some."""
    n = int(20 * (most / 20) ** rng.random())
    alpha = 0.0 if unpenalised and rng.random() < 0.3 else float(10.0 ** rng.uniform(-3.0, 0.0))
    d = int(min(2 * (15.0 if alpha else 4.0) ** rng.random(), n // 4))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.4, 1.0, 1.0]))
    n_free = int(rng.integers(1, min(d, 5))) if alpha and d > 1 else d
    free = np.sort(rng.choice(d, n_free, replace=False))
    if rng.random() < 0.3:
        X[:, free[0]] = rng.random(n) < 0.4  # a level of a category
    if n_free > 1 and rng.random() < 0.25:  # dependent free columns
        X[:, free[-1]] = X[:, free[:-1]] @ rng.integers(-1, 2, n_free - 1)
    scores = X @ rng.normal(size=d) * 0.5 / np.sqrt(d)
    factors = rng.uniform(0.2, 2.0, d) if rng.random() < 0.7 else np.ones(d)
    if rng.random() < 0.3:
        scales = 10.0 ** rng.integers(-3, 4, d)
        X, factors = X * scales, factors * (scales if rng.random() < 0.7 else 1.0)
    factors[free] = 0.0
    drawn = Draw(
        X=X,
        stored=sp.csr_array(X) if rng.random() < 0.4 else X,
        weights=rng.uniform(0.2, 2.0, n) if rng.random() < 0.5 else None,
        offset=0.5 * rng.normal(size=n) if offsets and rng.random() < 0.4 else None,
        scores=scores,
        alpha=alpha,
        factors=factors,
        kind=str(rng.choice(kinds)),
        fit_intercept=bool(rng.random() < 0.7),
    )
    change = changes.get()
    return drawn if change is None else change(drawn, rng)


def smooth_case(drawn, estimator, arguments, loss, V_of, *, A=None, K=1, groups=None, **more):
    """A case whose optimum takes Newton steps; V_of gives the coefficients of a fitted model."""
    A = np.column_stack([drawn.X, np.ones(len(drawn.X))]) if A is None else A
    constant = more.pop("constant", np.ones(len(A))[:, None])
    offset = more.pop("offset", drawn.shift[:, None])
    l1, l2 = drawn.terms
    l2 = l2 + more.pop("extra_ridge", 0.0)
    if groups is None:
        groups = tuple(
            (np.array([j * K + k]), l1[j]) for j in np.flatnonzero(l1) for k in range(K)
        )
    ridge = np.zeros(A.shape[1] * K)
    ridge[: len(l2) * K] = np.repeat(l2, K)
    problem = SmoothProblem(A, loss, K, groups, ridge, offset)
    null = SmoothProblem(constant, loss, K, offset=offset)
    return Case(
        estimator,
        arguments,
        best=lambda: optimum(problem)[1],
        constant=lambda: optimum(null)[1] if constant.size else null.objective(np.zeros((0, K))),
        objective=lambda model: problem.objective(np.asarray(V_of(model), dtype=float)),
        **more,
    )


def with_intercept(drawn):
    """The features, and a column of ones where there is an intercept."""
    ones = np.ones((len(drawn.X), 1 if drawn.fit_intercept else 0))
    return np.hstack([drawn.X, ones]), ones


def free_part(drawn, intercept=None):
    """The columns without a penalty, for separation."""
    intercept = drawn.fit_intercept if intercept is None else intercept
    return np.hstack([drawn.X[:, drawn.free], np.ones((len(drawn.X), int(intercept)))])


def scalar_case(drawn, kind, row_loss, y, directions=None, **parameters):
    """That of an estimator of one score a row with a smooth loss."""
    A, ones = with_intercept(drawn)
    estimator = kind(fit_intercept=drawn.fit_intercept, **drawn.parameters, **parameters)

    def coefficients(model):
        intercept = np.ravel(model.intercept_)[: ones.shape[1]]
        return np.append(np.ravel(model.coef_), intercept)[:, None]

    return smooth_case(
        drawn, estimator, drawn.arguments(y), row_loss, coefficients,
        A=A, constant=ones, directions=directions,
    )  # fmt: skip


def piecewise_case(drawn, estimator, arguments, y, names, *, table=None):
    """A case of hinges or absolute values, by HiGHS or Clarabel.

    ``names`` are the two tables of `tests.oracles.exact_objectives` and the name there; ``table``
    has the rows, targets, weights and scores of a model where these are not those of the data.
    """
    formula, parameter = names
    X, y, shares, model_scores = table or (drawn.X, y, drawn.shares, None)
    sizes = np.max(np.abs(X), axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # in no use at the ends of the scale
        factors = np.ldexp(1.0, -np.frexp(np.where(sizes > 0.0, sizes, 1.0))[1])
        l1, l2 = (np.append(t, np.zeros(X.shape[1] - len(t))) * factors**k
                  for k, t in enumerate(drawn.terms, start=1))  # fmt: skip
    shares, intercept = shares / shares.sum(), drawn.fit_intercept and table is None

    exact_l1, exact_l2 = (np.append(t, np.zeros(X.shape[1] - len(t))) for t in drawn.terms)

    def objective(w, intercept):
        with mpmath.workdps(DIGITS_KEPT):
            c, z = DIGITS.number(shares), DIGITS.number(X) @ w + mpmath.mpf(float(intercept))
            losses = [formula(a, b) for a, b in zip(DIGITS.number(y), z, strict=True)]
            value = DIGITS.total(c * losses) / DIGITS.total(c)
            value += DIGITS.total(DIGITS.number(exact_l1) * abs(w))
            return value + DIGITS.total(DIGITS.number(exact_l2) * w * w) / 2

    def of_model(model):
        if model_scores is not None:
            return objective(DIGITS.number(model_scores(model)), 0.0)
        return objective(DIGITS.number(np.ravel(model.coef_)), np.ravel(model.intercept_)[0])

    def best():
        penalty = Separable(l1, l2) if np.any(l2) else WeightedL1(l1)
        solution = conic_solution if np.any(l2) else linear_solution
        found = solution(X * factors, y, shares, parameter, penalty, 1.0, intercept)
        return objective(DIGITS.number(found[1]) * DIGITS.number(factors), found[2])

    def constant():
        columns = X[:, drawn.X.shape[1] :]  # thresholds
        found = linear_solution(
            columns if columns.shape[1] else np.zeros((len(X), 1)), y, shares, parameter,
            WeightedL1(np.zeros(max(columns.shape[1], 1))), 1.0, intercept,
        )  # fmt: skip
        return found[0]

    return Case(estimator, arguments, best, constant, of_model)
