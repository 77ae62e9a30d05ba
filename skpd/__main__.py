"""Fit skpd's estimators on data and print what was found and how sure that is.

Without FILE: on the breast cancer and digits data that scikit-learn carries. With FILE:
on an svmlight file (also compressed, .bz2 or .gz) or, for the suffix .csv, a CSV file
with a header. Columns of numbers are standardised, words are one-hot encoded, and missing
values are filled.
"""

import argparse
import os
import sys
import textwrap
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils.multiclass import type_of_target

from . import GapDisplay, GroupLassoSVC, PdproxRegressor, PdproxSVC, track_columns
from ._compat import StrOptions
from ._read_files import describe_preparation, is_csv, preparation, read
from .certificates import proven_digits

ESTIMATORS = {"PdproxSVC": PdproxSVC, "GroupLassoSVC": GroupLassoSVC,
              "PdproxRegressor": PdproxRegressor}  # fmt: skip
FIGURES = (".png", ".pdf", ".svg")
HELP_WIDTH = 70  # characters in a line
COLUMNS = (
    "data", "estimator", "constant", "test score", "cross-validated", "non-zeros",
    "least objective", "certified gap", "seconds",
)  # fmt: skip
CROSS_VALIDATED = COLUMNS.index("cross-validated")
LEGEND = """
test score: accuracy (R2 for a regressor) on held-out data; constant: that of the best constant
prediction; cross-validated: the mean over folds of all data, and the standard deviation.
least objective: that of the best model there is, in the digits that are proven, the last of them
give or take one; certified gap: by how much more the model fitted may have, as a share of the best
constant prediction's. Means over the classes where there are more than two; the certified gap is
the largest."""


