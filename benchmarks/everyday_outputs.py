"""Several outputs and classes on data that people try first: none that gives up or takes long.

    python -m benchmarks everyday_outputs

fits `MultiTaskPD`, `TraceNormPD` and `MultinomialPD` to what scikit-learn bundles, as it is,
standardised and shifted by 1,000, with every loss and the penalties of matrices, with intercepts
and without, at two alphas, or radii, and tolerances, and lists the fits that do not converge, warn
or take longer than --slow seconds. It exits with 1 if there are any of the first two kinds.
"""

import argparse
import itertools
import time
import warnings

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_linnerud, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks.constant_models import SAYS
from skpd import MultinomialPD, MultiTaskPD, TraceNormPD

TASK_LOSSES = ["squared", "huber", "absolute", "epsilon_insensitive", "pinball", "l2_norm"]
TASK_PENALTIES = ["l21", "l1inf", "exclusive", "trace", "squared_groups"]
CLASS_LOSSES = ["softmax", "crammer_singer"]
CLASS_PENALTIES = ["l2", "l1", "l21"]


def regressions():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    iris, _ = load_iris(return_X_y=True)
    wine, classes = load_wine(return_X_y=True)
    return {
        "diabetes": (X[:, :7], np.column_stack([y, X[:, 7:]])),
        "iris": (iris[:, :2], iris[:, 2:]),
        "wine": (wine, np.eye(3)[classes]),
        "linnerud": load_linnerud(return_X_y=True),
    }


def classifications():
    loaders = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    data = {name: load(return_X_y=True) for name, load in loaders.items()}
    X = np.random.default_rng(0).normal(size=(200, 5))
    return {**data, "separable": (X, np.argmax(X[:, :3], axis=1))}


def versions(data, scale_targets):
    for name, (X, y) in data.items():
        standardised = StandardScaler().fit_transform(X)
        targets = StandardScaler().fit_transform(y) if scale_targets else y
        yield name, X, y
        yield f"{name}, standardised", standardised, targets
        yield f"{name} + 1000", X + 1000.0, y


def cases(tol):
    """Names, estimators and data."""
    options = {"tol": tol, "max_iter": 3_000}
    for name, X, Y in versions(regressions(), True):
        spread = np.mean(np.abs(Y - np.median(Y, axis=0)))
        unit = spread * np.mean(np.std(X, axis=0))
        for loss, penalty, free, share in itertools.product(
            TASK_LOSSES, TASK_PENALTIES, (True, False), (1e-1, 1e-3)
        ):
            alpha = share * unit * (spread if loss == "squared" else 1.0)
            yield (
                name,
                MultiTaskPD(alpha, loss=loss, penalty=penalty, fit_intercept=free, **options),
                (X, Y),
            )
        size = np.mean(np.std(X, axis=0))
        for loss, free, share in itertools.product(TASK_LOSSES, (True, False), (1.0, 0.1)):
            alpha, radius = 1e-3 * share * size**2, share * spread / size
            yield (
                name,
                TraceNormPD(alpha, radius=radius, loss=loss, fit_intercept=free, **options),
                (X, Y),
            )
    for name, X, y in versions(classifications(), False):
        alphas = (1e-2,) if name.startswith("digits") else (1e-2, 1e-4)
        for loss, penalty, free, alpha in itertools.product(
            CLASS_LOSSES, CLASS_PENALTIES, (True, False), alphas
        ):
            yield (
                name,
                MultinomialPD(alpha, loss=loss, penalty=penalty, fit_intercept=free, **options),
                (X, y),
            )


def main(arguments=()):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks everyday_outputs", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-4, 1e-8])
    parser.add_argument("--slow", type=float, default=2.0, help="seconds of processors")
    options = parser.parse_args(arguments)
    n_fits, failed, slow, longest = 0, 0, 0, 0.0
    for tol in options.tol:
        for name, model, data in cases(tol):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                begin = time.process_time()
                model.fit(*data)
                seconds = time.process_time() - begin
            n_fits, longest = n_fits + 1, max(longest, seconds)
            failed += any(SAYS not in str(warning.message) for warning in caught)
            slow += seconds > options.slow
            if caught or seconds > options.slow:
                line = (
                    f"{name}, {model}: {model.solver_}, {model.n_iter_} iterations, "
                    f"{seconds:.1f} s, relative gap {model.certificate_.relative_gap:.1e}"
                )
                print(" ".join(line.split()), *(w.message for w in caught), sep="; ", flush=True)
    print(f"{failed} of {n_fits} fits did not converge or warned; {slow} took over "
          f"{options.slow:g} s, the slowest {longest:.1f} s")  # fmt: skip
    raise SystemExit(1 if failed else 0)
