"""What ``python -m skpd`` prints, in lines of at most 80 characters."""

import textwrap
from operator import attrgetter

import numpy as np
from sklearn.base import is_regressor

from ._read_files import columns_of_words

WIDTH = 80  # characters in a line
LABEL = 20  # characters before an entry
# a list of columns left out may be long
OF_NOTES = {"width": WIDTH, "subsequent_indent": "    ", "max_lines": 3, "placeholder": " ..."}
MAX_FEATURES = 10
MAX_NAME = 36  # characters of a feature
WITH_D2 = ("GammaPD", "PoissonPD", "QuantilePD")  # their score, other regressors have an R2
WITH_LOGARITHM = ("GammaPD", "PoissonPD")  # their coefficients change the logarithm of the mean


def describe(data, estimator, why):
    """A few lines on the data, how they are scaled, and what was decided for them."""
    n_rows, n_columns = data.X.shape
    line = f"{data.name}: {n_rows} rows, {n_columns} column{'s' * (n_columns > 1)}"
    if is_regressor(estimator):
        line += f"; {data.target} from {np.min(data.y):.6g} to {np.max(data.y):.6g}"
    else:
        counts = np.unique(data.y, return_counts=True)[1]
        line += f"; {data.target}: {len(counts)} classes of {counts.min()} to {counts.max()} rows"
    notes = [f"  {note}" for note in (describe_columns(data.X), *data.notes, why) if note]
    return "\n".join(textwrap.fill(text, **OF_NOTES) for text in [line, *notes])


def describe_columns(X):
    """What becomes of the columns before a fit (`preparation`)."""
    n_words, n_missing = len(columns_of_words(X)), np.count_nonzero(X != X)
    text = f"columns: {X.shape[1] - n_words} of numbers standardised"
    text += f", {n_words} of words one-hot encoded" * bool(n_words)
    return text + f", {n_missing} missing values filled" * bool(n_missing)


def report(fit, options):
    """What a fit has found, how sure that is, and whether all is well."""
    estimator, problems, clear = fit.pipeline[-1], list(fit.warnings), fit.score
    other = "a constant" if is_regressor(estimator) else "always the commonest class"
    name, constant = type(estimator).__name__, f"{other}: {fit.best_constant:.3f}"
    certificate = max(estimator.certificate_.each, key=attrgetter("relative_gap"))
    score = ("D2" if name in WITH_D2 else "R2") if is_regressor(estimator) else "accuracy"
    chosen = "the best of --cv" if options.cv else "--cv chooses it by the data"
    parts = [part for part in ("loss", "penalty") if hasattr(estimator, part)]
    lines = [
        f"\n{name}, fitted in {fit.seconds:.2f} s",
        entry("model", ", ".join(f"{part} {getattr(estimator, part)}" for part in parts)),
        entry("alpha", f"{estimator.alpha:.3g}; {chosen}"),
        entry(score, f"{fit.score:.3f} on {fit.n_test} held-out rows; {constant}"),
    ]
    if fit.log_loss is not None:
        lines.append(entry("log loss", f"{fit.log_loss:.3f} of the predicted probabilities"))
    if fit.fold_scores:
        mean, deviation = fit.fold_scores
        clear = min(clear, mean - deviation)
        lines.append(entry("cross-validation", f"{mean:.3f} +- {deviation:.3f} over folds"))
    lines += [entry("certificate", str(certificate).partition("\n")[0]), *features(fit)]
    if not clear > fit.best_constant:
        others = "--cv chooses alpha, " * (not options.cv) + "--loss and --penalty another model."
        problems.append(f"Not clearly better than a constant on other rows: {others}")
    text = " ".join(problems) or "converged, and clearly better than a constant on other rows"
    return "\n".join([*lines, entry("PROBLEMS" if problems else "in short", text)])


def entry(label, text):
    """Lines with a label before the first."""
    label, indent = f"  {label:{LABEL - 2}}", " " * LABEL
    return textwrap.fill(text, WIDTH, initial_indent=label, subsequent_indent=indent)


def features(fit):
    """Lines with the coefficients of the features that matter most."""
    data, estimator = fit.data, fit.pipeline[-1]
    names = fit.pipeline[:-1].get_feature_names_out(data.columns)
    names = [name.split("__", 1)[-1][:MAX_NAME] for name in names]  # without a transformer's name
    coef = np.reshape(estimator.coef_, (-1, len(names)))
    sizes = abs(coef).max(axis=0)
    largest = np.argsort(-sizes, kind="stable")[: min(np.count_nonzero(sizes), MAX_FEATURES)]
    changed = f"log({data.target})" if type(estimator).__name__ in WITH_LOGARITHM else data.target
    outputs = [f"quantile {quantile}" for quantile in getattr(estimator, "quantiles", ())]
    if not is_regressor(estimator):
        outputs = [f"class {label}" for label in estimator.classes_]
        changed = f"the score of {outputs[1] if len(coef) == 1 else 'a class'}"
    unit = "one standard deviation" + " or the presence of a word" * bool(columns_of_words(data.X))
    text = f"{np.count_nonzero(sizes)} of {len(names)} have an effect"
    text += f"; the largest changes of {changed} by {unit}:" * bool(len(largest))
    lines, width = [entry("features", text)], max((len(names[j]) for j in largest), default=0)
    for j in largest:
        k = abs(coef[:, j]).argmax()
        number = np.format_float_positional(coef[k, j], 3, fractional=False, trim="-", sign=True)
        line = f"{'':{LABEL + 2}}{names[j]:{width}}  {number:>8}"
        lines.append(f"{line}  {outputs[k]}"[:WIDTH] if len(coef) > 1 else line)
    return lines
