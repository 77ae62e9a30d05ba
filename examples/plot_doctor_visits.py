"""
Health insurance: how often people see a doctor
===============================================

From 1974 on the RAND Health Insurance Experiment gave families insurance plans by
lot. Care was free in one plan; in the others people paid a share of their bills,
or most of them up to a deductible. The visits of a year are counts, whose mean a
Poisson model predicts. The data comes with statsmodels, as
``statsmodels.api.datasets.randhie``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm

data = sm.datasets.randhie.load_pandas().data
visits = data["mdvis"]
share = np.round(np.exp(data["lncoins"]) - 1).astype(int).astype(str) + " %"
health = data[["hlthg", "hlthf", "hlthp"]].to_numpy(int) @ [1, 2, 3]
people = pd.DataFrame({
    "plan": np.where(data["idp"] == 1, "deductible", share),
    "health": np.array(["excellent", "good", "fair", "poor"])[health],
    "limitation": np.where(data["physlm"] > 0, "yes", "no"),
    "chronic diseases": data["disea"],
})  # fmt: skip

observed = visits.groupby(people["plan"]).mean().sort_values(ascending=False)
observed.plot.bar(figsize=(6.4, 3.2), rot=0, title="Visits to a doctor in a year")
plt.xlabel("share of the bill that people pay, or deductible")
plt.tight_layout()
plt.show()

# %%
# With free care people go most often, and with 95 % of the bill to pay least
# often. As plans were given by lot, this is what the price does.
#
# A model of the mean
# -------------------
# Each column becomes several features: an indicator for each level, and a smooth
# curve for the index of chronic diseases. The group lasso keeps or drops a column
# as a whole, and ``PathCV`` chooses ``alpha``. Half of the rows are held out; a
# row is a year of a person, and other years of a person may be in the other half.

from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from skpd import PathCV, PoissonPD, track_columns

curve = SplineTransformer(4, degree=2, knots="quantile", extrapolation="linear")
features = track_columns(
    make_column_transformer(
        (OneHotEncoder(), ["plan", "health", "limitation"]),
        (curve, ["chronic diseases"]),
    )
)
model = make_pipeline(features, PoissonPD(penalty="group", groups="auto"))
X, X_test, y, y_test = train_test_split(
    people, visits, test_size=0.5, random_state=0
)
search = PathCV(model, alphas=12, cv=3).fit(X, y)
print(f"deviance explained: {100 * search.score(X_test, y_test):.1f} %")

# %%
# What no model of this kind knows
# --------------------------------
# Of the deviance on the rows held out little is explained. Is the solver to
# blame? The certificate says no: at this ``alpha`` no model of this kind has a
# noticeably better objective. Who will fall ill is not written in these columns.

print(search.best_estimator_[-1].certificate_)

# %%
# What the model knows
# --------------------
# The mean of many people is another matter. The rows held out are sorted by their
# predicted number of visits, in tenths, and compared with what people did.

predicted = search.predict(X_test)
tenth = pd.qcut(predicted, 10, labels=range(1, 11))
means = pd.DataFrame({"predicted": predicted, "observed": y_test})
means = means.groupby(tenth, observed=True).mean()
fig, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.plot(means, "o-", label=list(means))
axes.set(
    xlabel="tenth of the rows by predicted visits", ylabel="visits in a year"
)
axes.set(ylim=(0, None), xticks=range(1, 11), title="Rows that were held out")
axes.legend()
plt.show()

# %%
# If everybody had the same plan
# ------------------------------
# The model can answer what nobody observed: the mean number of visits if all
# people had one plan. As plans were given by lot, the observed mean of a plan is
# an estimate of the same number that needs no model.

for plan, mean in observed.items():
    everybody = search.predict(people.assign(plan=plan)).mean()
    print(f"{plan}: {mean:.2f} observed, {everybody:.2f} if everybody had it")

# %%
# With 95 % of the bill to pay people see a doctor about 40 % less often than with
# free care, by both numbers.
