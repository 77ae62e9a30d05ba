"""The models of the benchmarks, written from their definitions alone, and the cases.

All are without intercept: mean_i loss(y_i, x_i . w) + alpha penalty(w).
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.helpers.matrix_models import MATRIX_CASES, MATRIX_MODELS
from skpd import GroupLassoSVC, PdproxRegressor, PdproxSVC
from skpd.losses import Huber, Pinball, SmoothedHinge
from skpd.penalties import ElasticNet

QUANTILE, L1_RATIO = 0.9, 0.5
# slope of the generalised hinge, smoothing of the hinge, corner of Huber's loss, half a tube
SLOPE, SMOOTHING, DELTA, EPSILON = 2.0, 1.0, 1.35, 0.1


def slack(y, z):
    return np.maximum(0.0, 1.0 - y * z)


def huber(size, corner):
    """size^2 / 2 up to the corner, linear beyond."""
    inner = np.minimum(size, corner)
    return inner * (size - 0.5 * inner)


def outside(y, z):
    """How far z is outside the tube around y."""
    return np.maximum(0.0, np.abs(z - y) - EPSILON)


LOSSES = {
    "hinge": slack,
    "generalized_hinge": lambda y, z: np.maximum(slack(y, z), 1.0 - SLOPE * y * z),
    "smoothed_hinge": lambda y, z: huber(slack(y, z), SMOOTHING) / SMOOTHING,
    "squared_hinge": lambda y, z: slack(y, z) ** 2,
    "modified_huber": lambda y, z: 2.0 * huber(slack(y, z), 2.0),
    "logistic": lambda y, z: np.logaddexp(0.0, -y * z),
    "squared": lambda y, z: 0.5 * (z - y) ** 2,
    "squared_epsilon_insensitive": lambda y, z: outside(y, z) ** 2,
    "huber": lambda y, z: huber(np.abs(z - y), DELTA),
    "absolute": lambda y, z: np.abs(z - y),
    "epsilon_insensitive": outside,
    "pinball": lambda y, z: np.maximum(QUANTILE * (y - z), (QUANTILE - 1.0) * (y - z)),
}
OF_SIGNS = {"hinge", "smoothed_hinge", "squared_hinge", "logistic"}  # of labels -1 and 1
# the losses of skpd where a name alone does not say all
LOSSES_OF_SKPD = {
    "pinball": Pinball(QUANTILE),
    "huber": Huber(DELTA),
    "smoothed_hinge": SmoothedHinge(SMOOTHING),
}
SLOPES_AT_ZERO = {
    "hinge": lambda y: -y,
    "logistic": lambda y: -0.5 * y,
    "squared": lambda y: -y,
    "pinball": lambda y: np.where(y > 0, -QUANTILE, 1.0 - QUANTILE),
    "huber": lambda y: -np.clip(y, -DELTA, DELTA),
    "squared_hinge": lambda y: -2.0 * y,
}


def group_size(n_features):
    """Groups of 5 consecutive features, of 3 where 5 does not divide their number."""
    return 5 if n_features % 5 == 0 else 3


def group_sizes(n_features):
    """The sizes of the groups, the last one smaller where no size divides."""
    size = group_size(n_features)
    return np.diff(np.append(np.arange(0, n_features, size), n_features))


def group_norms(w):
    """sqrt(size) and the Euclidean norm of every group."""
    sizes = group_sizes(len(w))
    return np.sqrt(sizes), np.sqrt(np.add.reduceat(w * w, np.cumsum(sizes) - sizes))


def group_lasso(w):
    weights, norms = group_norms(w)
    return weights @ norms


def largest_group(u):
    weights, norms = group_norms(u)
    return np.max(norms / weights)


def mixed(first, second):
    """L1_RATIO times one penalty, the rest times another."""
    return lambda w: L1_RATIO * first(w) + (1.0 - L1_RATIO) * second(w)


def l1(w):
    return np.abs(w).sum()


def half_square(w):
    return 0.5 * (w @ w)


def total_variation(w):
    return np.abs(np.diff(w)).sum()


PENALTIES = {
    "l1": l1,
    "nonnegative_l1": lambda w: w.sum() if np.all(w >= 0.0) else np.inf,
    "group": group_lasso,
    "sparse_group": mixed(l1, group_lasso),
    "l2": half_square,
    "l2_norm": np.linalg.norm,
    "linf": lambda w: np.abs(w).max(),
    "elastic-net": mixed(l1, half_square),
    "total_variation": total_variation,
    "fused_lasso": mixed(l1, total_variation),
}
# w = 0 is optimal where this function of the loss's gradient is at most alpha
SMALLEST_ALPHAS = {
    "l1": lambda u: np.abs(u).max(),
    "group": largest_group,
    "elastic-net": lambda u: np.abs(u).max() / L1_RATIO,
}


@dataclass(frozen=True)
class Model:
    """A loss and a penalty, by name."""

    loss: str
    penalty: str

    def target(self, data):
        return data.labels if self.loss in OF_SIGNS else data.response

    def zero(self, X, y):
        """The coefficients that are all 0."""
        return np.zeros(X.shape[1])

    def objective(self, X, y, alpha, w):
        return float(np.mean(LOSSES[self.loss](y, X @ w)) + alpha * PENALTIES[self.penalty](w))

    def alpha_max(self, X, y):
        """The smallest alpha at which w = 0 is optimal."""
        gradient = X.T @ SLOPES_AT_ZERO[self.loss](y) / len(y)
        return float(SMALLEST_ALPHAS[self.penalty](gradient))

    def estimator(self, n_features, alpha, **parameters):
        """The estimator of skpd."""
        if self.penalty == "group":
            size = group_size(n_features)
            return GroupLassoSVC(
                alpha, groups=size, loss=self.loss, fit_intercept=False, **parameters
            )
        penalty = ElasticNet(L1_RATIO) if self.penalty == "elastic-net" else self.penalty
        loss = LOSSES_OF_SKPD.get(self.loss, self.loss)
        kind = PdproxSVC if self.loss in OF_SIGNS else PdproxRegressor
        return kind(alpha, loss=loss, penalty=penalty, fit_intercept=False, **parameters)


MODELS = {
    "l1-hinge": Model("hinge", "l1"),
    "group-hinge": Model("hinge", "group"),
    "l2-hinge": Model("hinge", "l2"),
    "l1-pinball": Model("pinball", "l1"),
    "lasso": Model("squared", "l1"),
    "elastic-net": Model("squared", "elastic-net"),
    "l1-logistic": Model("logistic", "l1"),
    "elastic-net-hinge": Model("hinge", "elastic-net"),
    "l2-smoothed-hinge": Model("smoothed_hinge", "l2"),
    "l2-squared-hinge": Model("squared_hinge", "l2"),
    "l1-squared-hinge": Model("squared_hinge", "l1"),
    "l2-pinball": Model("pinball", "l2"),
    "elastic-net-pinball": Model("pinball", "elastic-net"),
    "l2-huber": Model("huber", "l2"),
    "elastic-net-huber": Model("huber", "elastic-net"),
    "ridge": Model("squared", "l2"),
    "l2-logistic": Model("logistic", "l2"),
    "elastic-net-logistic": Model("logistic", "elastic-net"),
    **MATRIX_MODELS,
}

# alpha is a number, or a rule: a share of alpha_max, 1/n, or the alphas of a path
PATH, N_ALPHAS = "max to max/100", 50
NON_SMOOTH, SMOOTH = ("max/3", "max/10"), ("max/10", "max/100")
REAL, ALL = ("a9a", "reuters"), ("a9a", "reuters", "dense", "power-law", "tall")
FIXED = {"a9a": (1e-2, 1e-3, 1e-4), "reuters": (1e-3, 1e-4)}
SMALL_ALPHA = (1e-3, "1/n")  # 1/n is what C = 1 says to most solvers
CASES = {
    "l1-hinge": {data: FIXED.get(data, NON_SMOOTH) for data in ALL},
    "group-hinge": {data: FIXED.get(data, NON_SMOOTH) for data in ALL},
    "l2-hinge": {data: (1e-3, 1e-4, "1/n") if data in REAL else (1e-2, "1/n") for data in ALL},
    "l1-pinball": {"regression": NON_SMOOTH},
    "lasso": {data: SMOOTH for data in ALL},
    "elastic-net": {data: SMOOTH for data in ALL},
    "l1-logistic": {data: SMOOTH for data in ALL},
}


def with_more(cases):
    """The cases with those of further peers and of several outputs.

    Those on which the peers of `benchmarks.helpers.further_peers` present themselves are dense
    rows for ReHLine, text for cyanure and Snap ML, and tables of numbers and of categories, all
    with many more rows than columns, for glum.
    """
    rows, tables = ("regression", "heavy-tailed"), ("short-rows", "one-hot")
    more = {
        "l2-hinge": {data: (1e-2, "1/n") for data in rows},
        "lasso": {data: SMOOTH for data in ("text", *tables)},
        "elastic-net": {data: SMOOTH for data in ("text", *tables)},
        "l1-logistic": {data: SMOOTH for data in ("text", *tables)},
        "elastic-net-hinge": {data: NON_SMOOTH for data in (*REAL, "regression")},
        "l2-smoothed-hinge": {data: SMALL_ALPHA for data in (*REAL, "regression")},
        "l2-squared-hinge": {data: SMALL_ALPHA for data in (*REAL, "text")},
        "l1-squared-hinge": {data: SMOOTH for data in (*REAL, "text")},
        "l2-pinball": {data: (1e-2, "1/n") for data in rows},
        "elastic-net-pinball": {data: NON_SMOOTH for data in rows},
        "l2-huber": {data: (1e-2, "1/n") for data in rows},
        "elastic-net-huber": {data: NON_SMOOTH for data in rows},
        "ridge": {data: SMALL_ALPHA for data in (*REAL, "text", "tall", *tables)},
        "l2-logistic": {data: SMALL_ALPHA for data in (*REAL, "text", "tall", *tables)},
        "elastic-net-logistic": {data: SMOOTH for data in (*REAL, *tables)},
        **MATRIX_CASES,
    }
    names = dict.fromkeys([*cases, *more])
    return {name: {**cases.get(name, {}), **more.get(name, {})} for name in names}


def selected(models=None, names=None, cases=CASES):
    """(data, model, rule) of the cases chosen by name, data by data."""
    for data in dict.fromkeys(data for sets in cases.values() for data in sets):
        if names and data not in names:
            continue
        for model, sets in cases.items():
            if not models or model in models:
                for rule in sets.get(data, ()):
                    yield data, model, rule


def alpha_of(rule, model, X, y):
    """The number behind a rule of `CASES`; a list for a path, at equal ratios."""
    if rule in ("1/n", "100/n"):
        return float(rule.removesuffix("/n")) / len(y)
    if rule == PATH:
        return (model.alpha_max(X, y) * np.geomspace(1.0, 0.01, N_ALPHAS)).tolist()
    if isinstance(rule, str):
        return model.alpha_max(X, y) / float(rule.removeprefix("max/"))
    return rule


def selection(cases=CASES):
    """Options that choose among the cases."""
    names = list(dict.fromkeys(data for sets in cases.values() for data in sets))
    chosen = {"nargs": "+", "metavar": "NAME"}
    return {
        "--models": {**chosen, "choices": cases, "help": f"{[*cases]}"},
        "--data": {**chosen, "choices": names, "help": f"{names}"},
    }
