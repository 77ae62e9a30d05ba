"""
Survival: genes in groups, and patients still alive
===================================================

Times until an event are known for some patients; of the others only that it had
not happened when they were last seen. `CoxPD` takes both. Expression of 2,000
genes in 400 patients, generated, where two of 50 pathways change the hazard;
the group lasso keeps or drops a pathway as a whole.
"""

import matplotlib.pyplot as plt
import numpy as np

from skpd import CoxPD, PathCV

rng, n, pathway = np.random.default_rng(0), 1200, np.arange(2000) // 40
activity = rng.normal(size=(n, 50))
X = 0.6 * activity[:, pathway] + rng.normal(size=(n, 2000))
hazard = np.exp(0.8 * activity[:, 7] - 0.8 * activity[:, 31])
event_time = rng.weibull(1.4, n) * hazard ** (-1.0 / 1.4)
last_seen = rng.uniform(0.1, 2.5, n)
y = np.column_stack([np.minimum(event_time, last_seen), event_time <= last_seen])
X, X_test, y, y_test = X[:400], X[400:], y[:400], y[400:]
print(f"{y[:, 1].mean():.0%} of the patients had the event")

# %%
# The path of the group lasso
# ---------------------------
# `PathCV` chooses alpha by the concordance on patients held out: the share of
# pairs of which the patient with the earlier event has the larger predicted
# hazard.

model = CoxPD(penalty="group", groups=pathway, tol=1e-4)
search = PathCV(model, alphas=8, eps=0.3).fit(X, y)
best = search.best_estimator_
norms = np.linalg.norm(best.coef_.reshape(50, 40), axis=1)
proven = best.certificate_.proven_zero.reshape(50, 40).all(axis=1)
print("pathways in the model:", *np.flatnonzero(norms))
print(f"{proven.sum()} pathways are proven to be in no optimal model")
print(f"concordance on other patients: {search.score(X_test, y_test):.2f}")
lasso = PathCV(CoxPD(tol=1e-4), alphas=8, eps=0.3, rule="one_standard_error").fit(
    X, y
)
print(f"with the l1 norm of single genes: {lasso.score(X_test, y_test):.2f}")

# %%
# Predicted and observed survival
# -------------------------------
# Other patients in thirds by their predicted hazard: the mean of the predicted
# curves beside the Kaplan-Meier estimate, which uses the times alone.


def kaplan_meier(time, event, at):
    order = np.argsort(time)
    time, event = time[order], event[order]
    alive = np.cumprod(1.0 - event / np.arange(len(time), 0, -1))
    return np.append(1.0, alive)[np.searchsorted(time, at, side="right")]


times = np.linspace(0.0, 2.0, 100)
risk = best.predict(X_test)
third = np.digitize(risk, np.quantile(risk, [1 / 3, 2 / 3]))
fig, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
for k, name in enumerate(("low", "middle", "high")):
    rows = third == k
    curves = best.predict_survival_function(X_test[rows], times)
    axes.plot(
        times, curves.mean(axis=0), color=f"C{k}", label=f"{name}, predicted"
    )
    observed = kaplan_meier(y_test[rows, 0], y_test[rows, 1], times)
    axes.step(
        times,
        observed,
        "--",
        color=f"C{k}",
        where="post",
        label=f"{name}, observed",
    )
axes.set(xlabel="time", ylabel="share without the event", ylim=(0, 1))
fig.legend(
    title="predicted hazard",
    ncols=3,
    fontsize="small",
    loc="outside upper center",
)
plt.show()

# %%
# The group lasso shrinks large coefficients too, so that predicted curves are
# closer to each other than observed ones. The certificate says how far the
# objective is from the best there is, on these patients; what it cannot say is
# how the model does on others, which is what the patients held out are for.

print(best.certificate_)
