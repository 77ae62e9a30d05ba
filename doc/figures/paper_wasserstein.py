"""Figure 1 of Li, Chen and So on generated data: incremental methods, epoch by epoch."""

import numpy as np
from gap_curves import excesses, gap_figure

from skpd import DRSVMClassifier


def draw(palette):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 30))
    y = np.where(X[:, :5].sum(axis=1) + rng.normal(size=1000) > 0, 1, -1)
    panels = []
    for title, norm in (("norm l1", 1), ("norm linf", np.inf)):
        model = DRSVMClassifier(
            0.1, kappa=1.0, norm=norm, alpha=1.0, fit_intercept=False, random_state=0
        )
        optimum = model.set_params(tol=1e-9).fit(X, y).certificate_.dual
        model.set_params(tol=0.0, max_iter=600)
        curves = {
            name: excesses(model.set_params(solver=name), X, y, optimum)
            for name in ("isg", "ippa", "hybrid")
        }
        panels.append((title, "epochs", curves))
    return gap_figure(palette, panels, "excess over the optimum")
