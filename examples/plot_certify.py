"""
Certify a model that somebody else fitted
=========================================

``LinearSVC`` has a ``tol``, but it does not say how far from optimal a model is: it is in
units of liblinear's own stopping rule. :func:`skpd.certify` takes the fitted model, whoever
fitted it, and returns an interval that holds the least possible value of its objective.
"""

# %%
# One model
# ---------
# The objective is the estimator's own: its ``C``, its penalised intercept, its weights of
# classes and samples. The relative gap has no unit.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skpd import certify

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)

clf = LinearSVC(loss="hinge", C=1.0, random_state=0, max_iter=20_000).fit(X, y)
certificate = certify(clf, X, y)
print(f"the optimum lies in [{certificate.dual:.10f}, {certificate.primal:.10f}]")
print(f"relative gap {certificate.relative_gap:.1e}")

# %%
# Is a smaller tolerance better?
# ------------------------------
# Up to a point. liblinear sets samples aside that seem settled, and looks at them again once
# its stopping rule holds for the others (Hsieh et al., 2008, section 3.2). Where ``tol`` is so
# small that rounding errors keep the rule from ever holding, that never happens: the iterations
# run out while some samples are settled wrongly, and the model is worse than one fitted with a
# larger ``tol``. The lower bound is not the limit: `certify` refines it until it is within 1e-7
# of the optimum.

tols = 10.0 ** np.arange(-1, -15, -1)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for C, colour in ((0.1, "tab:blue"), (1.0, "tab:orange")):
    gaps, finished = [], []
    for tol in tols:
        clf = LinearSVC(loss="hinge", C=C, tol=tol, max_iter=20_000, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            clf.fit(X, y)
        gaps.append(certify(clf, X, y).relative_gap)
        finished.append(clf.n_iter_ < clf.max_iter)
    gaps, finished = np.array(gaps), np.array(finished)
    axes.loglog(tols, gaps, color=colour, label=f"C = {C:g}")
    axes.loglog(tols[finished], gaps[finished], "o", color=colour)
    axes.loglog(tols[~finished], gaps[~finished], "o", color=colour, markerfacecolor="white")
axes.loglog([], [], "o", color="gray", markerfacecolor="white", label="max_iter reached")
axes.invert_xaxis()
axes.set(xlabel="tol of LinearSVC", ylabel="certified relative gap")
axes.set_title("A smaller tolerance can leave a worse model")
axes.legend()
plt.show()

# %%
# Other models
# ------------
# The same for stochastic gradient descent and for a pipeline, which is applied to the data
# before its last step is certified. With ``rigorous=True`` every rounding error is bounded, and
# the interval holds in exact arithmetic.

raw, _ = load_breast_cancer(return_X_y=True)
for name, model, data in (
    ("SGDClassifier", SGDClassifier(loss="log_loss", alpha=0.01, random_state=0), X),
    ("LogisticRegression", make_pipeline(StandardScaler(), LogisticRegression()), raw),
):
    found = certify(model.fit(data, y), data, y, rigorous=True)
    print(f"{name:18} relative gap {found.relative_gap:.1e}, rounding {found.rounding:.1e}")
