"""The corners of several outputs, matrices, norms and kernels."""

from functools import cache, partial

import numpy as np
from sklearn.datasets import load_digits, make_classification

import skpd
from benchmarks.completion import ratings
from benchmarks.helpers.contenders import OFTEN, TOLERANCES
from benchmarks.helpers.corner import TIGHTER, Corner
from benchmarks.helpers.data import dataset, text, with_outputs


def of_dataset(name, target):
    data = dataset(name)
    return data.X, getattr(data, target)


# Classes


@cache
def text_classes(n=16_000, d=50_000, n_classes=12, seed=0):
    """Rows of text, each of one of twelve classes with frequent words of its own."""
    rng = np.random.default_rng(seed)
    X = text(rng, n, d, 0.0016, 100, 0.3).X
    W = np.zeros((d, n_classes))
    for k in range(n_classes):
        W[rng.choice(d // 50, 50, replace=False), k] = rng.standard_normal(50)
    return X, with_outputs(rng, X, W, 0.3).classes


def softmax(tol, X, y, *, C, intercept=True):
    return skpd.MultinomialPD(1.0 / (C * len(y)), tol=tol, fit_intercept=intercept).fit(X, y)


def lr(setting, X, y, *, C, solver, intercept=True):
    from sklearn.linear_model import LogisticRegression

    fit = LogisticRegression(
        C=C, solver=solver, tol=setting, max_iter=OFTEN, fit_intercept=intercept
    ).fit(X, y)
    return fit.coef_, fit.intercept_


def softmax_objective(found, X, y, *, C):
    from scipy.special import logsumexp

    W, b = found
    Z = X @ np.asarray(W).T + b
    losses = logsumexp(Z, axis=1) - Z[np.arange(len(y)), y]
    return float(np.mean(losses)) + 0.5 / (C * len(y)) * float(np.sum(np.square(W)))


def matrix_of(model):
    return model.coef_, model.intercept_


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def crammer_singer(tol, X, y):
    return skpd.MultinomialPD(1.0 / len(y), loss="crammer_singer", tol=tol).fit(X, y)


def linear_crammer_singer(setting, X, y):
    """liblinear regularises the intercept, which a large scaling makes cheap."""
    from sklearn.svm import LinearSVC

    fit = LinearSVC(
        multi_class="crammer_singer", tol=setting, C=1.0, max_iter=OFTEN, random_state=0
    ).fit(X, y)
    return fit.coef_, fit.intercept_


def class_corners():
    yield Corner(
        "softmax, text 16,000 x 50,000, 12 classes, default tol", text_classes,
        partial(softmax, C=1.0), 1.2, tols=(1e-2, 1e-3, 1e-4), accuracy=1e-4, of_ours=matrix_of,
        objective=partial(softmax_objective, C=1.0),
        peers=tuple(
            (solver, TOLERANCES, partial(lr, C=1.0, solver=solver))
            for solver in ("newton-cg", "lbfgs")
        ),
    )  # fmt: skip
    for name, data in (
        ("digits", digits),
        ("500 x 5,000", partial(of_dataset, "wide", "classes")),
    ):
        for C in (1.0, 100.0):
            yield Corner(
                f"softmax, {name}, C = {C:g}", data, partial(softmax, C=C, intercept=False), 1.2,
                tols=TIGHTER, of_ours=lambda model: (model.coef_, 0.0),
                objective=partial(softmax_objective, C=C),
                peers=(("lbfgs", TOLERANCES, partial(lr, C=C, solver="lbfgs", intercept=False)),),
            )  # fmt: skip
    yield Corner(
        "Crammer and Singer, text, 12 classes", text_classes, crammer_singer, 1.0,
        beside=("LinearSVC", lambda X, y: linear_crammer_singer(1e-4, X, y)),
    )  # fmt: skip


# Quantiles


def crossing(n):
    """Heteroscedastic noise that is nearly 0 for a few rows, where quantiles cross."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    spread = np.abs(1.0 + 0.35 * X[:, 0])
    return X, X @ rng.standard_normal(20) + spread * rng.standard_normal(n)


def three_quantiles(tol, X, y):
    return skpd.QuantilePD((0.1, 0.5, 0.9), tol=tol).fit(X, y)


def single_quantiles(X, y):
    for quantile in (0.1, 0.5, 0.9):
        loss = skpd.losses.Pinball(quantile)
        skpd.PdproxRegressor(1e-3, loss=loss).fit(X, y)


def quantile_corners():
    for n in (20_000, 50_000):
        yield Corner(
            f"three quantiles, {n:,} x 20", partial(crossing, n), three_quantiles, 3.0,
            beside=("three single fits", single_quantiles),
        )  # fmt: skip


# Matrices


def completion(tol, pairs, y, *, alpha, loss):
    return skpd.MatrixCompletionPD(alpha, loss=loss, tol=tol).fit(pairs, y)


def completion_corners():
    for (n_rows, n_columns, n_ratings), alphas in (
        ((300, 400, 9_600), (5e-4, 2e-3)), ((943, 1682, 100_000), (2e-4, 5e-4)),
    ):  # fmt: skip
        for alpha in alphas:
            yield Corner(
                f"completion, absolute loss, {n_ratings:,} ratings, alpha {alpha:g}",
                partial(ratings, n_rows, n_columns, n_ratings, 5),
                partial(completion, alpha=alpha, loss="absolute"), 5.0,
                beside=("squared loss",
                        lambda pairs, y, a=alpha: completion(1e-4, pairs, y, alpha=a,
                                                             loss="squared")),
            )  # fmt: skip


def tasks(tol, X, y, *, loss):
    return skpd.MultiTaskPD(
        1e-5, tasks=0, loss=loss, penalty="l1inf", fit_intercept=False, tol=tol
    ).fit(X, y)


def largest(tol, X, y, *, alpha):
    return skpd.PdproxSVC(alpha, penalty="linf", tol=tol).fit(X, y)


def norm_corners():
    for loss in ("epsilon_insensitive", "absolute"):
        yield Corner(
            f"School, l1inf, {loss}, alpha 1e-5", partial(of_dataset, "school", "response"),
            partial(tasks, loss=loss), 1.0, beside=("seconds", 5.0),
        )  # fmt: skip
    for alpha, seconds in ((1e-2, 0.8), (1e-1, 4.0)):
        yield Corner(
            f"linf + hinge, Reuters, alpha {alpha:g}", partial(of_dataset, "reuters", "labels"),
            partial(largest, alpha=alpha), 1.0, beside=("seconds", seconds),
        )  # fmt: skip


# Kernels


def kernel_rows(n):
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.1, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def kernel_svc(tol, X, y, *, gamma, C):
    return skpd.KernelPdproxSVC(1.0 / (C * len(y)), gamma=gamma, tol=tol).fit(X, y)


def svc(setting, X, y, *, gamma, C):
    from sklearn.svm import SVC

    fit = SVC(C=C, gamma=gamma, tol=setting, cache_size=1000).fit(X, y)
    return fit.support_, fit.dual_coef_[0], fit.intercept_


def of_kernel_machine(model):
    return model.support_, np.ravel(model.support_coef_), model.intercept_


def objective_of_kernel(found, X, y, *, gamma, C):
    from sklearn.metrics.pairwise import rbf_kernel

    support, weights, intercept = found
    z = rbf_kernel(X, X[support], gamma=gamma) @ weights
    slack = np.maximum(1.0 - (2.0 * y - 1.0) * (z + intercept), 0.0)
    return float(np.mean(slack)) + 0.5 / (C * len(y)) * float(weights @ z[support])


def svc_corners(n, tols=TIGHTER):
    for gamma in (0.05, 0.001):
        for C in (1.0, 10.0):
            options = {"gamma": gamma, "C": C}
            yield Corner(
                f"kernel SVC, {n:,} x 20, gamma {gamma:g}, C = {C:g}", partial(kernel_rows, n),
                partial(kernel_svc, **options), 1.0, tols=tols, of_ours=of_kernel_machine,
                objective=partial(objective_of_kernel, **options),
                peers=(("SVC", (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6), partial(svc, **options)),),
            )  # fmt: skip


def kernel_corners():
    yield from svc_corners(5_000)
    yield Corner(
        "kernel SVC, 20,000 x 20", partial(kernel_rows, 20_000),
        partial(kernel_svc, gamma=0.05, C=1.0), 1.0, memory=1.6,
        beside=("SVC", lambda X, y: svc(1e-3, X, y, gamma=0.05, C=1.0)),
    )  # fmt: skip
