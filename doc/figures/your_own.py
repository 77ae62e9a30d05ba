"""A loss of a user's own, beside the one that it rounds off, and the models that it makes."""

import matplotlib.pyplot as plt
import numpy as np

from skpd import PdproxRegressor
from skpd.losses import Pinball, ResidualLoss

WIDTH = 0.3


class QuantileHuber(ResidualLoss):
    """The loss of the page."""

    def __init__(self, quantile=0.5, width=WIDTH):
        self.quantile, self.width = quantile, width

    @property
    def conjugate_domain(self):
        return (-self.quantile, 1.0 - self.quantile)

    def _phi(self, t):
        u = self._phi_derivative(t)
        return u * t - 0.5 * self.width * u * u

    def _phi_derivative(self, t):
        return np.clip(t / self.width, *self.conjugate_domain)

    def _phi_conjugate(self, u):
        lower, upper = self.conjugate_domain
        inside = (u >= lower) & (u <= upper)
        return np.where(inside, 0.5 * self.width * u * u, np.inf)


def draw(palette):
    """The losses on the left; quantiles of skewed data on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.2), layout="constrained")
    r = np.linspace(-0.8, 0.8, 401)
    zero = np.zeros_like(r)
    left.plot(r, Pinball(0.9).value(zero, r), "--", color=palette.muted, linewidth=1.6,
              label='"pinball"')  # fmt: skip
    left.plot(r, QuantileHuber(0.9).value(zero, r), color=palette.upper, linewidth=2.2,
              label="QuantileHuber")  # fmt: skip
    left.set(xlabel="residual $r = z - y$", title="loss for the quantile 0.9", ylim=(0.0, 0.75))
    left.legend()

    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 2.0, 250))
    y = 5.0 * x + (1.0 + 4.0 * x) * rng.gamma(2.0, 1.0, 250)
    X = x[:, np.newaxis]
    right.plot(x, y, ".", color=palette.muted, markersize=3.5, alpha=0.7)
    for quantile in (0.1, 0.5, 0.9):
        model = PdproxRegressor(1e-4, loss=QuantileHuber(quantile)).fit(X, y)
        right.plot(x, model.predict(X), color=palette.upper, linewidth=2.0)
        right.annotate(f"{quantile}", (2.02, model.predict([[2.0]])[0]), color=palette.upper,
                       va="center")  # fmt: skip
    right.set(xlabel="feature", ylabel="target", title="models for three quantiles")
    return figure
