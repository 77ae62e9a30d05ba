"""
Which features are proven to be out
===================================

Features with a coefficient of 0 may be there because the model is sparse, or because the solver
stopped before it took them in. The certificate tells one from the other: ``proven_zero`` are the
coefficients that are 0 in *every* optimal model, and ``coefficient_bounds`` has an interval for
each coefficient that holds it at every optimum. Both follow from the duality gap alone.
"""

# %%
# An elastic net with the squared loss on 500 features, fitted to looser and tighter tolerances
# by a first-order method; the default would prove all of it at once.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_regression

from skpd import PdproxRegressor

X, y = make_regression(n_samples=300, n_features=500, n_informative=20, noise=20.0, random_state=0)
y = (y - y.mean()) / y.std()
tolerances = np.geomspace(1e-1, 1e-4, 7)
certificates = []
for tol in tolerances:
    model = PdproxRegressor(
        0.1, loss="squared", penalty="elasticnet", l1_ratio=0.9, solver="pdprox-dual", tol=tol
    )
    certificates.append(model.fit(X, y).certificate_)
n_zeros = [certificate.proven_zero.sum() for certificate in certificates]
n_used = np.count_nonzero(model.coef_)
print(f"{n_used} features are used, {n_zeros[-1]} are proven to be out")

# %%
# Each dot is a fit. Below the line features are proven to be 0; above it nothing says whether a
# better solver would have used them.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
gaps = [certificate.relative_gap for certificate in certificates]
left.semilogx(gaps, n_zeros, "o-")
left.axhline(X.shape[1] - n_used, color="tab:red", linestyle=":", label="zeros at the optimum")
left.invert_xaxis()
left.set(xlabel="relative gap of the fit", ylabel="features that are proven to be out",
         title="A smaller gap proves more")  # fmt: skip
left.legend()

# %%
# The intervals of the largest coefficients: whatever fits this model perfectly lies inside.

chosen = np.argsort(-np.abs(model.coef_))[:12]
for certificate, width in ((certificates[3], 6), (certificates[-1], 3)):
    low, high = certificate.coefficient_bounds[chosen].T
    label = f"relative gap {certificate.relative_gap:.0e}"
    right.vlines(np.arange(12), low, high, color=f"C{width % 5}", linewidth=width, label=label)
right.axhline(0.0, color="k", linewidth=0.8)
right.set(xlabel="feature, by the size of its coefficient", ylabel="coefficient at the optimum",
          title="Digits that are certain")  # fmt: skip
right.legend()
plt.show()
