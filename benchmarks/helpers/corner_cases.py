"""The corners, with their data, their peers and their aims."""

from functools import cache, partial
from itertools import chain

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_digits, make_regression

import skpd
from benchmarks.completion import ratings
from benchmarks.helpers.contenders import OFTEN, TOLERANCES, sklearn_logistic
from benchmarks.helpers.corner import Corner
from benchmarks.helpers.data import dataset, text, uniform_sparse, with_outputs
from benchmarks.helpers.models import MODELS
from benchmarks.kernels import rows as kernel_rows

TIGHTER = (1e-3, 1e-4, 1e-5, 1e-6)


# The robust SVM


def ten_entries(n, d=2_000, seed=0):
    """Rows of ten entries each, and labels of a linear model of 50 features with noise."""
    data = uniform_sparse(
        np.random.default_rng(seed), n=n, d=d, density=10 / d, n_true=50, noise=0.3
    )
    return data.X, data.labels


def robust(tol, X, y, *, norm, epsilon):
    return skpd.DRSVMClassifier(epsilon, norm=norm, tol=tol).fit(X, y)


def certain(X, y, *, epsilon):
    return skpd.PdproxSVC(epsilon, tol=1e-5).fit(X, y)


def robust_corners():
    beside = ("hinge + l1", partial(certain, epsilon=1e-3))
    for n, memory in ((100_000, None), (1_000_000, 1.0)):
        for norm in (1, 2, np.inf):
            yield Corner(
                f"robust SVM, norm {norm}, {n:,} x 2,000", partial(ten_entries, n),
                partial(robust, norm=norm, epsilon=1e-3), 4.0, tols=(1e-5,), beside=beside,
                memory=memory,
            )  # fmt: skip
        for norm in (1, 2, np.inf):
            yield Corner(
                f"robust SVM that is constant, norm {norm}, {n:,} x 2,000",
                partial(ten_entries, n), partial(robust, norm=norm, epsilon=0.03), 1.0,
                tols=(1e-5,), beside=beside, memory=memory,
            )  # fmt: skip


# Single outputs


def binary_table(n=50_000, d=300, seed=0):
    """Binary features, few of them frequent, and labels of which one in thirty is positive."""
    rng = np.random.default_rng(seed)
    frequency = np.minimum(0.8, 1.6 * np.arange(1, d + 1) ** -0.9)
    X = (rng.random((n, d)) < frequency).astype(float)
    z = X @ rng.standard_normal(d) + 2.0 * rng.standard_normal(n)
    return sp.csr_array(X), np.where(z > np.quantile(z, 0.97), 1.0, -1.0)


def narrow_table(n=50_000, d=22, seed=0):
    """Features of which half are one-hot codes, and labels of which one in ten is positive."""
    rng = np.random.default_rng(seed)
    codes = np.eye(10)[rng.integers(10, size=n)]
    numbers = rng.uniform(-1.0, 1.0, size=(n, d - 10))
    X = np.column_stack([codes, numbers])
    z = (
        X @ rng.standard_normal(d)
        + 2.0 * np.sin(3.0 * numbers[:, 0])
        + 0.5 * rng.standard_normal(n)
    )
    return sp.csr_array(X), np.where(z > np.quantile(z, 0.9), 1.0, -1.0)


def of_model(name, share):
    """(ours, objective) of one of the models of `benchmarks.helpers.models`.

    ``share`` is that of the largest alpha of interest, or a function of the number of rows.
    """
    model = MODELS[name]

    def alpha(X, y):
        return share(len(y)) if callable(share) else model.alpha_max(X, y) * share

    def ours(tol, X, y):
        return model.estimator(X.shape[1], alpha(X, y), tol=tol).fit(X, y)

    def objective(found, X, y):
        return model.objective(X, y, alpha(X, y), np.ravel(found[0]))

    def peer(fit):
        return lambda setting, X, y: (np.ravel(fit(X, y, model, alpha(X, y), setting)), 0.0)

    return ours, objective, peer


def single_corners():
    from benchmarks.helpers.contenders import linear_svc, sklearn_descent

    for share in (1e-2, 1e-1):
        for name, peers in (
            ("l1-logistic", (("liblinear", partial(sklearn_logistic, solver="liblinear")),)),
            ("lasso", (("scikit-learn", sklearn_descent),)),
        ):
            ours, objective, peer = of_model(name, share)
            yield Corner(
                f"{name}, 50,000 x 300 binary, alpha max/{1 / share:g}", binary_by_columns, ours,
                1.5, tols=TIGHTER, objective=objective,
                peers=tuple((label, TOLERANCES, peer(fit)) for label, fit in peers),
            )  # fmt: skip
    ours, objective, peer = of_model("l2-hinge", lambda n: 10.0 / n)
    yield Corner(
        "l2-hinge, 50,000 x 22, C = 0.1", narrow_table, ours, 1.2, tols=TIGHTER,
        objective=objective, peers=(("LinearSVC", TOLERANCES, peer(linear_svc)),),
    )  # fmt: skip


def binary_by_columns():
    X, y = binary_table()
    return sp.csc_matrix(X), y


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


def wide_classes():
    data = dataset("wide")
    return data.X, data.classes


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
    for name, data in (("digits", digits), ("500 x 5,000", wide_classes)):
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


def school():
    data = dataset("school")
    return data.X, data.response


