"""Fit skpd's estimators to data and print what was found and how sure that is.

FILE is a table in CSV format, whose first row holds the names of the columns.
Numbers are standardised, words one-hot encoded, and missing values filled.
Without FILE the data are two sets that scikit-learn carries.
"""

import argparse
from pathlib import Path

import joblib
from sklearn.base import is_regressor

from ._command_line_fits import ESTIMATORS, check_targets, choose, fit, make_estimator
from ._print_fits import describe, report
from ._read_files import examples, read
from ._version import VERSION

EXAMPLES = """examples:
  python -m skpd customers.csv --target churn --cv
  python -m skpd prices.csv --target price --estimator QuantilePD --quantile 0.9
  python -m skpd visits.csv --estimator PoissonPD --save model.joblib
"""


def size_or_auto(text):
    return text if text == "auto" else int(text)


def parse(arguments):
    parser = argparse.ArgumentParser(
        "python -m skpd", "python -m skpd [FILE] [options]", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("file", nargs="?", type=Path, metavar="FILE", help="CSV file")
    add("--version", action="version", version=f"skpd {VERSION}")
    add("--target", metavar="COLUMN", help="column to predict (default: the last)")
    add("--drop", metavar="COLUMN", action="append", default=[], help="column to leave out")
    add("--categorical", metavar="COLUMN", action="append", default=[], help="column of codes")
    add("--estimator", metavar="NAME", choices=ESTIMATORS, help=f"one of {', '.join(ESTIMATORS)}")
    add("--cv", action="store_true", help="choose alpha by cross-validation")
    add("--alpha", type=float, help="weight of the penalty (default: the estimator's)")
    add("--loss", help="a loss of the estimator")
    add("--penalty", help="a penalty of the estimator")
    add("--class-weight", choices=["balanced"], help="classes weigh alike")
    add("--quantile", dest="quantiles", action="append", type=float, help="of QuantilePD")
    add("--groups", type=size_or_auto, metavar="SIZE", help="of feature groups; auto: each column")
    add("--tol", type=float, help="relative gap to reach (default: 1e-4)")
    add("--max-iter", type=int, help="iterations at most")
    add("--folds", type=int, default=3, help="of the cross-validation, 0 for none (default: 3)")
    add("--save", type=Path, metavar="MODEL", help="save the fitted pipeline, for joblib.load")
    return parser, parser.parse_args(arguments)


def check(options):
    """Refuse options that do not go together, and a path to which nothing can be written."""
    if options.cv and (options.folds < 2 or options.alpha is not None):
        raise ValueError("--cv chooses alpha by folds: it goes with neither --alpha nor --folds 0")
    for name in ("target", "save"):
        if getattr(options, name) and options.file is None:
            raise ValueError(f"--{name} needs a FILE to fit to, got none")
    if options.save and (options.save.is_dir() or not options.save.parent.is_dir()):
        raise ValueError(f"--save must name a file in a folder that exists, got '{options.save}'")


def main(arguments=None):
    parser, options = parse(arguments)
    fits = []
    try:
        check(options)
        for data in [read(options)] if options.file else examples():
            name, why = choose(data.y, options)
            estimator = make_estimator(name, options)
            if not options.file and is_regressor(estimator) != (data.y.dtype.kind == "f"):
                continue  # an estimator was asked for that is for the other example
            check_targets(estimator, data.y)
            print("\n" * bool(fits) + describe(data, estimator, why))
            fits.append(fit(estimator, data, options))
            print(report(fits[-1], options))
        if options.save:
            joblib.dump(fits[0].pipeline, options.save)
            print(f"\nsaved {options.save}: joblib.load makes a pipeline of it, for predict")
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted\n")
    except (ImportError, OSError, TypeError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {' '.join(str(error).split())}\n")


if __name__ == "__main__":
    main()
