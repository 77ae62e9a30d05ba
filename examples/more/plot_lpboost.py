"""
Boosting with a proof
=====================

AdaBoost stops after a number of rounds that somebody has chosen. LPBoost,
:class:`skpd.LPBoostClassifier`, stops when it is proven that no mixture of
decision stumps has a better soft margin, and it says how far it is from that
on the way.
"""

# %%
# Two bounds in every round
# -------------------------
# The soft margin of the mixture rises, and the largest edge that any stump has
# at the distribution over the rows falls. They meet at the best soft margin there
# is. The dotted line is the same edge over the stumps found so far: it is at the
# lower bound in every round, and proves nothing about the others.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split

from skpd import LPBoostClassifier

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
clf = LPBoostClassifier(nu=0.1).fit(X, y)
print(clf.certificate_)
history = clf.gap_history_

fig, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
axes.plot(
    history["n_iter"], history["primal"], label="no mixture of stumps is above"
)
axes.plot(
    history["n_iter"], history["restricted_primal"], ":",
    label="no mixture of those found is above",
)  # fmt: skip
axes.plot(history["n_iter"], history["dual"], label="soft margin of the mixture")
axes.set(xlabel="round", ylabel="soft margin", title="Two bounds that meet")
axes.legend()
plt.show()

# %%
# How many stumps it takes
# ------------------------
# Some of the stumps that were found have no weight in the end. The soft margin is
# not the accuracy: here AdaBoost, with more stumps, is right more often.

ada = AdaBoostClassifier(n_estimators=200, random_state=0).fit(X, y)
print(f"{clf.n_iter_} rounds of LPBoost")
for name, model in (("LPBoost", clf), ("AdaBoost, 200 rounds", ada)):
    n_stumps = len(model.estimators_)
    print(
        f"{name:21} {n_stumps:3} stumps, {model.score(X_test, y_test):.1%} right"
    )
