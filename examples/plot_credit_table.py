"""
A credit table, from gaps and rare categories to probabilities
==============================================================

Numbers with gaps and six categories, some of whose values are rare: a group lasso
keeps a column whole or leaves it out, with everything that is made of it. The
features differ from fold to fold, and ``groups="auto"`` follows them.
"""

from pathlib import Path
from tempfile import mkdtemp

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skpd import GroupLassoSVC, PathCV, sourced

rng, n, rare = np.random.default_rng(0), 50_000, 1.0 / np.arange(1, 61) ** 1.5
X = pd.DataFrame(rng.lognormal(size=(n, 3)), columns=["income", "debt", "age"])
for name in ("job", "region", "product", "branch", "purpose", "source"):
    X[name] = rng.choice(60, n, p=rare / rare.sum()).astype("U2")
risk = (
    np.log(X["debt"] / X["income"])
    + 2.0 * X["job"].isin(["1", "17"])
    - X["age"] / 4
)
y = np.where(risk + rng.logistic(size=n) > 1.0, "late", "paid")
X = X.mask(rng.random(X.shape) < 0.05)

numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
words = OneHotEncoder(min_frequency=50, handle_unknown="infrequent_if_exist")
features = make_column_transformer(
    (numbers, make_column_selector(dtype_include="number")),
    (words, make_column_selector(dtype_exclude="number")),
)
model = make_pipeline(
    sourced(features), GroupLassoSVC(groups="auto", loss="logistic")
)
search = PathCV(model, scoring="neg_log_loss", rule="one_standard_error").fit(
    X, y
)
chosen = CalibratedClassifierCV(search.best_estimator_).fit(X, y)
joblib.dump(chosen, file := Path(mkdtemp()) / "credit.joblib")
new = X.head(3).assign(job="a new one")
print(joblib.load(file).predict_proba(new).round(3))

# %%
# What the model reads: the norm of the coefficients of each column's features.

best = search.best_estimator_[-1]
norms = pd.Series(best.coef_[0] ** 2).groupby(best.groups_).sum() ** 0.5
norms.sort_values().plot.barh(xlabel="norm of the coefficients")
plt.tight_layout()
plt.show()