def tasks(tol, X, y, *, loss):
    return skpd.MultiTaskPD(
        1e-5, tasks=0, loss=loss, penalty="l1inf", fit_intercept=False, tol=tol
    ).fit(X, y)


def reuters():
    data = dataset("reuters")
    return data.X, data.labels


def largest(tol, X, y, *, alpha):
    return skpd.PdproxSVC(alpha, penalty="linf", tol=tol).fit(X, y)


def norm_corners():
    for loss in ("epsilon_insensitive", "absolute"):
        yield Corner(
            f"School, l1inf, {loss}, alpha 1e-5",
            school,
            partial(tasks, loss=loss),
            1.0,
            beside=("seconds", 5.0),
        )
    for alpha, seconds in ((1e-2, 0.8), (1e-1, 4.0)):
        yield Corner(
            f"linf + hinge, Reuters, alpha {alpha:g}",
            reuters,
            partial(largest, alpha=alpha),
            1.0,
            beside=("seconds", seconds),
        )


# Small tables


def diabetes_like(n, d):
    if (n, d) == (442, 10):
        return load_diabetes(return_X_y=True)
    X, y = make_regression(n, d, n_informative=max(2, d // 2), noise=20.0, random_state=0)
    return X, y


def many(fit, times):
    """Fits so short that some of them are timed together."""

    def repeated(*arguments):
        for _ in range(times):
            found = fit(*arguments)
        return found

    return repeated


def table_corners():
    from sklearn.linear_model import Lasso, LassoCV

    def ours_cv(tol, X, y):
        return skpd.LassoPDCertifiedCV(tol=tol).fit(X, y)

    def ours(tol, X, y):
        return skpd.LassoPDCertified(1.0, tol=tol).fit(X, y)

    for n, d in ((100, 5), (442, 10), (1000, 20)):
        yield Corner(
            f"LassoCV, {n:,} x {d}",
            partial(diabetes_like, n, d),
            many(ours_cv, 3),
            0.67,
            beside=("scikit-learn", many(LassoCV().fit, 3)),
        )
        yield Corner(
            f"100 times Lasso, {n:,} x {d}", partial(diabetes_like, n, d), many(ours, 100), 1.0,
            beside=("scikit-learn", many(Lasso(1.0).fit, 100)), limit=0.1,
        )  # fmt: skip


# Kernels


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


def kernel_corners():
    for gamma in (0.05, 0.001):
        for C in (1.0, 10.0):
            options = {"gamma": gamma, "C": C}
            yield Corner(
                f"kernel SVC, 5,000 x 20, gamma {gamma:g}, C = {C:g}", partial(kernel_rows, 5_000),
                partial(kernel_svc, **options), 1.0, tols=TIGHTER, of_ours=of_kernel_machine,
                objective=partial(objective_of_kernel, **options),
                peers=(("SVC", (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6), partial(svc, **options)),),
            )  # fmt: skip
    yield Corner(
        "kernel SVC, 20,000 x 20", partial(kernel_rows, 20_000),
        partial(kernel_svc, gamma=0.05, C=1.0), 1.0, memory=1.6,
        beside=("SVC", lambda X, y: svc(1e-3, X, y, gamma=0.05, C=1.0)),
    )  # fmt: skip


# Ridge penalties, where Snap ML and ReHLine are fast


def ridge_corners():
    from benchmarks.helpers.contenders import Contender
    from benchmarks.helpers.further_peers import FURTHER_PEERS

    cells = (
        ("l2-logistic", "reuters"), ("l2-logistic", "text"), ("elastic-net-hinge", "reuters"),
        ("ridge", "tall"), ("ridge", "regression"),
    )  # fmt: skip
    for name, data in cells:
        share = (lambda n: 1.0 / n) if name != "elastic-net-hinge" else 1e-2
        ours, objective, _ = of_model(name, share)
        invited = [
            one for one in FURTHER_PEERS
            if name in one.models and one.name in ("Snap ML", "ReHLine") and one.installed
        ]  # fmt: skip

        def fit(one: Contender, setting, X, y, name=name, share=share):
            alpha = share(len(y)) if callable(share) else MODELS[name].alpha_max(X, y) * share
            found = one.fit(arranged(one, data_key(X), X, name), y, MODELS[name], alpha, setting)
            return np.ravel(found), 0.0

        yield Corner(
            f"{name}, {data}", partial(named_data, data, name), ours, 1.0, tols=TIGHTER,
            objective=objective,
            peers=tuple((f"{one.name} {one.variant}", one.settings, partial(fit, one))
                        for one in invited),
        )  # fmt: skip


ARRANGED: dict = {}


def data_key(X):
    return id(X)


def arranged(one, key, X, name):
    """X in the layout of a peer, made before its second fit, whose time counts."""
    place = one.name, one.variant, key
    if place not in ARRANGED:
        ARRANGED.clear()
        ARRANGED[place] = one.arrange(X, name)
    return ARRANGED[place]


def named_data(data, model):
    found = dataset(data)
    return found.X, MODELS[model].target(found)


@cache
def corners():
    """All of them, in the order of the table."""
    return list(
        chain(
            robust_corners(), single_corners(), class_corners(), quantile_corners(),
            completion_corners(), norm_corners(), table_corners(), kernel_corners(),
            ridge_corners(),
        )
    )  # fmt: skip
