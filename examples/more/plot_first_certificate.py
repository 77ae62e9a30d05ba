"""
A first certificate
===================

Every fitted model of skpd holds an interval that contains the least objective
value of any model. This example fits a support vector machine with an l1 penalty,
reads the interval, and compares it with the optimum that a solver of linear
programmes finds.
"""

# %%
# Fit
# ---
# ``alpha`` multiplies the penalty, which is added to the mean loss, as in
# scikit-learn's ``SGDClassifier``.

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
# The optimal objective value lies between ``dual`` and ``primal``. The relative
# gap is the difference of the two as a share of what any model could improve on
# the best constant prediction: it is 0 for an optimal model, and 1 where nothing
# was learnt. The solver stops where it is at most ``tol``.

certificate = clf.certificate_
print(f"the optimum lies in [{certificate.dual:.8f}, {certificate.primal:.8f}]")
print(f"relative gap {certificate.relative_gap:.1e}, kind {certificate.kind!r}")

# %%
# Check
# -----
# The problem is also a linear programme, whose optimum SciPy's HiGHS finds
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
# ``gap_history_`` holds the interval of every check on the way. Above is its
# length, below are its two ends.

display = GapDisplay.from_estimator(clf, x="n_iter")
display.axes_[0].set_title("The interval closes in on the optimum")
display.axes_[1].axhline(optimum, color="black", linewidth=0.8, label="HiGHS")
display.axes_[1].set_ylim(0, 4 * optimum)
display.axes_[1].legend()
plt.show()

# %%
# The certificate of this fit has a relative gap of 8.7e-6, and the optimum that
# HiGHS found lies in the interval.