def choices(name):
    """What a parameter may be by name, for each estimator that differs in it."""
    lines = {}
    for estimator, kind in ESTIMATORS.items():
        for constraint in kind._parameter_constraints.get(name, []):
            if isinstance(constraint, StrOptions):
                values = textwrap.fill(", ".join(sorted(constraint.options)), HELP_WIDTH)
                lines.setdefault(values, []).append(estimator)
    if len(lines) == 1:
        return ":\n" + next(iter(lines))
    return "".join(f"\nof {', '.join(names)}:\n{values}" for values, names in lines.items())


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m skpd", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="svmlight or CSV file")
    parser.add_argument("--target", metavar="COLUMN", help="target of a CSV file (default: last)")
    parser.add_argument("--estimator", choices=ESTIMATORS, help="the only one to fit")
    parser.add_argument("--alpha", type=float, help="weight of the penalty (default: 1e-3)")
    parser.add_argument("--loss", help=f"a loss by name{choices('loss')}")
    parser.add_argument("--penalty", help=f"a penalty by name{choices('penalty')}")
    parser.add_argument(
        "--groups", type=lambda text: text if text == "auto" else int(text),
        help="size of the groups of features; auto: those that come from one column",
    )  # fmt: skip
    parser.add_argument("--solver", help=f"a solver by name{choices('solver')}")
    parser.add_argument("--tol", type=float, help="relative gap to reach (default: 1e-4)")
    parser.add_argument("--max-iter", type=int, help="iterations at most")
    parser.add_argument("--jobs", type=int, dest="n_jobs", help="threads over several classes")
    parser.add_argument(
        "--test-size", type=float, default=0.25, help="share held out for the score"
    )
    parser.add_argument(
        "--folds", type=int, default=3, help="of the cross-validation; 0 for none (default: 3)"
    )
    parser.add_argument("--plot", metavar="OUT.png", help="save the history of the gaps")
    parser.add_argument(
        "--save", metavar="MODEL",
        help="save the pipeline, fitted to all rows of FILE but those held out, for joblib.load",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    if options.target is not None and not is_csv(options.file or ""):
        parser.error("--target needs a CSV file")
    if options.folds < 0 or options.folds == 1:
        parser.error(f"--folds must be 0 or at least 2, got {options.folds}")
    if options.save is not None and options.file is None:
        parser.error("--save needs a FILE to fit to")
    for name, suffixes in (("plot", FIGURES), ("save", ())):
        path = getattr(options, name)
        if path is not None and not may_be_written(Path(path), suffixes):
            kind = f"{suffixes} " if suffixes else ""
            parser.exit(2, f"{parser.prog}: error: --{name} must name a file {kind}in a folder "
                        f"that exists, got {path!r}\n")  # fmt: skip
    return parser, options


def may_be_written(path, suffixes):
    """Whether a path names a file in a folder that exists, with one of these suffixes, if any."""
    fits = not suffixes or path.suffix in suffixes
    return fits and not path.is_dir() and path.parent.is_dir()


def guess(y, options):
    """The names of the estimators for a target, and why, where that needs saying."""
    n_distinct = len(np.unique(y))
    if type_of_target(y) == "continuous":
        why = f"{n_distinct} distinct numbers, not all whole: a regression (labels must be whole)"
        return ["PdproxRegressor"], why
    if y.dtype.kind in "iuf" and n_distinct > 50:
        why = f"{n_distinct} distinct numbers: a regression (--estimator to choose another)"
        return ["PdproxRegressor"], why
    return ["PdproxSVC"] + ["GroupLassoSVC"] * (options.groups is not None), ""


def jobs(options):
    """Triples of a data set's name, its (X, y) and the estimators to fit."""
    chosen = {
        name: value for name, value in vars(options).items()
        if name in ("alpha", "loss", "penalty", "groups", "solver", "tol", "max_iter", "n_jobs")
        and value is not None
    }  # fmt: skip

    used = set()

    def make(name, **defaults):
        estimator = ESTIMATORS[name](**defaults)
        known = set(estimator.get_params())
        if name != "GroupLassoSVC" and options.penalty is None:
            known.discard("groups")  # the l1 norm, their default, has none
        used.update(known)
        return estimator.set_params(**{k: v for k, v in chosen.items() if k in known})

    def check_use():
        for name in set(chosen) - used:
            raise ValueError(f"the estimators fitted here have no --{name.replace('_', '-')}")

    if options.file is not None:
        X, y = read(options.file, options.target)
        names = [options.estimator]
        if options.estimator is None:
            names, why = guess(y, options)
            if why:
                print(f"{Path(options.file).name}: {why}\n")
        if options.save and len(names) > 1:
            raise ValueError(f"--save needs one --estimator to fit, got {names}")
        estimators = [make(name) for name in names]
        check_use()
        return [(Path(options.file).name, (X, y), estimators)]

    triples = [[j, j + 10, j + 20] for j in range(10)]  # mean, error and worst of one quantity
    shown = []
    for name, load, groups in (
        ("breast cancer", load_breast_cancer, triples),
        ("digits", load_digits, 8),  # the rows of the image
    ):
        defaults = {"PdproxSVC": {}, "GroupLassoSVC": {"alpha": 1e-2, "groups": groups}}
        estimators = [
            make(estimator, **parameters) for estimator, parameters in defaults.items()
            if options.estimator in (None, estimator)
        ]  # fmt: skip
        shown.append((name, load(return_X_y=True), estimators))
    if options.estimator == "PdproxRegressor":
        shown = [("diabetes", load_diabetes(return_X_y=True), [make("PdproxRegressor")])]
    check_use()
    return shown


def check_targets(estimator, y):
    """Refuse labels for a regressor, and for a classifier what is no label or is too rare."""
    name = type(estimator).__name__
    if is_regressor(estimator):
        if y.dtype.kind not in "biuf":
            raise ValueError(f"{name} needs numbers as targets, got {y[0]!r}")
        return
    if type_of_target(y) == "continuous":
        raise ValueError(
            f"{name} needs labels as targets, words or whole numbers, got {y[y % 1 != 0][0]}: "
            "--estimator PdproxRegressor takes them as they are"
        )
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"{np.count_nonzero(counts < 2)} of {len(labels)} classes have 1 row, such as "
            f"{labels[counts.argmin()]}: each needs at least 2, to train and to test"
        )


def describe(name, X, y, estimator):
    """A line on the data."""
    n_rows, n_columns = X.shape
    line = f"{name}: {n_rows} rows, {n_columns} columns"
    if sp.issparse(X):
        line += f", {100.0 * X.nnz / (n_rows * n_columns):.2g} % of the entries not 0"
    if is_regressor(estimator):
        return f"{line}, target from {np.min(y):.6g} to {np.max(y):.6g}"
    counts = np.unique(y, return_counts=True)[1]
    return f"{line}, {len(counts)} classes of {counts.min()} to {counts.max()} rows"


