r"""
Are last year's models still good?
==================================

Models were fitted by other packages, with whatever tolerance was the default. How
many of their decisions would an optimal model of the same objective change? A
certificate says it without a second fit to compare with: `skpd.certify` takes the
fitted models.
"""

# %%
# The models
# ----------
# Three models of the same task: one that was stopped early, one of stochastic
# gradient descent, and one that is converged.

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.preprocessing import StandardScaler

from skpd import certify

X, y = make_classification(
    5000, 60, n_informative=15, n_redundant=20, flip_y=0.05, random_state=0
)
X = StandardScaler().fit_transform(X)
models = {
    "stopped after 5 iterations": LogisticRegression(C=0.1, max_iter=5),
    "stochastic gradients": SGDClassifier(loss="log_loss", random_state=0),
    "converged": LogisticRegression(C=0.1, tol=1e-8, max_iter=1000),
}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for model in models.values():
        model.fit(X, y)

# %%
# What could change
# -----------------
# The gap bounds how far the predicted probabilities are from those of the optimal
# model, and on how many rows the decisions can differ.

certificates = {name: certify(model, X, y) for name, model in models.items()}
for name, certificate in certificates.items():
    distance = certificate.prediction_distance
    print(f"{name}: probabilities within {distance:.2g} of the optimal model's,")
    print(
        f"    at most {certificate.decisions_that_may_differ:,} decisions differ"
    )

# %%
fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
counts = [c.decisions_that_may_differ for c in certificates.values()]
bars = ax.barh(list(certificates), counts, color="tab:blue")
ax.bar_label(bars, labels=[f"{count:,}" for count in counts], padding=3)
ax.margins(x=0.15)
ax.invert_yaxis()
ax.set_xlabel(
    f"decisions that may differ from the optimal model's, of {len(y):,}"
)
plt.show()

# %%
# A model whose number is large deserves another fit, with more iterations or
# another solver. One whose number is small does not: no solver could change more
# decisions.
