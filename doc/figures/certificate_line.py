"""The numbers of a certificate on the axis of objective values."""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from skpd import PdproxSVC


def _models():
    """The certificate of a fit that is stopped early, and the best value there is."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    slow = PdproxSVC(alpha=0.05, solver="pdprox-dual", max_iter=25, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = slow.fit(X, y).certificate_
    return certificate, PdproxSVC(alpha=0.05, tol=1e-9).fit(X, y).certificate_.primal


def draw(palette):
    """Bounds, gap and what the relative gap is a share of."""
    certificate, best = _models()
    constant = certificate.dual + certificate.gap / certificate.relative_gap
    figure, axes = plt.subplots(figsize=(7.0, 2.7), layout="constrained")
    axes.axhline(0.0, color=palette.muted, linewidth=1.2)
    axes.plot([certificate.dual, certificate.primal], [0.0, 0.0], color=palette.band, alpha=0.25,
              linewidth=14, solid_capstyle="butt")  # fmt: skip
    marks = [
        (certificate.dual, "dual", "no model\nis below", palette.lower),
        (best, "", "best value\nof any model", palette.text),
        (certificate.primal, "primal", "objective of\nthis model", palette.upper),
        (constant, "", "best constant\nprediction", palette.text),
    ]
    for value, name, text, colour in marks:
        axes.plot(value, 0.0, "|", markersize=26, markeredgewidth=2.5, color=colour)
        axes.text(value, 0.42, text, ha="center", va="bottom", color=colour)
        axes.text(value, -0.42, name, ha="center", va="top", color=colour, family="monospace")
    spans = [
        (-1.05, (certificate.dual, certificate.primal), "gap"),
        (-1.75, (certificate.dual, constant), "relative_gap is the gap as a share of this"),
    ]
    for height, ends, text in spans:
        axes.annotate("", (ends[0], height), (ends[1], height), color=palette.muted,
                      arrowprops={"arrowstyle": "<->", "color": palette.muted})  # fmt: skip
        axes.text(sum(ends) / 2, height - 0.08, text, ha="center", va="top", color=palette.text)
    axes.plot(0.0, 0.0, "|", markersize=12, markeredgewidth=1.5, color=palette.muted)
    axes.text(0.0, -0.42, "0", ha="center", va="top", color=palette.muted)
    axes.set(xlim=(-0.03, 1.1 * constant), ylim=(-2.3, 1.5))
    axes.axis("off")
    return figure
