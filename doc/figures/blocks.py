"""How often fits read the rows of blocks, counted."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np

from skpd import GroupLassoSVC, LassoPDCertified, PdproxSVC, RowBlocks

N_ROWS, N_FEATURES, BLOCK = 440_000, 40, 20_000  # 70 MB: less would be copied to memory


class _Counted(RowBlocks):
    """Blocks that count how often their rows are read."""

    readings = 0.0

    def block(self, k):
        found = super().block(k)
        self.readings += found.shape[0] / self.shape[0]
        return found


@cache
def _readings():
    """How often each fit has read all rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_FEATURES), dtype=np.float32)
    y = X[:, :5] @ np.array([1.0, -1.0, 1.0, -1.0, 1.0], np.float32)
    y += rng.standard_normal(N_ROWS, dtype=np.float32)
    models = {
        "squared loss, l1": (LassoPDCertified(alpha=0.01), y),
        "logistic loss, l1": (PdproxSVC(alpha=0.005, loss="logistic"), y > 0.0),
        "hinge loss, l1": (PdproxSVC(alpha=0.005), y > 0.0),
        "hinge loss, groups": (GroupLassoSVC(alpha=0.005, groups=4), y > 0.0),
    }
    found = {}
    for name, (model, target) in models.items():
        rows = _Counted(np.split(X, N_ROWS // BLOCK))
        model.fit(rows, target)
        found[name] = rows.readings
    return found


def draw(palette):
    """A bar for each model."""
    found = _readings()
    figure, axes = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
    bars = axes.barh(list(found), list(found.values()), color=palette.band, alpha=0.6, height=0.6)
    axes.bar_label(bars, fmt="%.0f", padding=4, color=palette.text)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0, labelcolor=palette.text)
    axes.set_xlabel("how often all rows are read")
    return figure
