"""What penalties make of the same data: coefficients in their order, beside the true ones."""

import matplotlib.pyplot as plt
import numpy as np

from skpd import PathCV, PdproxRegressor

N_FEATURES, GROUP = 32, 4
MODELS = {
    '"l2"': {"penalty": "l2"},
    '"l1"': {"penalty": "l1"},
    '"elasticnet", l1_ratio=0.5': {"penalty": "elasticnet", "l1_ratio": 0.5},
    '"group", groups of 4': {"penalty": "group", "groups": GROUP},
    '"fused_lasso", l1_ratio=0.3': {"penalty": "fused_lasso", "l1_ratio": 0.3},
    '"linf"': {"penalty": "linf"},
}


def _data():
    rng = np.random.default_rng(1)
    truth = np.zeros(N_FEATURES)
    truth[8:16] = 1.0
    truth[24:28] = -1.0
    shared = np.repeat(rng.normal(size=(120, N_FEATURES // GROUP)), GROUP, axis=1)
    X = shared + rng.normal(size=(120, N_FEATURES))
    return X, X @ truth + 4.0 * rng.normal(size=120), truth


def draw(palette):
    """A panel for each penalty, all fitted with the squared loss to the same rows."""
    X, y, truth = _data()
    figure, axes = plt.subplots(
        3, 2, figsize=(4.8, 6.0), layout="constrained", sharex=True, sharey=True
    )
    places = np.arange(N_FEATURES)
    for axis, (title, parameters) in zip(axes.flat, MODELS.items(), strict=True):
        model = PdproxRegressor(loss="squared", **parameters)
        search = PathCV(model, alphas=20, eps=1e-3, rule="one_standard_error").fit(X, y)
        coef = search.best_estimator_.coef_.ravel()
        used = coef != 0.0
        axis.step(
            np.arange(N_FEATURES + 1) - 0.5, np.append(truth, truth[-1]), where="post",
            color=palette.muted, linewidth=1.2,
        )  # fmt: skip
        axis.vlines(places[used], 0.0, coef[used], color=palette.lower, linewidth=2.0)
        axis.plot(places[used], coef[used], "o", color=palette.lower, markersize=3.5)
        axis.plot(places[~used], coef[~used], "o", color=palette.muted, markersize=3.5,
                  markerfacecolor="none")  # fmt: skip
        axis.set_title(title, fontsize=9.5)
        axis.set_yticks([-1.0, 0.0, 1.0])
    figure.supxlabel("feature", fontsize=11)
    figure.supylabel("coefficient", fontsize=11)
    return figure
