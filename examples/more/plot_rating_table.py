"""
Insurance: a rating table with an age curve
===========================================

A life insurer counts deaths over the years that people are insured. The rate
rises with age, along a curve that no penalty should flatten. It also differs
between many classes of risk, by less than their few deaths suggest, which is
what a penalty is for. In the end the office wants a table of factors.

The data are 7,874 inhabitants of Olmsted County in Minnesota from 50 years on,
in a study of blood proteins: ``sksurv.datasets.load_flchain`` of
scikit-survival. They are not an insurer's, but have the same form: 2,169 deaths
in 78,924 years. The class of a person is the tenth of the population by the
amount of a protein; the regions of a tariff would stand in its place. Two
thousand people are the portfolio, the others tell how good the table is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sksurv.datasets import load_flchain

people, seen = load_flchain()
people["protein"] = people["flc.grp"].astype(int)
exposure = np.maximum(seen["futime"], 1.0) / 365.25
own, others = np.split(np.random.default_rng(1).permutation(7874), [2000])

# %%
# A free curve and penalised classes
# ----------------------------------
# Age at entry becomes splines. Of sex, class and year of entry the encoder drops
# a base level, which the factors of the others refer to. The ``penalty_weights``
# take age and sex out of the penalty by their names, and `PathCV` chooses its
# weight for the rest. The exposure of a person is the number of years.

from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from skpd import PathCV, PoissonPD, coef_table, track_columns

columns = make_column_transformer(
    (SplineTransformer(4, knots="quantile", include_bias=False), ["age"]),
    (OneHotEncoder(drop=["F", 5, "1996"]), ["sex", "protein", "sample.yr"]),
    verbose_feature_names_out=False,
)
counts = PoissonPD(penalty_weights={"age_*": 0, "sex_*": 0})
model = make_pipeline(track_columns(columns), counts)
search = PathCV(model, alphas=10, eps=1e-3)
search.fit(people.iloc[own], seen["death"][own], exposure=exposure[own])
print(search.best_estimator_[-1].certificate_)

# %%
# The table
# ---------
# ``link="exp"`` adds the relativities to the coefficients; base levels have 1.
# Age has a table of its own, relative to 65 years. With the name of a file,
# ``to_csv`` exports them to the system that quotes premiums.

factors = coef_table(search, link="exp").filter(regex="^(sex|prot|samp)", axis=0)
print(factors["exp(coef)"].round(2).to_csv())
ages = people.iloc[[0] * 9].assign(age=range(55, 100, 5))
curve = pd.Series(search.predict(ages), ages["age"])
print((curve / curve[65]).round(2).to_csv(header=["relativity"]))

# %%
# The last class has almost twice the deaths of the middle one at the same age, as
# the protein foretells. Years of entry differ less, once they are penalised.
#
# On other people
# ---------------
# Gini: twice the area between the diagonal and the share of all deaths that is
# among those with the lowest rates. Lift: the deaths in each tenth of the people
# by predicted rate. Rates with exposures as weights have the deviance of counts.

from sklearn.metrics import auc, d2_tweedie_score

rate, died = search.predict(people.iloc[others]), seen["death"][others]
years, order = exposure[others], np.argsort(rate)
share = np.cumsum([years[order], died[order]], axis=1)
explained = d2_tweedie_score(died / years, rate, sample_weight=years, power=1)
print(f"Gini {1 - 2 * auc(*(share.T / share[:, -1]).T):.2f}, D2 {explained:.2f}")

lift = pd.DataFrame({"observed": died, "predicted": rate * years})
lift = lift.groupby(pd.qcut(rate, 10, labels=False) + 1).sum()
fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
curve.plot(ax=axes[0], logy=True, marker="o", title="Deaths in a year")
lift.plot(ax=axes[1], marker="o", title="Deaths in tenths by predicted rate")
plt.show()
