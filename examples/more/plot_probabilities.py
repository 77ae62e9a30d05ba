"""
Probabilities from the logistic loss, or by calibration
=======================================================

The logistic loss is a negative log likelihood, so a classifier with it predicts
probabilities. The hinge loss has none, and scikit-learn's
``CalibratedClassifierCV`` fits a curve from its scores to probabilities. This
example compares the two, both with an l1 penalty, on generated data.
"""

# %%
# Three ways
# ----------
# The third way takes scores of the hinge loss for log odds, which they are not.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.metrics import log_loss

from skpd import PdproxSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 30))
log_odds = X[:, :5] @ [4.0, -3.0, 2.0, -1.0, 1.0] - 3.0  # 5 of 30 features
y = rng.random(len(X)) < expit(log_odds)
X_train, X_test, y_train, y_test = X[:2000], X[2000:], y[:2000], y[2000:]
logistic = PdproxSVC(0.003, loss="logistic").fit(X_train, y_train)
hinge = PdproxSVC(0.003, loss="hinge").fit(X_train, y_train)
calibrated = CalibratedClassifierCV(
    PdproxSVC(0.003, loss="hinge"), method="sigmoid"
)
calibrated.fit(X_train, y_train)
probabilities = {
    "logistic loss": logistic.predict_proba(X_test)[:, 1],
    "hinge loss, calibrated": calibrated.predict_proba(X_test)[:, 1],
    "hinge scores, squeezed": expit(hinge.decision_function(X_test)),
}

# %%
# Are they right?
# ---------------
# Of the test samples with a predicted probability of 0.8, four in five should be
# of the class: the points should lie on the diagonal. The log loss also measures
# how well the probabilities separate the classes.

fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for (name, values), style in zip(probabilities.items(), "osX", strict=True):
    loss = log_loss(y_test, values)
    print(f"{name}: log loss {loss:.3f} on {len(y_test)} test samples")
    CalibrationDisplay.from_predictions(
        y_test, values, n_bins=15, strategy="quantile", ax=ax,
        name=f"{name} (log loss {loss:.3f})", marker=style,
    )  # fmt: skip
ax.set(
    xlabel="predicted probability of class 1",
    ylabel="share of class 1 among the samples",
    title="Scores of the hinge loss are not probabilities",
)
ax.legend(loc="upper left", fontsize="small")
plt.show()

# %%
# For this reason there is no ``predict_proba`` with the hinge loss.

print("the logistic loss has predict_proba:", hasattr(logistic, "predict_proba"))
print("the hinge loss has predict_proba:", hasattr(hinge, "predict_proba"))

# %%
# The log loss on 18,000 test samples was 0.205 for the logistic loss, 0.208 for
# calibrated scores of the hinge loss and 0.227 for scores taken as log odds.
