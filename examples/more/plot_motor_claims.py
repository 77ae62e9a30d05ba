"""
Insurance: how many claims, and at what cost
============================================

Policies are insured for a part of a year, the exposure. The number of claims
grows with it, so that its logarithm is an offset of the model of counts. Costs
of claims have a model of their own, and the product of both is the premium.
Each category is a group of features, kept or dropped as a whole. The policies
are generated.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

from skpd import GammaPD, PathCV, PoissonPD, coef_table, track_columns

rng, n = np.random.default_rng(0), 40_000
policies = pd.DataFrame({
    "region": rng.choice(["coast", "city", "hills", "plain", "north"], n),
    "brand": rng.choice([f"brand {k}" for k in range(8)], n),
    "fuel": rng.choice(["petrol", "diesel"], n),
    "age": rng.uniform(18.0, 85.0, n),
    "power": rng.integers(4, 15, n).astype(float),
})  # fmt: skip
exposure = rng.uniform(0.1, 1.0, n)
risk = (
    policies["region"].map({"coast": 0.0, "city": 0.5, "hills": -0.2}).fillna(0.1)
)
risk += 0.06 * policies["power"] + 0.02 * np.abs(policies["age"] - 50.0) - 2.9
counts = rng.poisson(exposure * np.exp(risk))
cost = np.exp(
    6.5 + 0.1 * policies["power"] + 0.3 * (policies["fuel"] == "diesel")
)
costs = rng.gamma(1.2, cost / 1.2)  # of a claim

features = track_columns(make_column_transformer(
    (OneHotEncoder(), ["region", "brand", "fuel"]),
    (StandardScaler(), ["power"]),
    (SplineTransformer(n_knots=4, degree=2, include_bias=False), ["age"]),
    verbose_feature_names_out=False,
))  # fmt: skip
train, test = train_test_split(np.arange(n), random_state=0)

# %%
# Counts with an offset
# ---------------------
# `PathCV` passes the offset to every fit and to the predictions for policies
# that were held out. A policy of half a year with no claim says less than one
# of a year.

grouped = PoissonPD(penalty="group", groups="auto", alpha=1e-3)
frequency = PathCV(
    make_pipeline(features, grouped), alphas=15, rule="one_standard_error"
)
offset = np.log(exposure)
frequency.fit(policies.iloc[train], counts[train], offset=offset[train])
table = coef_table(frequency)
kept = table.groupby("group")["coef"].apply(lambda w: bool(np.any(w != 0)))
print("kept:", *kept.index[kept], "- left out:", *kept.index[~kept])
best = frequency.best_estimator_[-1]
print(best.certificate_)
score = frequency.score(policies.iloc[test], counts[test], offset=offset[test])
print(f"share of the deviance explained on other policies: {score:.3f}")

# %%
# Costs, and the premium
# ----------------------
# The gamma model is fitted to the claims alone, with their number as weights
# where there are several on a policy.

rows = train[counts[train] > 0]
severity = PathCV(
    make_pipeline(features, GammaPD(penalty="group", groups="auto", alpha=1e-3)),
    alphas=15,
).fit(policies.iloc[rows], costs[rows], sample_weight=counts[rows])
premium = frequency.predict(policies.iloc[test], offset[test])
premium = premium * severity.predict(policies.iloc[test])
paid = counts[test] * costs[test]

rate = premium / exposure[test]
tenth = np.digitize(rate, np.quantile(rate, np.arange(0.1, 1.0, 0.1)))
per_year = [
    [x[tenth == k].sum() / exposure[test][tenth == k].sum() for k in range(10)]
    for x in (premium, paid)
]
fig, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.plot(range(1, 11), per_year[0], "o-", label="premium")
axes.plot(range(1, 11), per_year[1], "s--", label="claims paid")
axes.set(xlabel="tenth of the policies by premium", ylabel="per year insured")
axes.set(ylim=(0, None), title="Policies that were held out")
axes.legend()
plt.show()
print(f"all premiums over all claims: {premium.sum() / paid.sum():.2f}")

# %%
# Without the offset
# ------------------
# A model of counts that ignores the exposure predicts the same number of claims
# for a month and for a year. On policies that were held out it explains less.

plain = PathCV(
    make_pipeline(
        features, PoissonPD(penalty="group", groups="auto", alpha=1e-3)
    ),
    alphas=15,
)
plain.fit(policies.iloc[train], counts[train])
print(
    f"without the exposure: {plain.score(policies.iloc[test], counts[test]):.3f}"
)
