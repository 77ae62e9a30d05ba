r"""
Rows on several workers: is the average of models good enough?
==============================================================

Where the workers of a cluster hold the rows, models are often fitted to the rows
of each worker and then averaged. This example uses :func:`skpd.dask.certify` to
measure how far such an average is from the best model of all rows, and
:class:`skpd.dask.PdproxSVC` to fit that model.
"""

# %%
# Rows on workers
# ---------------
# A cluster of threads of this process shows how it works. The workers generate
# eight chunks of 5,000 rows; a label depends on ten of 100 features and on noise.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

import skpd.dask
from skpd import PdproxSVC

client = Client(processes=False, n_workers=2, dashboard_address=None)
rng = da.random.default_rng(0)
X = rng.normal(size=(40_000, 100), chunks=(5_000, 100)).persist()
w = np.where(np.arange(100) < 10, (-1.0) ** np.arange(100), 0.0)
noise = rng.normal(scale=3.0, size=40_000, chunks=5_000)
y = (X @ w + noise > 0.0).astype(int).persist()

# %%
# Averages of models
# ------------------
# A model is fitted to each chunk, and the first one, two, four and eight are
# averaged. An average is a linear model, and can be certified for the objective
# on all rows.

alpha = 0.003
models = []
for k in range(8):
    rows = X.blocks[k].compute(), y.blocks[k].compute()
    models.append(PdproxSVC(alpha).fit(*rows))

average = PdproxSVC(alpha).fit(*rows)
counts, gaps = [1, 2, 4, 8], []
for count in counts:
    some = models[:count]
    average.coef_ = np.mean([model.coef_ for model in some], axis=0)
    average.intercept_ = np.mean([model.intercept_ for model in some], axis=0)
    certificate = skpd.dask.certify(average, X, y)
    gaps.append(certificate.relative_gap)
    n_zero = np.count_nonzero(average.coef_ == 0.0)
    print(f"{count} models: relative gap {gaps[-1]:.4f}, {n_zero} zeros")

# %%
# The model of all rows
# ---------------------
# The chunks stay where they are, and only vectors as long as the coefficients are
# sent. The certificate equals that of a fit to all rows in memory.

model = skpd.dask.PdproxSVC(alpha, tol=1e-6).fit(X, y)
n_zero = np.count_nonzero(model.coef_ == 0.0)
print(model.certificate_)
print(f"{n_zero} coefficients are 0; {model.communication_.n_rounds} rounds")

# %%
# An average has a coefficient of 0 only where all of its models have one, so that
# averages are not sparse.

fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(counts, gaps, "o-", label="average of models of chunks")
ax.axhline(model.relative_gap_, color="C1", label="fit to all rows")
ax.set(
    xscale="log", yscale="log", xlabel="models in the average",
    ylabel="relative gap", xticks=counts, xticklabels=counts,
)  # fmt: skip
ax.minorticks_off()
ax.legend()
plt.show()

client.close()

# %%
# The average of eight models has a relative gap of 2e-3 and no coefficient of 0.
# The model of all rows has a relative gap of 5e-7, and 55 of its 100 coefficients
# are 0.
