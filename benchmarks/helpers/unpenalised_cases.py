"""Random models with coefficients that are not penalised, for each of the estimators."""

from dataclasses import replace
from functools import partial

import numpy as np

import skpd
from benchmarks.helpers.separations import of_counts, of_labels, of_order, of_risk_sets, of_softmax
from benchmarks.helpers.smooth_losses import PartialLikelihood, RowLoss, Softmax, SquaredOutputs
from benchmarks.helpers.unpenalised_draws import (
    L1_SHARES,
    TOL,
    Case,
    draw,
    free_part,
    piecewise_case,
    scalar_case,
    smooth_case,
    with_intercept,
)
from skpd.losses import Absolute, EpsilonInsensitive, Hinge, Pinball
from skpd.penalties import GroupL2, Separable
from tests.oracles.exact_objectives import MARGIN, RESIDUAL

HINGE = (lambda t, z: MARGIN["hinge"](t * z), Hinge())


def labels_of(rng, drawn):
    y = np.where(drawn.scores + rng.logistic(size=len(drawn.X)) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y


def support_vectors(rng):
    loss = str(rng.choice(["hinge", "squared_hinge", "logistic"]))
    drawn = draw(rng, offsets=loss != "hinge")
    y = labels_of(rng, drawn)
    if loss == "hinge":
        return hinge_case(drawn, y, skpd.PdproxSVC)
    directions = of_labels(free_part(drawn), y) if loss == "logistic" else None
    return scalar_case(
        drawn, skpd.PdproxSVC, RowLoss(loss, y, drawn.shares), y, directions, loss=loss
    )


def hinge_case(drawn, y, kind):
    estimator = kind(loss="hinge", fit_intercept=drawn.fit_intercept, **drawn.parameters)
    return piecewise_case(drawn, estimator, drawn.arguments(y), y, HINGE)


def robust(rng):
    """Without a radius and a penalty: the least hinge loss."""
    drawn = draw(rng, offsets=False)
    drawn = replace(drawn, alpha=0.0, factors=0.0 * drawn.factors)
    y = labels_of(rng, drawn)
    estimator = skpd.DRSVMClassifier(0.0, fit_intercept=drawn.fit_intercept, tol=TOL)
    return piecewise_case(drawn, estimator, drawn.arguments(y), y, HINGE)


RESIDUAL_OBJECTS = {
    "absolute": Absolute(), "epsilon_insensitive": EpsilonInsensitive(0.1),
    "pinball": Pinball(0.5),
}  # fmt: skip


def regressor(rng):
    loss = str(rng.choice(["squared", "huber", *RESIDUAL_OBJECTS]))
    drawn = draw(rng, offsets=loss in ("squared", "huber"))
    y = drawn.target(drawn.scores + rng.standard_t(3, len(drawn.X)) + rng.choice([0.0, 10.0]))
    if loss in RESIDUAL_OBJECTS:
        estimator = skpd.PdproxRegressor(
            loss=loss, fit_intercept=drawn.fit_intercept, **drawn.parameters
        )
        names = (lambda t, z: RESIDUAL[loss](z - t), RESIDUAL_OBJECTS[loss])
        return piecewise_case(drawn, estimator, drawn.arguments(y), y, names)
    row_loss = RowLoss(loss, y, drawn.shares, 1.35)
    return scalar_case(drawn, skpd.PdproxRegressor, row_loss, y, loss=loss)


def logistic(rng):
    drawn = draw(rng)
    y = labels_of(rng, drawn)
    directions = of_labels(free_part(drawn), y)
    return scalar_case(drawn, skpd.LogisticPD, RowLoss("logistic", y, drawn.shares), y, directions)


def classes_of(rng, drawn):
    K = int(rng.integers(3, 5))
    z = np.outer(drawn.scores, rng.normal(size=K)) + rng.gumbel(size=(len(drawn.X), K))
    labels = np.argmax(z, axis=1)
    labels[:K] = np.arange(K)
    return labels, K


def softmax_case(drawn, estimator, arguments, labels, K):
    A, ones = with_intercept(drawn)
    directions = of_softmax(free_part(drawn), labels, K)

    def coefficients(model):
        return np.vstack([model.coef_.T, np.atleast_2d(model.intercept_)[:, :K]])[: A.shape[1]]

    loss = Softmax(labels, drawn.shares)
    return smooth_case(
        drawn, estimator, arguments, loss, coefficients, A=A, K=K, constant=ones,
        directions=directions, offset=np.zeros((len(A), K)),
    )  # fmt: skip


def several_classes(rng):
    drawn = draw(rng, most=120, offsets=False)
    labels, K = classes_of(rng, drawn)
    estimator = skpd.LogisticPD(fit_intercept=drawn.fit_intercept, **drawn.parameters)
    return softmax_case(drawn, estimator, drawn.arguments(labels), labels, K)


def multinomial(rng):
    drawn = draw(rng, most=120, offsets=False, kinds=("l1", "l2"))
    labels, K = classes_of(rng, drawn)
    if drawn.alpha:
        share, factors = L1_SHARES[drawn.kind], np.repeat(drawn.factors, K)
        penalty = Separable(share * factors, (1.0 - share) * factors)
        options = {"alpha": drawn.alpha, "penalty": penalty}
    else:
        options = {"alpha": 0.0, "penalty": drawn.kind}
    estimator = skpd.MultinomialPD(fit_intercept=drawn.fit_intercept, tol=TOL, **options)
    return softmax_case(drawn, estimator, drawn.arguments(labels), labels, K)


def multi_task(rng):
    drawn = draw(rng, most=120, offsets=False, kinds=("l1",))
    K = int(rng.integers(2, 4))
    Y = np.outer(drawn.scores, rng.normal(size=K)) + rng.normal(size=(len(drawn.X), K))
    Y = drawn.target(Y)
    A, ones = with_intercept(drawn)
    options = {"alpha": 0.0}
    if drawn.alpha:
        options = {"alpha": drawn.alpha, "penalty": GroupL2(K, weights=drawn.factors)}
    estimator = skpd.MultiTaskPD(fit_intercept=drawn.fit_intercept, tol=TOL, **options)
    groups = tuple(
        (np.arange(j * K, (j + 1) * K), drawn.terms[0][j]) for j in np.flatnonzero(drawn.terms[0])
    )

    def coefficients(model):
        return np.vstack([model.coef_.T, np.atleast_2d(model.intercept_)])[: A.shape[1]]

    return smooth_case(
        drawn, estimator, drawn.arguments(Y), SquaredOutputs(Y, drawn.shares), coefficients,
        A=A, K=K, groups=groups, constant=ones, offset=np.zeros((len(A), K)),
    )  # fmt: skip


def means(rng, kind, power):
    drawn = draw(rng)
    mean = np.exp(np.clip(np.clip(drawn.scores, -3.0, 3.0) + drawn.shift, -20.0, 20.0))
    if power == 1.0:
        y = rng.poisson(mean).astype(float)
    else:
        y = rng.gamma(2.0, mean) * (power == 2.0 or rng.poisson(mean) > 0)
    y[0] = y[0] or 1.0
    more = {"power": power} if kind is skpd.TweediePD else {}
    directions = None if power == 2.0 else of_counts(free_part(drawn), y)
    loss = RowLoss("deviance", y, drawn.shares, power)
    return scalar_case(drawn, kind, loss, y, directions, **more)


def tweedie(rng):
    return means(rng, skpd.TweediePD, float(np.round(rng.uniform(1.05, 1.95), 2)))


def ordered(rng, loss):
    drawn = draw(rng, most=120, offsets=loss == "logistic")
    drawn = replace(drawn, fit_intercept=False)
    K = int(rng.integers(2, 5))
    y = np.digitize(drawn.scores + rng.logistic(size=len(drawn.X)), np.linspace(-1.0, 1.0, K - 1))
    y[:K] = np.arange(K)
    estimator = skpd.OrdinalPD(loss=loss, **drawn.parameters)
    n = len(drawn.X)
    signs = np.ravel(np.where(y[:, None] > np.arange(K - 1), 1.0, -1.0))
    thresholds = -np.tile(np.eye(K - 1), (n, 1))
    A = np.hstack([np.repeat(drawn.X, K - 1, axis=0), thresholds])
    shares = np.repeat(drawn.shares, K - 1)

    def coefficients(model):
        return np.append(model.coef_, model.thresholds_)

    if loss == "hinge":
        # the sum over thresholds is K - 1 times the mean: the penalty likewise
        return hinge_of_thresholds(drawn, estimator, y, A, signs, shares, coefficients, K)
    directions = of_order(free_part(drawn, intercept=False), y, K)
    row_loss = RowLoss("logistic", signs, shares, times=K - 1)  # the sum over thresholds
    return smooth_case(
        drawn, estimator, drawn.arguments(y), row_loss, lambda model: coefficients(model)[:, None],
        A=A, constant=thresholds, directions=directions,
        offset=np.repeat(drawn.shift, K - 1)[:, None],
    )  # fmt: skip


def hinge_of_thresholds(drawn, estimator, y, A, signs, shares, coefficients, K):
    """The hinge of ordered classes, as K - 1 times a mean over all thresholds."""
    part = replace(drawn, alpha=drawn.alpha / (K - 1))
    table = (A, signs, shares, coefficients)
    case = piecewise_case(part, estimator, drawn.arguments(y), None, HINGE, table=table)
    return Case(
        case.estimator,
        case.arguments,
        best=lambda: (K - 1) * case.best(),
        constant=lambda: (K - 1) * case.constant(),
        objective=lambda model: (K - 1) * case.objective(model),
    )


def cox(rng, ties=None, times="censored"):
    drawn = draw(rng, most=100)
    drawn = replace(drawn, fit_intercept=False)
    n = len(drawn.X)
    hazard = np.exp(np.clip(drawn.scores + drawn.shift, -3.0, 3.0))
    exit_ = rng.exponential(1.0 / hazard)
    event = rng.random(n) < rng.choice([0.4, 0.7, 1.0])
    if rng.random() < 0.5:
        exit_ = np.ceil(6.0 * exit_) / 6.0
    entry = np.full(n, -np.inf)
    if times == "truncated":
        entry = exit_ * rng.random(n) * rng.choice([0.3, 0.9])
    elif times == "start-stop":  # pairs of rows are the two parts of a subject's time
        half = n // 2
        cut = exit_[:half] * rng.uniform(0.2, 0.8, half)
        exit_[half : 2 * half], entry[half : 2 * half] = exit_[:half], cut
        event[half : 2 * half], event[:half] = event[:half], False
        exit_[:half], entry[:half] = cut, 0.0
        entry[2 * half :] = 0.0
    event[np.argmax(exit_)] = True
    strata = rng.integers(0, 3, n) if rng.random() < 0.4 else None
    ties = ties or str(rng.choice(["efron", "breslow"]))
    estimator = skpd.CoxPD(ties=ties, **drawn.parameters)
    columns = [exit_, event] if times == "censored" else [entry, exit_, event]
    arguments = drawn.arguments(np.column_stack(columns)) | {"strata": strata}
    stratum = np.zeros(n, int) if strata is None else strata
    loss = PartialLikelihood(entry, exit_, event, drawn.shares, stratum, ties == "efron")
    risk_sets = of_risk_sets(drawn.X[:, drawn.free], entry, exit_, event, stratum)
    return smooth_case(
        drawn, estimator, arguments, loss, lambda model: np.ravel(model.coef_)[:, None],
        A=drawn.X, constant=np.zeros((n, 0)), directions=risk_sets,
    )  # fmt: skip


def squared(rng, kind):
    drawn = draw(rng, kinds=("l1",), offsets=False)
    y = drawn.target(drawn.scores + rng.normal(size=len(drawn.X)) + rng.choice([0.0, 10.0]))
    share = float(rng.choice([0.3, 0.9])) if kind is skpd.ElasticNetPD else 1.0
    A, ones = with_intercept(drawn)
    options = {"alpha": drawn.alpha, "fit_intercept": drawn.fit_intercept, "tol": TOL}
    options |= {"penalty_weights": drawn.factors} if drawn.alpha else {}
    options |= {"l1_ratio": share} if kind is skpd.ElasticNetPD else {}
    factors = drawn.terms[0]
    groups = tuple((np.array([j]), share * factors[j]) for j in np.flatnonzero(factors))
    case = smooth_case(
        drawn, kind(**options), drawn.arguments(y), RowLoss("squared", y, drawn.shares),
        lambda model: np.append(model.coef_, [model.intercept_][: ones.shape[1]])[:, None],
        A=A, groups=groups, constant=ones, extra_ridge=(1.0 - share) * factors,
    )  # fmt: skip
    return case


MODELS = {
    "PdproxSVC": support_vectors,
    "PdproxRegressor": regressor,
    "LogisticPD, 2 classes": logistic,
    "LogisticPD, 3 or 4": several_classes,
    "MultinomialPD": multinomial,
    "PoissonPD": partial(means, kind=skpd.PoissonPD, power=1.0),
    "GammaPD": partial(means, kind=skpd.GammaPD, power=2.0),
    "TweediePD": tweedie,
    "OrdinalPD, logistic": partial(ordered, loss="logistic"),
    "OrdinalPD, hinge": partial(ordered, loss="hinge"),
    "CoxPD, Breslow": partial(cox, ties="breslow"),
    "CoxPD, Efron": partial(cox, ties="efron"),
    "CoxPD, truncated": partial(cox, times="truncated"),
    "CoxPD, start-stop": partial(cox, times="start-stop"),
    "MultiTaskPD": multi_task,
    "DRSVMClassifier": robust,
    "ElasticNetPD": partial(squared, kind=skpd.ElasticNetPD),
    "LassoPDCertified": partial(squared, kind=skpd.LassoPDCertified),
}
