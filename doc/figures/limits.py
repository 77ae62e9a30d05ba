"""Processor time of kernel machines as the rows double.

The seconds are those that ``python doc/figures/limits.py`` prints on one core, with
``OPENBLAS_NUM_THREADS=1`` and ``OMP_NUM_THREADS=1``. A build of pages is no place to measure time.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

ROWS = (500, 1000, 2000, 4000, 8000)
SECONDS = {
    "KernelPdproxSVC": (0.0165, 0.0140, 0.0274, 0.0584, 0.1125),
    "SVC": (0.0027, 0.0063, 0.0159, 0.0507, 0.1270),
    "Nystroem and PdproxSVC": (0.0130, 0.0159, 0.0274, 0.0347, 0.0596),
}


def models(n):
    """The model of one kernel by two packages, and its approximation by 100 features."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    from skpd import KernelPdproxSVC, PdproxSVC

    approximation = Nystroem(n_components=100, random_state=0)
    linear = PdproxSVC(alpha=1.0 / n, penalty="l2", random_state=0)
    yield "KernelPdproxSVC", KernelPdproxSVC(alpha=1.0 / n, kernel="rbf")
    yield "SVC", SVC(C=1.0)
    yield "Nystroem and PdproxSVC", make_pipeline(approximation, linear)


def measure():
    """The least of seven times of a fit, each to its own default tolerance."""
    from sklearn.datasets import make_moons

    for n in ROWS:
        X, y = make_moons(n, noise=0.2, random_state=0)
        for name, model in models(n):
            seconds = []
            for _ in range(7):
                start = time.process_time()
                model.fit(X, y)
                seconds.append(time.process_time() - start)
            print(f"{n:5} {name:23} {min(seconds):.4f}")


def draw(palette):
    """Logarithmic axes, on which a power of the rows is a line."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    colours = (palette.upper, palette.lower, palette.muted)
    for (name, seconds), colour, marker in zip(SECONDS.items(), colours, "osx", strict=True):
        axes.plot(ROWS, seconds, marker=marker, color=colour, linewidth=1.8, label=name)
    squares = 2.3e-3 * (np.array(ROWS) / ROWS[0]) ** 2
    axes.plot(ROWS, squares, ":", color=palette.muted, label="four times for twice the rows")
    axes.set(xscale="log", yscale="log", ylim=(7e-4, 9.0))
    axes.set(xlabel="rows", ylabel="processor time (s)")
    axes.set_xticks(ROWS, [f"{n:,}" for n in ROWS])
    axes.minorticks_off()
    axes.legend(loc="upper left")
    return figure


if __name__ == "__main__":
    measure()
