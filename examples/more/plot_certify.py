"""
Certify a model of another library
==================================

Given a fitted linear model and its data, :func:`skpd.certify` bounds how far the
objective of the model is from the optimum. It knows the objectives of many
estimators of scikit-learn. For coefficients from anywhere else, the loss, the
penalty and ``alpha`` are named.
"""

# %%
# Models of scikit-learn
# ----------------------
# Each model is fitted with its default settings to standardised features. A
# :class:`~sklearn.pipeline.Pipeline` is certified as a whole: its first steps
# transform the data, and the last step is certified.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    QuantileRegressor,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

from skpd import certify

classification = load_breast_cancer(return_X_y=True)
regression = load_diabetes(return_X_y=True)
models = [
    (RidgeClassifier(), classification),
    (LogisticRegression(), classification),
    (LinearSVC(random_state=0), classification),
    (SGDClassifier(loss="hinge", random_state=0), classification),
    (SGDClassifier(loss="log_loss", random_state=0), classification),
    (Lasso(), regression),
    (ElasticNet(), regression),
    (QuantileRegressor(), regression),
    (LinearSVR(random_state=0), regression),
    (SGDRegressor(random_state=0), regression),
]
gaps = []
for model, (X, y) in models:
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    gaps.append(certify(pipeline, X, y).relative_gap)

# %%
# The relative gap is the most that can be gained, as a share of what any model
# could improve on the best constant prediction. It is 0 where the gap is at most
# 1e-12 of the objective of that constant, and drawn at 1e-12. skpd's default
# ``tol`` is 1e-4. None of these fits warned.

order, places = np.argsort(gaps), np.arange(len(models))
fig, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
shown = np.maximum(np.sort(gaps), 1e-12)
axes.barh(places, shown, color=np.where(shown > 1e-4, "C1", "C0"))
axes.axvline(1e-4, color="black", linestyle=":", label="tol of skpd")
axes.set(xscale="log", xlabel="certified relative gap (no unit)")
axes.set_yticks(places, [str(models[k][0]) for k in order], fontsize="small")
axes.set_title(
    f"{sum(np.array(gaps) > 1e-4)} of {len(models)} fits end far from the optimum"
)
axes.legend(loc="lower right")
plt.show()

# %%
# A model of one's own
# --------------------
# Here SciPy minimises the mean logistic loss plus ``alpha`` times the l1 norm.
# The norm has a kink, so that the coefficients are split into their positive and
# negative parts. `certify` needs ``coef_`` and ``intercept_``, and the names of
# the loss and the penalty. With ``tol=1e-10`` it refines its lower bound until
# the relative gap is at most that, or until no more of the gap is due to the
# bound.


class L1Logistic(BaseEstimator):
    def __init__(self, alpha=0.01, ftol=1e-9):
        self.alpha, self.ftol = alpha, ftol

    def fit(self, X, y):
        (n, d), sign = X.shape, 2.0 * y - 1.0

        def objective(v):  # positive parts, negative parts, the intercept
            margins = sign * (X @ (v[:d] - v[d:-1]) + v[-1])
            slopes = -sign * expit(-margins) / n
            value = np.logaddexp(0, -margins).mean() + self.alpha * v[:-1].sum()
            parts = X.T @ slopes + self.alpha, self.alpha - X.T @ slopes
            return value, np.concatenate([*parts, [slopes.sum()]])

        bounds = [(0, None)] * (2 * d) + [(None, None)]
        options = {"ftol": self.ftol, "gtol": 0, "maxiter": 9999, "maxfun": 9999}
        start = np.zeros(2 * d + 1)
        v = minimize(objective, start, jac=True, bounds=bounds, options=options).x
        self.coef_, self.intercept_ = v[:d] - v[d:-1], v[-1]
        return self


X, y = classification
X = StandardScaler().fit_transform(X)
named = {"loss": "logistic", "penalty": "l1", "alpha": 0.01}
for ftol in (1e-5, 1e-9, 1e-13):
    model = L1Logistic(ftol=ftol).fit(X, y)
    found = certify(model, X, y, tol=1e-10, **named)
    print(f"ftol={ftol:.0e}: objective {found.primal:.10f}", end=", ")
    print(f"relative gap {found.relative_gap:.1e}")

# %%
# With ``rigorous=True`` every rounding error is bounded as well, and the interval
# holds in exact arithmetic.

found = certify(model, X, y, rigorous=True, tol=1e-10, **named)
print(f"relative gap {found.relative_gap:.1e}, rounding {found.rounding:.1e}")

# %%
# Of eleven estimators of scikit-learn with default settings the three that use
# stochastic gradients ended above a relative gap of 1e-3, the eight others below
# 1e-5. The relative gap of the model that SciPy fitted with ``ftol=1e-13`` is 0,
# which is proven with all rounding errors counted.
