"""Time and memory of five estimators as rows and features grow, and the slopes of both.

Generated rows have ten entries each. First the rows grow, for 2,000 features, then the features,
for 100,000 rows. Fits are to the default tolerances at a third of the largest alpha of interest,
that of the robust SVM at a tenth, with an intercept. Times are those of the processor, the least
of three fits or of those that ten seconds hold. Memory is the largest that a fit takes beside X,
in vectors of eight bytes for each row. A slope is that of a line through the logarithms.
"""

import json
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.blocks import Peak
from benchmarks.helpers.publish import machine
from benchmarks.helpers.worker import in_own_process

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
FEATURES = (1_000, 10_000, 100_000, 1_000_000)
FEW_FEATURES, FEW_ROWS = 2_000, 100_000
ENTRIES = 10  # of a row
SKEW = 4.0  # the k-th of m features is drawn with a probability of (k / m)^(1 / SKEW) up to it
FREQUENT = 100  # features of each tenth on which the response may depend
ENOUGH = 10.0  # seconds of all fits of a cell
NAMES = ("PdproxSVC", "GroupLassoSVC", "DRSVMClassifier", "ElasticNetPD", "LassoPDCertified")
SHARES = {"DRSVMClassifier": 0.1}  # of the largest alpha; a third elsewhere
GROUP = 5  # consecutive features
OPTIONS = {"GroupLassoSVC": {"groups": GROUP}, "DRSVMClassifier": {"kappa": 1.0}}


def rows_of(n, d, seed=0):
    """X and a response; each tenth of the features has one entry in every row.

    The features of a tenth are less and less frequent, as words are, and the response depends on
    some of the more frequent ones.
    """
    rng = np.random.default_rng(seed)
    width = d // ENTRIES
    columns = (width * rng.random((n, ENTRIES), dtype=np.float32) ** SKEW).astype(np.int32)
    columns = np.minimum(columns, width - 1) + width * np.arange(ENTRIES, dtype=np.int32)
    ends = np.arange(0, ENTRIES * n + 1, ENTRIES, dtype=np.int32)
    entries = rng.standard_normal(ENTRIES * n)
    X = sp.csr_array((entries, columns.ravel(), ends), shape=(n, d))
    coef = rng.standard_normal(d) * (rng.random(d) < 0.1) * (np.arange(d) % width < FREQUENT)
    z = X @ coef
    return X, z + 0.3 * z.std() * rng.standard_normal(n)


def measured(name, n, d):
    """(seconds, vectors of the rows, whether the fit converged)."""
    import skpd

    X, y = rows_of(n, d)
    model = getattr(skpd, name)(**OPTIONS.get(name, {}))
    if name not in ("ElasticNetPD", "LassoPDCertified"):
        y = np.where(y > 0.0, 1, 0)
    problem = model._problems(X, y, None)[2][0]
    parameter = "epsilon" if name == "DRSVMClassifier" else "alpha"
    model.set_params(**{parameter: SHARES.get(name, 1.0 / 3.0) * problem.largest_alpha})
    del problem
    seconds, vectors = [], []
    while not seconds or (len(seconds) < 3 and sum(seconds) < ENOUGH):
        start = time.process_time()
        with warnings.catch_warnings(), Peak() as peak:
            warnings.simplefilter("ignore")
            model.fit(X, y)
        seconds.append(time.process_time() - start)
        vectors.append(peak.grown / (8.0 * n))
    return min(seconds), max(*vectors, 0.0), bool(model.converged_)


def slope(sizes, seconds):
    """The slope of a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


OPTIONS = {
    "--most": (1e7, "rows"),
    "--publish": {"type": Path, "metavar": "FILE", "help": "also write the figure's data"},
}


def main(options):
    grown = [n for n in ROWS if n <= options.most]
    parts = {
        "rows": [(n, FEW_FEATURES) for n in grown],
        "features": [(FEW_ROWS, d) for d in FEATURES],
    }
    found, worst, most = {}, 0.0, 0.0
    for part, sizes in parts.items():
        along = [size[part == "features"] for size in sizes]
        print(f"| {part} | " + " | ".join(f"{size:,}" for size in along) + " | slope |")
        print("| --- |" + " --- |" * (len(sizes) + 1))
        found[part] = {"sizes": along, "seconds": {}, "vectors": {}}
        for name in NAMES:
            cells = [in_own_process(measured, name, *size) for size in sizes]
            seconds, vectors, fine = zip(*cells, strict=True)
            found[part]["seconds"][name], found[part]["vectors"][name] = seconds, vectors
            worst = max(worst, slope(along, seconds))
            if part == "rows":  # of few rows, a vector is less than what an interpreter takes
                most = max([most, *vectors[1:]])
            texts = [
                f"{took:.2g} s, {vector:.0f} vectors{'' if good else ' (not converged)'}"
                for took, vector, good in zip(seconds, vectors, fine, strict=True)
            ]
            print(f"| {name} | {' | '.join(texts)} | {slope(along, seconds):.2f} |", flush=True)
        print()
    print(f"largest slope {worst:.2f}, most memory {most:.0f} vectors of the rows")
    if options.publish:
        content = {"machine": machine(), **found}
        options.publish.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
