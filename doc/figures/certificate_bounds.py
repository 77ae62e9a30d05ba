"""Intervals that hold the coefficients of every optimal model, for three sizes of the gap."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from skpd import ElasticNetPD


def draw(palette):
    """The intervals of an elastic net at three tolerances, and which zeros are proven."""
    X, y = load_diabetes(return_X_y=True, scaled=False, as_frame=True)
    names, X = list(X.columns), StandardScaler().fit_transform(X)
    y = (y - y.mean()) / y.std()
    places = np.arange(len(names))
    figure, panels = plt.subplots(
        1, 3, figsize=(7.2, 3.6), layout="constrained", sharex=True, sharey=True
    )
    model = ElasticNetPD(alpha=0.15, l1_ratio=0.8, solver="approx", random_state=0)
    for axes, tol in zip(panels, (1e-2, 1e-3, 1e-5), strict=True):
        coef = model.set_params(tol=tol).fit(X, y).coef_
        certificate = model.certificate_
        zero, (low, high) = certificate.proven_zero, certificate.coefficient_bounds.T
        axes.axvline(0.0, color=palette.muted, linewidth=0.8)
        axes.hlines(places[~zero], low[~zero], high[~zero], color=palette.band, linewidth=6,
                    alpha=0.35)  # fmt: skip
        axes.plot(coef[~zero], places[~zero], "o", color=palette.lower, markersize=4)
        axes.plot(coef[zero], places[zero], "x", color=palette.upper, markersize=6,
                  markeredgewidth=2)  # fmt: skip
        axes.set_title(f"relative gap {certificate.relative_gap:.0e}", fontsize=11)
        axes.set_yticks(places, names)
    panels[0].invert_yaxis()
    figure.supxlabel("coefficient", fontsize=11)
    return figure
