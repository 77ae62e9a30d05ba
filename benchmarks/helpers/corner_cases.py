"""The corners, with their data, their peers and their aims."""

from functools import cache, partial

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, make_regression

import skpd
from benchmarks.helpers import corner_outputs as outputs
from benchmarks.helpers.contenders import TOLERANCES, sklearn_logistic
from benchmarks.helpers.corner import TIGHTER, Corner
from benchmarks.helpers.corner_sharded import block_corners, dask_corners, path_corners
from benchmarks.helpers.data import dataset, uniform_sparse
from benchmarks.helpers.models import MODELS

# The robust SVM


def ten_entries(n, d=2_000, seed=0):
    """Rows of ten entries each, and labels of a linear model of 50 features with noise."""
    data = uniform_sparse(
        np.random.default_rng(seed), n=n, d=d, density=10 / d, n_true=50, noise=0.3
    )
    return data.X, data.labels


def robust(tol, X, y, *, norm, epsilon):
    return skpd.DRSVMClassifier(epsilon, kappa=1.0, norm=norm, tol=tol).fit(X, y)


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
        for norm, epsilon in ((1, 0.02), (2, 0.05), (np.inf, 1.0)):
            yield Corner(
                f"robust SVM that is constant, norm {norm}, {n:,} x 2,000",
                partial(ten_entries, n), partial(robust, norm=norm, epsilon=epsilon), 1.0,
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
            f"LassoCV, {n:,} x {d}", partial(diabetes_like, n, d), many(ours_cv, 3), 0.67,
            beside=("scikit-learn", many(LassoCV().fit, 3)),
        )  # fmt: skip
        yield Corner(
            f"100 times Lasso, {n:,} x {d}", partial(diabetes_like, n, d), many(ours, 100), 1.0,
            beside=("scikit-learn", many(Lasso(1.0).fit, 100)), limit=0.1,
        )  # fmt: skip


# Ridge penalties, where Snap ML and ReHLine are fast


def ridge_corners():
    from benchmarks.helpers.further_peers import FURTHER_PEERS

    cells = (
        ("l2-logistic", "reuters"), ("l2-logistic", "text"), ("elastic-net-hinge", "reuters"),
        ("ridge", "tall"), ("ridge", "regression"),
    )  # fmt: skip
    for name, data in cells:
        share = (lambda n: 1.0 / n) if name != "elastic-net-hinge" else 1e-2
        ours, objective, peer = of_model(name, share)
        invited = [
            one for one in FURTHER_PEERS
            if name in one.models and one.name in ("Snap ML", "ReHLine") and one.installed
        ]  # fmt: skip

        def fit(one, X, y, model, alpha, setting, name=name):
            return one.fit(arranged(one, X, name), y, model, alpha, setting)

        yield Corner(
            f"{name}, {data}", partial(named_data, data, name), ours, 1.0, tols=TIGHTER,
            objective=objective,
            peers=tuple((f"{one.name} {one.variant}", one.settings, peer(partial(fit, one)))
                        for one in invited),
        )  # fmt: skip


ARRANGED: dict = {}


def arranged(one, X, name):
    """X in the layout of a peer, made before its second fit, whose time counts."""
    place = one.name, one.variant, id(X)
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
    return [
        *robust_corners(), *single_corners(), *outputs.class_corners(),
        *outputs.quantile_corners(), *outputs.completion_corners(), *outputs.norm_corners(),
        *table_corners(), *outputs.kernel_corners(), *block_corners(), *dask_corners(),
        *path_corners(), *ridge_corners(),
    ]  # fmt: skip
