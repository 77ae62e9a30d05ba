"""
Probabilities: the logistic loss has them, the hinge needs to be calibrated
===========================================================================

The logistic loss is a negative log likelihood: a classifier with it predicts
probabilities. Scores of the hinge loss are none, and scikit-learn's
``CalibratedClassifierCV`` fits a curve from them to probabilities on folds of the data.
Here both have an l1 penalty.
"""

# %%
# A reliability diagram shows how often samples with a predicted probability are of the
# class.

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from skpd import PdproxSVC

X, y = make_classification(
    n_samples=20_000,
    n_features=40,
    n_informative=10,
    class_sep=0.6,
    flip_y=0.1,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=1_000, random_state=0
)
models = {
    "logistic loss": PdproxSVC(0.01, loss="logistic"),
    "hinge loss, calibrated": CalibratedClassifierCV(PdproxSVC(0.01), method="sigmoid"),
}
fig, ax = plt.subplots(figsize=(6, 5.5), layout="constrained")
for name, model in models.items():
    probabilities = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    loss = log_loss(y_test, probabilities)
    print(f"{name}: log loss {loss:.3f} on the test samples")
    CalibrationDisplay.from_predictions(
        y_test, probabilities, n_bins=15, strategy="quantile", ax=ax,
        name=f"{name} (log loss {loss:.3f})",
    )  # fmt: skip
ax.set(xlabel="predicted probability of class 1", ylabel="share of class 1 among the samples",
       title="Both are close to the diagonal")  # fmt: skip
plt.show()

# %%
# Without calibration there is no ``predict_proba`` for the hinge loss, rather than one
# that means nothing:

print(hasattr(PdproxSVC(loss="hinge"), "predict_proba"))
