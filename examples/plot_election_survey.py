"""
Elections: which answers of a survey tell how people vote
=========================================================

In 1996 the American National Election Studies asked 944 people whether they would
vote for Clinton or for Dole, and nine other questions. The group lasso keeps or
drops a question as a whole, with all of its answers. The survey comes with
statsmodels, as ``statsmodels.api.datasets.anes96``.
"""

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm

data = sm.datasets.anes96.load_pandas().data
vote = np.where(data["vote"] == 1, "Dole", "Clinton")
columns = {
    "PID": "party",
    "selfLR": "own views",
    "ClinLR": "views of Clinton",
    "DoleLR": "views of Dole",
    "educ": "education",
    "income": "income",
    "TVnews": "days with TV news",
    "age": "age",
    "logpopul": "size of the town",
}
survey = data[list(columns)].rename(columns=columns)
numbers = ["age", "size of the town"]
answers = [name for name in survey if name not in numbers]
survey[answers] = survey[answers].astype(int)

dole = 100 * data["vote"].groupby(survey["party"]).mean()
dole.plot.bar(figsize=(6.4, 3.2), rot=0, title="The party tells most of the vote")
plt.xlabel("party, from 0 (strong Democrat) to 6 (strong Republican)")
plt.ylabel("would vote for Dole (%)")
plt.tight_layout()
plt.show()

# %%
# From answers to features
# ------------------------
# Each answer to a question is a feature of its own, as nothing says that the step
# from one answer to the next is always as large. Answers that fewer than 20
# people gave are put together. ``track_columns`` keeps in mind which question
# each feature comes from.

from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skpd import track_columns

encoder = OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist")
features = track_columns(
    make_column_transformer((encoder, answers), (StandardScaler(), numbers))
)
X, X_test, y, y_test = train_test_split(
    survey, vote, test_size=0.5, stratify=vote, random_state=0
)
print(
    f"{features.fit_transform(X).shape[1]} features of {len(columns)} questions"
)

# %%
# How many questions are needed?
# ------------------------------
# ``groups="auto"`` makes the features of a question one group. ``PathCV`` fits
# the model for many values of ``alpha`` and takes the largest one whose
# cross-validated log loss is within one standard error of the best.

from sklearn.pipeline import make_pipeline

from skpd import LogisticPD, PathCV, coef_table

model = make_pipeline(features, LogisticPD(penalty="group", groups="auto"))
search = PathCV(
    model, scoring="neg_log_loss", rule="one_standard_error", alphas=30
)
search.fit(X, y)
table = coef_table(search).drop(index="intercept")
size = table.groupby("group")["coef"].apply(np.linalg.norm).sort_values()
size.plot.barh(figsize=(6.4, 3.2), xlabel="norm of the coefficients", ylabel="")
plt.title(f"{np.sum(size > 0)} of {len(columns)} questions are kept")
plt.tight_layout()
plt.show()

# %%
# Are the others really superfluous?
# ----------------------------------
# A solver that stops early may have coefficients of 0 that are not 0 at the
# optimum. The certificate tells which questions no optimal model uses, for this
# ``alpha`` and these people.

logistic = search.best_estimator_[-1]
print(logistic.certificate_)
proven = table.assign(zero=logistic.certificate_.proven_zero)
proven = proven.groupby("group")["zero"].all()
print("proven to be 0:", ", ".join(proven.index[proven]))

# %%
# Votes of other people
# ---------------------
# Half of the people were held out. On them the model is compared with logistic
# regression on all questions, and with logistic regression on the party alone.

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

party = make_column_transformer((encoder, ["party"]))
models = {
    "group lasso": search,
    "all questions": make_pipeline(features, LogisticRegression()),
    "party alone": make_pipeline(party, LogisticRegression()),
}
for name, fitted in models.items():
    probability = fitted.fit(X, y).predict_proba(X_test)
    correct = np.mean(fitted.classes_[probability.argmax(axis=1)] == y_test)
    print(f"{name}: {100 * correct:.1f} % of the votes, ", end="")
    print(f"log loss {log_loss(y_test, probability):.3f}")

# %%
# The questions that are kept predict about as well as all nine, and better than
# the party alone.
#
# What the answers say
# --------------------
# A positive coefficient speaks for Dole. Views go from 1 (extremely liberal) to 7
# (extremely conservative). The model was not told that answers have an order; it
# finds one, and also that to see Clinton far to the left speaks for Dole.

fig, axes = plt.subplots(
    1, 3, figsize=(9, 3.2), sharey=True, layout="constrained"
)
questions = ["party", "own views", "views of Clinton"]
for axis, question in zip(axes, questions, strict=True):
    rows = table[table["group"] == question]
    names = rows.index.str.replace("infrequent_sklearn", "others")
    axis.bar(names.str.split("_").str[-1], rows["coef"])
    axis.axhline(0, color="black", lw=0.8)
    axis.set_title(question)
axes[0].set_ylabel("coefficient")
plt.show()
