"""Processor time of kernel machines as the rows double."""

import time
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skpd import KernelPdproxSVC, PdproxSVC

ROWS = (500, 1000, 2000, 4000, 8000)


def models(n):
    """The model of one kernel twice, and its approximation by 100 features."""
    yield "KernelPdproxSVC", KernelPdproxSVC(alpha=1.0 / n, kernel="rbf")
    yield "SVC", SVC(C=1.0)
    approximation = Nystroem(n_components=100, random_state=0)
    linear = PdproxSVC(alpha=1.0 / n, penalty="l2", random_state=0)
    yield "Nystroem and PdproxSVC", make_pipeline(approximation, linear)


@cache
def measured():
    """Seconds of the faster of two fits, each to its own default tolerance."""
    found = {}
    for n in ROWS:
        X, y = make_moons(n, noise=0.2, random_state=0)
        for name, model in models(n):
            seconds = []
            for _ in range(2):
                start = time.process_time()
                model.fit(X, y)
                seconds.append(time.process_time() - start)
            found.setdefault(name, []).append(min(seconds))
    return found


def draw(palette):
    """Logarithmic axes, on which a power of the rows is a line."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    colours = (palette.upper, palette.lower, palette.muted)
    for (name, seconds), colour, marker in zip(measured().items(), colours, "osx", strict=True):
        axes.plot(ROWS, seconds, marker=marker, color=colour, linewidth=1.8, label=name)
    squares = 2e-3 * (np.array(ROWS) / ROWS[0]) ** 2
    axes.plot(ROWS, squares, ":", color=palette.muted, label="four times for twice the rows")
    axes.set(xscale="log", yscale="log", ylim=(1e-3, 6.0))
    axes.set(xlabel="rows", ylabel="processor time (s)")
    axes.set_xticks(ROWS, [f"{n:,}" for n in ROWS])
    axes.minorticks_off()
    axes.legend(loc="upper left")
    return figure
