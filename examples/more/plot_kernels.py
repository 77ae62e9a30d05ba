"""
A kernel for each feature: an additive model that leaves some out
=================================================================

Multiple kernel learning fits a function for each kernel at once. With a kernel
for each feature these are the curves of an additive model, and the sum of their
norms leaves out the features that do not matter.
"""

# %%
# Data
# ----
# The target is a wave in the first feature and a kink in the second; the others
# have no part in it. There are a few outliers.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from skpd import MKLRegressor

rng = np.random.default_rng(0)
X = rng.uniform(-2.0, 2.0, size=(150, 5))
curves = [lambda x: np.sin(3.0 * x), lambda x: 1.5 * np.abs(x)]
y = sum(curve(X[:, j]) for j, curve in enumerate(curves))
y += 0.2 * rng.normal(size=150)
y[::15] += 5.0

# %%
# Five kernels
# ------------
# Kernels of parts of the features are given as matrices, in a third dimension of
# X. The absolute loss does not mind outliers.


def kernels_between(A, B):
    columns = range(A.shape[1])
    return np.stack([rbf_kernel(A[:, [j]], B[:, [j]]) for j in columns], axis=2)


model = MKLRegressor(alpha=0.08, kernels="precomputed")
model.fit(kernels_between(X, X), y)
print("weights of the kernels:", model.kernel_weights_.round(3))
print(model.certificate_)

# %%
# The curves
# ----------
# A function is the sum of its kernel at the rows in ``support_``, with the
# weights in ``support_coef_``. Its level belongs to the intercept as well.

grid = np.linspace(-2.0, 2.0, 200)[:, np.newaxis]
fig, axes = plt.subplots(
    1, 5, figsize=(9, 2.4), layout="constrained", sharey=True
)
for j, axis in enumerate(axes):
    between = rbf_kernel(grid, X[model.support_][:, [j]])
    found = between @ model.support_coef_[j]
    truth = curves[j](grid[:, 0]) if j < len(curves) else np.zeros(len(grid))
    axis.plot(grid, truth - truth.mean(), "k--", label="truth")
    axis.plot(grid, found - found.mean(), label="found")
    axis.set_title(f"feature {j}")
axes[0].legend()
plt.show()
