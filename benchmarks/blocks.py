"""Fits on a file of rows that is read in blocks: time, passes over the file, and memory.

A file of random float32 numbers is written once, with labels and targets of a sparse linear
model with noise. The l1-penalised hinge loss and the lasso are fitted to tol=1e-4 at a hundredth
of the largest alpha of interest. "reading" is the time of summing all numbers of the file, by
NumPy and in blocks, once for each pass of the fit. "memory" is the peak of what is resident and
no page of a file, less what was there before X and y.
"""

import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from skpd import LassoPDCertified, PdproxSVC, RowBlocks

STATUS = Path("/proc/self/status")
CHUNK = 1 << 20  # rows that are written at a time
NOISE, TRUE = 0.5, 10  # of the targets, and the features that they depend on
SHARE = 0.01  # of the largest alpha of interest
SAMPLE = 100_000  # rows that say what that is


def anonymous():
    """Bytes that are resident and no page of a file."""
    for line in STATUS.read_text().splitlines():
        if line.startswith("RssAnon"):
            return 1024 * int(line.split()[1])
    raise SystemExit("this system does not report RssAnon")


class Peak(threading.Thread):
    """By how much `anonymous` grows in a context at most, looked at every 20 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.before = self.most = anonymous()
        self.over = threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        self.grown = self.most - self.before

    def run(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, anonymous())


class Counted(RowBlocks):
    """The same blocks; how often they were read."""

    passes = 0.0

    def block(self, k):
        found = super().block(k)
        self.passes += found.shape[0] / self.shape[0]
        return found


def written(path, n, d, seed=0):
    """A file of n rows, and targets as float32."""
    rng = np.random.default_rng(seed)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    y = np.empty(n, dtype=np.float32)
    w = np.where(np.arange(d) < TRUE, (-1.0) ** np.arange(d), 0.0).astype(np.float32)
    for first in range(0, n, CHUNK):
        some = slice(first, min(first + CHUNK, n))
        X[some] = rng.standard_normal((some.stop - first, d), dtype=np.float32)
        noise = rng.standard_normal(some.stop - first, dtype=np.float32)
        y[some] = X[some] @ w + NOISE * np.sqrt(TRUE, dtype=np.float32) * noise
    X.flush()
    return y


def seconds_of_reading(X):
    start, total = time.perf_counter(), 0.0
    for _, block in X.read():
        total += float(block.sum(dtype=np.float32))
    return time.perf_counter() - start


def fitted(model, path, y):
    """A line on a fit of the blocks of a file."""
    X = Counted([path])
    model.set_params(alpha=SHARE * largest_alpha(model, X, y))
    start = time.perf_counter()
    with Peak() as peak:
        model.fit(X, y)
    seconds = time.perf_counter() - start
    passes, reading = X.passes, seconds_of_reading(X)
    return (
        f"{type(model).__name__}: relative gap {model.certificate_.relative_gap:.1e} after "
        f"{model.n_iter_} iterations, {passes:.1f} passes, {seconds:.1f} s, "
        f"{seconds / (passes * reading):.2f} times reading ({reading:.2f} s a pass), memory "
        f"{peak.grown / 1e9:.2f} GB, {peak.grown / (8 * len(y)):.0f} vectors of the rows"
    )


def largest_alpha(model, X, y):
    """About the least alpha at which all coefficients are 0, from the first rows."""
    some = min(SAMPLE, len(y))
    problem = model._problems(X.rows(np.arange(some)), y[:some], None)[2][0]
    return problem.largest_alpha


OPTIONS = {
    "--rows": 60_000_000,
    "--features": 50,
    "--folder": {"help": "for the file; by default one for temporary files"},
}


def main(options):
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "X.npy"
        y = written(path, options.rows, options.features)
        print(f"{options.rows:,} x {options.features}: {path.stat().st_size / 1e9:.1f} GB")
        print(fitted(PdproxSVC(), path, np.where(y > 0.0, np.int8(1), np.int8(0))), flush=True)
        print(fitted(LassoPDCertified(), path, y), flush=True)
