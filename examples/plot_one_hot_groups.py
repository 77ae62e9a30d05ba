"""
Select categories whole: groups by name
=======================================

A one-hot encoder makes several columns of one category, and the l1 norm picks
among them as if they had nothing to do with each other: of twelve months it may
keep May. With a group lasso a category is in the model or not.
:func:`skpd.groups_from` reads the groups from the fitted transformer, each by the
name of its column.
"""

# %%
# Data
# ----
# Customers who stay or leave: generated here, so that we know that it depends on
# the plan, the month and the age, and on nothing else.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skpd import GroupLassoSVC, PathCV, PdproxSVC, groups_from

rng = np.random.default_rng(0)
n = 3000
months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun"]
months += ["Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
X = pd.DataFrame(
    {
        "plan": rng.choice(["free", "basic", "team", "firm"], n),
        "month": rng.choice(months, n),
        "weekday": rng.choice(weekdays, n),
        "region": rng.choice(["N", "NE", "E", "SE", "S", "SW", "W", "NW"], n),
        "device": rng.choice(
            ["phone", "tablet", "laptop", "desktop", "other"], n
        ),
        "age": rng.uniform(18.0, 80.0, n),
        "visits": rng.poisson(3.0, n),
    }
)
season = 0.9 * np.cos(2 * np.pi * np.arange(12) / 12)
score = X["plan"].map({"free": -1.0, "basic": 0.0, "team": 0.4, "firm": 0.8})
score = score + X["month"].map(dict(zip(months, season, strict=True)))
score = score + 0.8 * (X["age"] - 49.0) / 18.0
y = np.where(score + rng.logistic(size=n) > 0, "stays", "leaves")
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=800, random_state=0
)

# %%
# Groups
# ------
# ``groups_from`` gives one label for each column that the transformer makes. The
# label is the column that it was made from: here seven groups for 38 columns.

categories = ["plan", "month", "weekday", "region", "device"]
transformer = make_column_transformer(
    (OneHotEncoder(), categories), (StandardScaler(), ["age", "visits"])
)
groups = groups_from(transformer.fit(X_train))
print(*(f"{name}: {np.sum(groups == name)} columns" for name in X), sep="\n")

# %%
# Two penalties
# -------------
# ``alpha`` is chosen for both in the same way, with the logistic loss: the
# largest one whose log loss on five folds is within one standard error of the
# best.

models = {
    "l1 norm": PdproxSVC(loss="logistic"),
    "group lasso": GroupLassoSVC(groups=groups, loss="logistic"),
}
settings = {"alphas": 15, "eps": 3e-2, "scoring": "neg_log_loss"}
coefs = {}
for name, classifier in models.items():
    search = PathCV(
        make_pipeline(transformer, classifier),
        rule="one_standard_error",
        **settings,
    ).fit(X_train, y_train)
    coefs[name] = search.best_estimator_[-1].coef_[0]
    kept = [c for c in X if np.any(coefs[name][groups == c])]
    print(
        f"{name}: {np.count_nonzero(coefs[name])} of {len(groups)} columns, "
        f"from {', '.join(kept)}"
    )
    print(
        f"  log loss {-search.score(X_test, y_test):.3f} on {len(y_test)} others"
    )

# %%
# Each dot is the coefficient of a column that the transformer makes, in the row
# of the column that it was made from. The l1 norm reads two categories more than
# the group lasso, for one of their values each. The group lasso keeps a category
# whole or leaves it out whole; the device, which has no part in y, it keeps by
# chance, as the l1 norm does.

fig, axes = plt.subplots(
    1, 2, figsize=(8, 4), layout="constrained", sharex=True, sharey=True
)
truth = {"plan", "month", "age"}
for axis, (name, coef) in zip(axes, coefs.items(), strict=True):
    axis.axvline(0, color="black", lw=0.8)
    for row, column in enumerate(X):
        own = coef[groups == column]
        for chosen, style in ((own != 0, "o"), (own == 0, "x")):
            colour = "C0" if column in truth else "C3"
            axis.plot(
                own[chosen],
                np.full(chosen.sum(), row),
                style,
                color=colour,
                alpha=0.7,
            )
    used = sum(bool(np.any(coef[groups == column])) for column in X)
    axis.set(
        title=f"{name}: reads {used} of {X.shape[1]}",
        xlabel="coefficient (log odds)",
    )
    axis.set_yticks(range(X.shape[1]), X)
axes[0].invert_yaxis()
axes[1].plot([], [], "C0o", label="has a part in y")
axes[1].plot([], [], "C3o", label="has none")
axes[1].plot([], [], "x", color="gray", label="exactly 0")
fig.legend(loc="outside lower center", ncols=3)
plt.show()