def fit(estimator, X, y, options):
    """A row of the table but for the cross-validation, and the fitted pipeline."""
    regression = is_regressor(estimator)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=options.test_size, random_state=0, stratify=None if regression else y
    )
    steps = preparation(X)
    pipeline = make_pipeline(
        *([track_columns(*steps)] if options.groups == "auto" else steps), estimator
    )
    constant = (DummyRegressor() if regression else DummyClassifier()).fit(X_train, y_train)
    X_train = pipeline[:-1].fit_transform(X_train)
    if options.progress:
        from sklearn.callback import ProgressBar  # from scikit-learn 1.9 on

        estimator.set_callbacks(ProgressBar())
    start = time.perf_counter()
    estimator.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    if options.progress:
        estimator.set_callbacks()
    ends = [(each.primal, each.dual) for each in estimator.certificate_.each]
    upper, lower = np.mean(ends, axis=0)
    row = [
        type(estimator).__name__,
        f"{constant.score(X_test, y_test):.4f}",
        f"{pipeline.score(X_test, y_test):.4f}",
        "-",
        f"{np.count_nonzero(estimator.coef_)} of {estimator.coef_.size}",
        proven_digits(lower, upper),
        f"{estimator.relative_gap_:.1e}",
        f"{seconds:.2f}",
    ]
    return row, pipeline


def cross_validated(pipeline, X, y, n_folds):
    """The mean score over folds and its standard deviation; nothing where there are too few rows.

    Warnings are those of the fit that is reported.
    """
    regression = is_regressor(pipeline)
    smallest = len(y) // 2 if regression else np.unique(y, return_counts=True)[1].min()
    n_folds = min(n_folds, smallest)
    if n_folds < 2:
        return "-"
    folds = (KFold if regression else StratifiedKFold)(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scores = cross_val_score(clone(pipeline), X, y, cv=folds, error_score="raise")
    return f"{np.mean(scores):.4f} +- {np.std(scores):.4f}"


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
    options.progress = sys.stdout.isatty() and find_spec("sklearn.callback") is not None
    if options.progress and find_spec("rich") is None:
        options.progress = False
        print("(a progress bar needs rich: pip install rich)\n")
    rows, fitted, interrupted = [], [], False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            for name, (X, y), estimators in jobs(options):
                for k, estimator in enumerate(estimators):
                    check_targets(estimator, y)
                    if k == 0:
                        print(describe(name, X, y, estimator))
                    row, pipeline = fit(estimator, X, y, options)
                    if k == 0:
                        n_features = estimator.n_features_in_
                        print(f"  {describe_preparation(X, n_features)}")
                    rows.append([name, *row])
                    fitted.append((name, pipeline))
                    rows[-1][CROSS_VALIDATED] = cross_validated(pipeline, X, y, options.folds)
            if options.save:
                save(fitted, options.save)
        except KeyboardInterrupt:
            interrupted = True
        except (ValueError, OSError) as error:
            parser.exit(2, f"{parser.prog}: error: {' '.join(str(error).split())}\n")
    print()
    print_table(rows)
    print(LEGEND)
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            print(f"\nwarning: {warning.message}")
    if interrupted:
        parser.exit(130, f"{parser.prog}: interrupted\n")
    if options.plot:
        plot(fitted, options.plot)


def save(fitted, path):
    """The only pipeline there is, to a file."""
    joblib.dump(fitted[0][1], path)
    print(f"saved {path}: joblib.load makes a pipeline of it, for predict on other data")


def plot(fitted, path):
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise SystemExit("--plot needs matplotlib: pip install matplotlib") from None
    _, axes = plt.subplots(
        len(fitted), squeeze=False, figsize=(7, 2.9 * len(fitted)), layout="constrained"
    )
    for axis, (name, pipeline) in zip(axes[:, 0], fitted, strict=True):
        GapDisplay.from_estimator(pipeline, ax=axis, kind="gap", x="n_iter")
        axis.set_title(f"{type(pipeline[-1]).__name__} on {name}", fontsize="medium")
    axes[0, 0].figure.savefig(path, dpi=150)
    print(f"\nsaved {path}")


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
