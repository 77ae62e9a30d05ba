"""Fit skpd's estimators to data and print what was found and how sure that is.

FILE is a table, in CSV, TSV or Parquet format by its suffix, or else an
svmlight file; text may be compressed (.gz, .bz2). Numbers are standardised,
words one-hot encoded, and missing values filled. Without FILE the data are two
sets that scikit-learn carries.
"""

import argparse
import os
import sys
from pathlib import Path

import joblib
from sklearn.base import is_regressor

from . import GapDisplay
from ._compat import StrOptions
from ._fit_data import ESTIMATORS, PROGRESS_BARS, check_targets, choose, fit, make_estimator
from ._print_fits import describe, report
from ._read_files import examples, is_table, read
from ._version import VERSION

FIGURES = (".png", ".pdf", ".svg")
EXAMPLES = """examples:
  python -m skpd customers.csv --target churn --cv
  python -m skpd prices.csv --target price --estimator QuantilePD --quantile 0.9
  python -m skpd visits.parquet --estimator PoissonPD --save model.joblib
"""


def choices(name):
    """What a parameter may be by name, for each estimator that differs in it."""
    values = {}
    for estimator, kind in ESTIMATORS.items():
        for constraint in kind._parameter_constraints.get(name, []):
            if isinstance(constraint, StrOptions):
                values.setdefault(", ".join(sorted(constraint.options)), []).append(estimator)
    return "; ".join(f"of {', '.join(names)}: {text}" for text, names in values.items())


def size_or_auto(text):
    return text if text == "auto" else int(text)


def parse(arguments):
    parser = argparse.ArgumentParser(
        "python -m skpd", "python -m skpd [FILE] [options]", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add, number = parser.add_argument, {"type": int, "metavar": "N"}
    add("file", nargs="?", metavar="FILE", help="CSV, TSV, Parquet or svmlight file")
    add("--version", action="version", version=f"skpd {VERSION}")
    add("--target", metavar="COLUMN", help="column to predict (default: the last)")
    add("--header", action=argparse.BooleanOptionalAction, help="whether row 1 holds the names")
    add("--estimator", metavar="NAME", choices=ESTIMATORS, help=f"one of {', '.join(ESTIMATORS)}")
    add("--cv", action="store_true", help="choose alpha by cross-validation")
    add("--alpha", type=float, help="weight of the penalty (default: the estimator's)")
    add("--loss", help=f"a loss {choices('loss')}")
    add("--penalty", help=f"a penalty {choices('penalty')}")
    add(
        "--quantile",
        dest="quantiles",
        action="append",
        type=float,
        metavar="Q",
        help="of QuantilePD",
    )
    add("--groups", type=size_or_auto, metavar="SIZE", help="of feature groups; auto: each column")
    add("--solver", help=f"a solver {choices('solver')}")
    add("--tol", type=float, help="relative gap to reach (default: 1e-4)")
    add("--max-iter", **number, help="iterations at most")
    add("--jobs", **number, dest="n_jobs", help="threads over several classes")
    add("--test-size", type=float, default=0.25, help="share of rows held out (default: 0.25)")
    add("--folds", **number, default=3, help="of the cross-validation, 0 for none (default: 3)")
    add("--plot", metavar="FIGURE", help=f"save the history of the gaps, {' '.join(FIGURES)}")
    add("--save", metavar="MODEL", help="save the pipeline that was scored, for joblib.load")
    return parser, parser.parse_args(arguments)


def check(options):
    """Refuse options that do not go together, and paths to which nothing can be written."""
    for name in ("target", "header"):
        if getattr(options, name) is not None and not is_table(options.file or ""):
            raise ValueError(f"--{name} needs a CSV, TSV or Parquet file, got {options.file}")
    if options.folds < 0 or options.folds == 1:
        raise ValueError(f"--folds must be 0 or at least 2, got {options.folds}")
    if options.cv and (options.folds == 0 or options.alpha is not None):
        raise ValueError("--cv chooses alpha by folds: it goes with neither --alpha nor --folds 0")
    if options.save and options.file is None:
        raise ValueError("--save needs a FILE to fit to")
    for name, kind in (("plot", f"{FIGURES} "), ("save", "")):
        path = Path(getattr(options, name) or "figure.png")
        named = path.suffix in FIGURES or not kind
        if not named or path.is_dir() or not path.parent.is_dir():
            must = f"--{name} must name a file {kind}in a folder that exists"
            raise ValueError(f"{must}, got {str(path)!r}")


def main(arguments=None):
    parser, options = parse(arguments)
    options.progress = sys.stdout.isatty() and PROGRESS_BARS
    fits = []
    try:
        check(options)
        of_file = options.file and [read(options.file, options.target, options.header)]
        for data in of_file or examples():
            name, why = choose(data.y, options)
            estimator = make_estimator(name, options)
            if not options.file and is_regressor(estimator) != (data.y.dtype.kind == "f"):
                continue  # an estimator was asked for that is for the other example
            check_targets(estimator, data.y)
            print("\n" * bool(fits) + describe(data, estimator, why))
            fits.append(fit(estimator, data, options))
            print(report(fits[-1], options))
        if options.plot:
            plot(fits, options.plot)
        if options.save:
            joblib.dump(fits[0].pipeline, options.save)
            print(f"\nsaved {options.save}: joblib.load makes a pipeline of it, for predict")
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted\n")
    except (ImportError, OSError, TypeError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {' '.join(str(error).split())}\n")


def plot(fits, path):
    import matplotlib.pyplot as plt

    size = (7, 2.9 * len(fits))
    _, axes = plt.subplots(len(fits), squeeze=False, figsize=size, layout="constrained")
    for axis, (data, pipeline, *_) in zip(axes[:, 0], fits, strict=True):
        GapDisplay.from_estimator(pipeline, ax=axis, kind="gap", x="n_iter")
        axis.set_title(f"{type(pipeline[-1]).__name__} on {data.name}", fontsize="medium")
    axes[0, 0].figure.savefig(path, dpi=150)
    print(f"\nsaved {path}")


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
