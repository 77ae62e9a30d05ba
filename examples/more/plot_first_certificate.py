"""
A first certificate
===================

Every fitted skpd model says how far it is from optimal, and can prove it. This
example fits a support vector machine with an l1 penalty, a problem whose ordinary
duality gap is infinite at almost every point, and reads the certificate.
"""

# %%
# Fit
# ---
# Standardise, fit, look. ``alpha`` multiplies the penalty beside the mean loss,
# as in scikit-learn's ``SGDClassifier``.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skpd import GapDisplay, PdproxSVC

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

clf = PdproxSVC(alpha=0.01, tol=1e-5).fit(X_train, y_train)
print(f"accuracy {clf.score(X_test, y_test):.3f}")
print(f"{(clf.coef_ != 0).sum()} of 30 features")

# %%
# Read
# ----
# The optimal objective value, which nobody knows, lies in ``[dual, primal]``. The
# relative gap has no unit: it is the length of that interval over the objective
# value of the best constant prediction, and what ``tol`` is compared with.

certificate = clf.certificate_
print(f"the optimum lies in [{certificate.dual:.8f}, {certificate.primal:.8f}]")
print(f"relative gap {certificate.relative_gap:.1e}, kind {certificate.kind!r}")

# %%
# Check
# -----
# The problem is also a linear programme, so that HiGHS can find its optimum
# independently.

n, d = X_train.shape
sign = 2.0 * y_train - 1
signed = sign[:, None] * X_train
# variables: positive and negative part of w, b, and the hinge losses t
cost = np.concatenate([np.full(2 * d, 0.01), [0.0], np.full(n, 1 / n)])
# constraints: y (x.w + b) + t >= 1
margins = np.hstack([signed, -signed, sign[:, None], np.eye(n)])
bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
optimum = linprog(
    cost, A_ub=-margins, b_ub=-np.ones(n), bounds=bounds, method="highs"
).fun
print(f"HiGHS: {optimum:.8f}")
assert certificate.dual <= optimum + 1e-9 and optimum <= certificate.primal + 1e-9

# %%
# Watch
# -----
# The history of the interval: above its length, below its two ends closing in on
# the optimum.

display = GapDisplay.from_estimator(clf, x="n_iter")
display.axes_[0].set_title("The interval closes in on the optimum")
display.axes_[1].axhline(optimum, color="black", linewidth=0.8, label="HiGHS")
display.axes_[1].set_ylim(0, 4 * optimum)
display.axes_[1].legend()
plt.show()
