r"""
Data on disk: how many of the rows are enough?
==============================================

Data that does not fit in memory is read in blocks of rows.
:class:`skpd.RowBlocks` takes files of NumPy, SciPy and Parquet, and mapped
arrays, and estimators take it in place of X. This example fits a model to all
rows of four generated files, and uses its lower bound to measure what models of
fewer rows lose.
"""

# %%
# Files
# -----
# There are four files with 45,000 samples each. A label depends on ten of 100
# features and on noise.

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from skpd import PdproxSVC, RowBlocks

rng = np.random.default_rng(0)
folder = TemporaryDirectory()
w = np.where(np.arange(100) < 10, rng.choice([-1.0, 1.0], 100), 0.0)
labels = []
for k in range(4):
    block = rng.standard_normal((45_000, 100), dtype=np.float32)
    np.save(Path(folder.name) / f"{k}.npy", block)
    labels.append(block @ w + 3.0 * rng.standard_normal(45_000) > 0.0)
y = np.concatenate(labels)

# %%
# A fit to all rows
# -----------------
# In memory at a time are two blocks, vectors as long as there are rows, and the
# rows that the solver goes on with.

X = RowBlocks(sorted(Path(folder.name).glob("*.npy")))
print(X)

whole = PdproxSVC(alpha=0.01, tol=1e-6).fit(X, y)
print(whole.certificate_)

# %%
# These files do fit in memory, so that the model can be compared with that of the
# whole array. The two are equal up to rounding.

in_memory = PdproxSVC(alpha=0.01, tol=1e-6).fit(X.gathered(), y)
difference = np.abs(whole.coef_ - in_memory.coef_).max()
print(f"largest difference of a coefficient: {difference:.0e}")

# %%
# Fits to some of the rows
# ------------------------
# The objective of a model on all rows takes one reading of the files. No model
# has an objective below the lower bound of the fit to all rows, so that the
# difference of the two is the most that a model of fewer rows can lose.


def objective(model):
    """The mean hinge loss on all rows plus the penalty."""
    margins = np.where(y, 1.0, -1.0) * model.decision_function(X)
    hinge = np.maximum(1.0 - margins, 0.0).mean()
    return hinge + model.alpha * np.abs(model.coef_).sum()


best, sizes, losses = whole.certificate_.dual, [], []
for share in (0.003, 0.01, 0.03, 0.1, 0.3):
    some = np.sort(rng.permutation(len(y))[: int(share * len(y))])
    model = PdproxSVC(alpha=0.01).fit(X.rows(some), y[some])
    sizes.append(len(some))
    losses.append(100 * (objective(model) - best) / best)
    print(f"{len(some):6d} rows: at most {losses[-1]:.3f} % above the optimum")

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.loglog(sizes, losses, "o-", label="fitted to some of the rows")
ax.axhline(
    100 * whole.certificate_.gap / best,
    color="C1",
    label="fitted to all rows, tol=1e-6",
)
ax.set(xlabel="rows", ylabel="% above the optimum, at most")
ax.set_title("Objective on all rows")
ax.legend()
plt.show()

folder.cleanup()

# %%
# A model of 18,000 of the 180,000 rows is at most 0.13 % above the optimum of all
# rows, and a model of 540 rows at most 25 %. The fit to the files and the fit to
# the array have the same coefficients.
