"""How large a file with a model is, and what makes it smaller."""

import pickle
from dataclasses import replace
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from skpd import LogisticPD


@cache
def measured():
    """Bytes of the pickles of a sparse model of 20,000 rows with 5,000 features."""
    rng = np.random.default_rng(0)
    X = sp.random_array((20_000, 5000), density=0.01, rng=rng, format="csr")
    coef = np.append(5.0 * rng.normal(size=50), np.zeros(4950))
    y = X @ coef + 0.3 * rng.normal(size=20_000) > 0.0
    model = LogisticPD(alpha=1e-3, penalty="l1").fit(X, y)
    used = np.flatnonzero(model.coef_)
    numbers = used, model.coef_[0, used], model.intercept_
    sizes = {"as fitted": len(pickle.dumps(model))}
    sizes["drop_dual_coef()"] = len(pickle.dumps(model.drop_dual_coef()))
    sizes["and sparsify()"] = len(pickle.dumps(model.sparsify()))
    model.certificate_ = replace(model.certificate_, implied_bounds=None)
    sizes["and no implied_bounds"] = len(pickle.dumps(model))
    sizes["the numbers alone"] = len(pickle.dumps(numbers))
    return sizes


def draw(palette):
    """A bar for each step, on a logarithmic axis."""
    sizes = measured()
    figure, axes = plt.subplots(figsize=(6.4, 2.7), layout="constrained")
    kilobytes = np.array(list(sizes.values())) / 1000.0
    axes.barh(list(sizes), kilobytes, color=palette.lower)
    for place, size in enumerate(kilobytes):
        axes.text(1.08 * size, place, f"{size:.3g} kB", va="center", color=palette.text)
    axes.set(xscale="log", xlim=(0.3, 2000.0), xlabel="size of the pickle (kB)")
    axes.invert_yaxis()
    return figure
