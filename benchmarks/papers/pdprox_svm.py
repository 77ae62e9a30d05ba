"""The tables of Yang et al. on the SVM with a squared l2 norm."""

import numpy as np

from benchmarks.papers import Table
from benchmarks.papers.data import named
from benchmarks.papers.pdprox_excess import AFTER, HEADER, RATIOS, excess
from skpd import PdproxSVC


def pegasos(X, y, lam, epochs, rng):
    """Stochastic subgradients with steps 1 / (lam t), and the projection of the paper."""
    n, d = X.shape
    dense, w, t = X.toarray() * y[:, None], np.zeros(d), 0
    for _ in range(epochs):
        for i in rng.integers(n, size=n):
            t += 1
            w *= 1.0 - 1.0 / t
            if dense[i] @ w < 1.0:
                w += dense[i] / (lam * t)
            w *= min(1.0, 1.0 / (np.sqrt(lam) * max(np.linalg.norm(w), 1e-300)))
        yield w


def figure_8():
    """The SVM with a squared l2 norm: one step size, two, the accelerated variant, and Pegasos."""
    label, X, y = named("a1a")
    n, rows = len(y), []
    for power in (0.5, 0.8, 1.0):
        lam = n**-power
        shared = {"alpha": lam, "penalty": "l2"}
        best = PdproxSVC(fit_intercept=False, tol=1e-9, **shared).fit(X, y).certificate_.dual

        def after(options, best=best, shared=shared):
            return [
                excess(X, y, best, k, solver="pdprox-dual", solver_options=options, **shared)
                for k in AFTER
            ]

        plain = {"algorithm": 3, "average": False}
        found = {"one step": after(plain)}
        by_ratio = {ratio: after({**plain, "step_ratio": ratio}) for ratio in RATIOS}
        ratio = min(by_ratio, key=lambda r, table=by_ratio: table[r][1])
        found[f"two steps, sigma / tau = {ratio:g}"] = by_ratio[ratio]
        accelerated = {**plain, "accelerated": True, "step_ratio": ratio}
        found["accelerated, the same steps"] = after(accelerated)
        seen = []
        for epoch, w in enumerate(pegasos(X, y, lam, AFTER[1], np.random.default_rng(0)), 1):
            if epoch in AFTER:
                loss = np.mean(np.maximum(1.0 - y * (X @ w), 0.0))
                seen.append(loss + 0.5 * lam * float(w @ w) - best)
        found["Pegasos, epochs"] = seen
        for method, values in found.items():
            cells = [f"{value:.1e}" for value in values]
            rows.append([label, f"n^-{power:g}", method, *cells, *["-"] * (3 - len(cells))])
    note = (
        "The paper, on covtype, reads 7e-2 to 1e-1 after 150 iterations with one step and 4e-3 to "
        "5e-3 with two. The two steps are the best after 150 iterations of the ratios that the "
        "paper tried; the product of the one step with itself is half of the largest allowed."
    )
    return Table(HEADER, rows, note)
