"""Fit skpd's estimators on data and print what was found and how sure that is.

Without FILE: on the breast cancer and digits data that scikit-learn carries. With FILE:
on an svmlight file (also compressed, .bz2 or .gz) or, for the suffix .csv, a CSV file
with a header.
"""

import argparse
import bz2
import gzip
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.callback import ProgressBar
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.utils.multiclass import type_of_target

from . import GapDisplay, GroupLassoSVC, PdproxRegressor, PdproxSVC

ESTIMATORS = {"PdproxSVC": PdproxSVC, "GroupLassoSVC": GroupLassoSVC,
              "PdproxRegressor": PdproxRegressor}  # fmt: skip
COLUMNS = ("data", "estimator", "test score", "non-zeros", "objective", "certified gap", "seconds")


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m skpd", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="svmlight or CSV file")
    parser.add_argument("--target", metavar="COLUMN", help="target of a CSV file (default: last)")
    parser.add_argument("--estimator", choices=ESTIMATORS, help="the only one to fit")
    parser.add_argument("--alpha", type=float, help="weight of the penalty (default: 1e-3)")
    parser.add_argument("--loss", help="a loss by name")
    parser.add_argument("--penalty", help="a penalty by name")
    parser.add_argument("--groups", type=int, help="size of the groups of GroupLassoSVC")
    parser.add_argument("--solver", help="a solver by name")
    parser.add_argument("--tol", type=float, help="relative gap to reach (default: 1e-4)")
    parser.add_argument("--max-iter", type=int, help="iterations at most")
    parser.add_argument("--jobs", type=int, dest="n_jobs", help="threads over several classes")
    parser.add_argument(
        "--test-size", type=float, default=0.25, help="share held out for the score"
    )
    parser.add_argument("--plot", metavar="OUT.png", help="save the history of the gaps")
    options = parser.parse_args(arguments)
    if options.target is not None and not (options.file or "").endswith(".csv"):
        parser.error("--target needs a CSV file")
    return parser, options


def read(path, target):
    """(X, y) of a file."""
    path = Path(path)
    if path.suffix == ".csv":
        try:
            import pandas as pd
        except ImportError:
            raise ValueError("reading a CSV file needs pandas: pip install pandas") from None
        table = pd.read_csv(path)
        target = table.columns[-1] if target is None else target
        if target not in table.columns:
            raise ValueError(f"--target must be one of {list(table.columns)}, got {target!r}")
        y, table = table[target].to_numpy(), table.drop(columns=target)
        words = table.select_dtypes(exclude="number").columns
        numbers = table.drop(columns=words).to_numpy(dtype=np.float64)
        if len(words) == 0:
            return numbers, y
        encoded = OneHotEncoder(handle_unknown="ignore").fit_transform(table[words])
        return sp.hstack([sp.csr_array(numbers), encoded]).tocsr(), y
    opener = {".bz2": bz2.open, ".gz": gzip.open}.get(path.suffix, open)
    with opener(path, "rb") as file:
        try:
            return load_svmlight_file(file)
        except ValueError as error:
            raise ValueError(f"{path} is not an svmlight file: {error}") from error


def jobs(options):
    """Triples of a data set's name, its (X, y) and the estimators to fit."""
    chosen = {
        name: value for name, value in vars(options).items()
        if name in ("alpha", "loss", "penalty", "groups", "solver", "tol", "max_iter", "n_jobs")
        and value is not None
    }  # fmt: skip

    def make(name, **defaults):
        estimator = ESTIMATORS[name](**defaults)
        known = estimator.get_params()
        return estimator.set_params(**{k: v for k, v in chosen.items() if k in known})

    if options.file is not None:
        X, y = read(options.file, options.target)
        names = [options.estimator]
        if options.estimator is None:
            classes = type_of_target(y) in ("binary", "multiclass")
            names = ["PdproxSVC"] if classes else ["PdproxRegressor"]
            if classes and options.groups:
                names.append("GroupLassoSVC")
        return [(Path(options.file).name, (X, y), [make(name) for name in names])]

    triples = [[j, j + 10, j + 20] for j in range(10)]  # mean, error and worst of one quantity
    shown = []
    for name, load, groups in (
        ("breast cancer", load_breast_cancer, triples),
        ("digits", load_digits, 8),  # the rows of the image
    ):
        estimators = [make("PdproxSVC"), make("GroupLassoSVC", alpha=1e-2, groups=groups)]
        if options.estimator:
            estimators = [e for e in estimators if type(e).__name__ == options.estimator]
        shown.append((name, load(return_X_y=True), estimators))
    if options.estimator == "PdproxRegressor":
        shown = [("diabetes", load_diabetes(return_X_y=True), [make("PdproxRegressor")])]
    return shown


def fit(estimator, X, y, options):
    """A row of the table, and the fitted estimator."""
    stratify = y if hasattr(estimator, "decision_function") else None
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=options.test_size, random_state=0, stratify=stratify
    )
    scaler = MaxAbsScaler() if sp.issparse(X) else StandardScaler()
    X_train, X_test = scaler.fit_transform(X_train), scaler.transform(X_test)
    if sys.stderr.isatty() and sys.stdout.isatty():
        try:
            estimator.set_callbacks(ProgressBar())
        except ImportError:
            print("(a progress bar needs rich: pip install rich)", file=sys.stderr)
    start = time.perf_counter()
    estimator.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    certificates = estimator.certificate_
    certificates = certificates if isinstance(certificates, list) else [certificates]
    gap = max(certificate.relative_gap for certificate in certificates)
    objective = np.mean([certificate.primal for certificate in certificates])
    return (
        type(estimator).__name__,
        f"{estimator.score(X_test, y_test):.4f}",
        f"{np.count_nonzero(estimator.coef_)} of {estimator.coef_.size}",
        f"{objective:.6f}",
        f"{gap:.1e}",
        f"{seconds:.2f}",
    )


def print_table(rows):
    widths = [max(len(row[k]) for row in [COLUMNS, *rows]) for k in range(len(COLUMNS))]
    for row in [COLUMNS, *rows]:
        cells = [
            cell.ljust(width) if k < 2 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def main(arguments=None):
    parser, options = parse(arguments)
    rows, fitted, notes = [], [], []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            for name, (X, y), estimators in jobs(options):
                for estimator in estimators:
                    rows.append((name, *fit(estimator, X, y, options)))
                    fitted.append((name, estimator))
        notes = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    except (ValueError, OSError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    print_table(rows)
    print(
        "\ntest score: accuracy (R2 for a regressor) on held-out data. certified gap: no model\n"
        "has an objective lower than the one printed by more than this share of the best\n"
        "constant prediction's. Means over the classes where there are more than two; the\n"
        "certified gap is the largest."
    )
    for note in notes:
        print(f"\nwarning: {note}")
    if options.plot:
        plot(fitted, options.plot)


def plot(fitted, path):
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise SystemExit("--plot needs matplotlib: pip install matplotlib") from None
    _, axes = plt.subplots(
        len(fitted), squeeze=False, figsize=(7, 2.9 * len(fitted)), layout="constrained"
    )
    for axis, (name, estimator) in zip(axes[:, 0], fitted, strict=True):
        GapDisplay.from_estimator(estimator, ax=axis, kind="gap", x="n_iter")
        axis.set_title(f"{type(estimator).__name__} on {name}", fontsize="medium")
    axes[0, 0].figure.savefig(path, dpi=150)
    print(f"\nsaved {path}")


if __name__ == "__main__":
    main()
