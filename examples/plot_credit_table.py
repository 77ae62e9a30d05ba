"""
Credit: which columns of a table predict late payment
=====================================================

A table of loans has gaps, and columns of many categories. The group lasso keeps
or drops whole columns, whatever features the pipeline makes of them; ``PathCV``
chooses how many. The table is generated: four of its nine columns have an effect.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skpd import LogisticPD, PathCV, track_columns

rng, n, rare = np.random.default_rng(0), 20_000, 1.0 / np.arange(1, 61) ** 1.5
X = pd.DataFrame(rng.lognormal(size=(n, 2)), columns=["income", "debt"])
X["age"] = rng.integers(20, 70, n)
for name in ("job", "region", "product", "branch", "purpose", "channel"):
    X[name] = rng.choice(60, n, p=rare / rare.sum()).astype("U2")
risk = np.log(X["debt"] / X["income"]) - X["age"] / 20 + 2 * (X["job"] == "1")
y = np.where(risk + rng.logistic(size=n) > -1, "late", "paid")
X = X.mask(rng.random(X.shape) < 0.05)  # gaps
numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
words = OneHotEncoder(min_frequency=50, handle_unknown="infrequent_if_exist")
numeric = make_column_selector(dtype_include="number")
features = make_column_transformer((numbers, numeric), remainder=words)
logistic = LogisticPD(penalty="group", groups="auto")
model = make_pipeline(track_columns(features), logistic)
search = PathCV(model, scoring="neg_log_loss", rule="one_standard_error")
best = search.fit(X, y).best_estimator_[-1]
size = pd.Series(best.coef_[0] ** 2).groupby(best.groups_).sum() ** 0.5
title = f"{(size > 0).sum()} of 9 columns are kept"
size.sort_values().plot.barh(title=title, xlabel="norm of the coefficients")
plt.tight_layout()
plt.show()

# %%
# Rare categories are pooled, so that the features differ from fold to fold, and
# ``groups="auto"`` follows them. The penalty draws probabilities towards the
# mean, which ``CalibratedClassifierCV`` mends. The calibrated pipeline can be
# stored, and given a job that it has never seen: below are the probabilities that
# each of three loans is late, and that it is paid.

import pickle

from sklearn.calibration import CalibratedClassifierCV

print(best.certificate_)
proven = pd.Series(best.certificate_.proven_zero).groupby(best.groups_).all()
print("columns proven to be 0:", ", ".join(proven.index[proven]))
calibrated = CalibratedClassifierCV(search.best_estimator_).fit(X, y)
stored = pickle.dumps(calibrated)
new = X.head(3).assign(job="a new one")
print(pickle.loads(stored).predict_proba(new).round(2))

# %%
# The four columns with an effect were kept. The certificate proves that every
# feature of the five others is 0 in all optimal models for this ``alpha``.
