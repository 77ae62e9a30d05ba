"""Fits of estimators to data for ``python -m skpd``."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.multiclass import type_of_target

import skpd

from ._read_files import Data, preparation

CLASSES = (
    skpd.PdproxSVC, skpd.LogisticPD, skpd.GroupLassoSVC, skpd.PdproxRegressor,
    skpd.GroupLassoPD, skpd.QuantilePD, skpd.PoissonPD, skpd.GammaPD,
)  # fmt: skip
ESTIMATORS = {kind.__name__: kind for kind in CLASSES}
# options that are parameters of estimators
PARAMETERS = ("alpha", "groups", "loss", "max_iter", "penalty", "quantiles", "tol")
MAX_CLASSES = 50  # more different numbers are no labels
MANY_ZEROS = 0.1  # of amounts: from this share on a median says little


class Fit(NamedTuple):
    """A fitted pipeline and what is known of it.

    Attributes
    ----------
    data : Data
    pipeline : Pipeline
        The scaling of the columns and the estimator, fitted to all rows but those held out.
    seconds : float
        The time of the fit, with that of the choice of alpha if there was one.
    score : float
        The score of the estimator on the rows held out.
    best_constant : float
        The score of the best constant prediction for the rows held out.
    n_test : int
        The number of rows held out.
    fold_scores : tuple of float or None
        The mean score over folds of the other rows, and the standard deviation.
    warnings : list of str
        The warnings of the fit.
    """

    data: Data
    pipeline: Pipeline
    seconds: float
    score: float
    best_constant: float
    n_test: int
    fold_scores: tuple[float, float] | None
    warnings: list[str]


def choose(y, options):
    """The name of the estimator for a target, and why, where that needs saying."""
    if options.estimator or options.quantiles:
        return options.estimator or "QuantilePD", ""
    labels, counts = np.unique(y, return_counts=True)
    if y.dtype.kind not in "iuf" or len(labels) == 2:
        return "PdproxSVC", ""
    whole = type_of_target(y) != "continuous"
    regression = not whole or len(labels) > MAX_CLASSES or counts.min() == 1
    name, kind = ("PdproxRegressor", "a regression") if regression else ("PdproxSVC", "labels")
    why = f"the target has {len(labels)} distinct numbers{', not all whole' * (not whole)}: {kind}"
    other = "PdproxSVC for labels" if regression else "PdproxRegressor for quantities"
    if whole:
        why += f" (--estimator {other}, PoissonPD for counts)"
    elif y.min() >= 0.0 and np.mean(y == 0.0) > MANY_ZEROS:
        why += " (--estimator PoissonPD for amounts that are often 0)"
    return name, why


def make_estimator(name, options):
    """The estimator of this name with the parameters that are among the options."""
    estimator = ESTIMATORS[name]()
    known = estimator.get_params()
    parameters = {
        key: getattr(options, key) for key in PARAMETERS if getattr(options, key) is not None
    }
    if "groups" in parameters and "penalty" in known:
        parameters.setdefault("penalty", "group")
    for key in parameters.keys() - known.keys():
        allowed = ", ".join(key for key in PARAMETERS if key in known)
        raise ValueError(f"{name} has no parameter {key!r}, of the options only {allowed}")
    return estimator.set_params(**parameters)


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
    rare = labels[counts < 2]
    if rare.size:
        start = f"{rare.size} of {len(labels)} classes have 1 row, such as {rare[0]}"
        raise ValueError(f"{start}: each needs at least 2, to train and to test")


def fit(estimator, data, options):
    """Fit an estimator, with alpha chosen by cross-validation if the options say so."""
    labels = None if is_regressor(estimator) else data.y
    X, X_test, y, y_test = train_test_split(data.X, data.y, random_state=0, stratify=labels)
    steps = preparation(data.X)
    steps = [skpd.track_columns(*steps)] if options.groups == "auto" else steps
    pipeline = make_pipeline(*steps, estimator)
    most = len(y) // 2 if labels is None else np.unique(y, return_counts=True)[1].min()
    n_folds, kind = min(options.folds, most), KFold if labels is None else StratifiedKFold
    folds = kind(n_folds, shuffle=True, random_state=0) if n_folds > 1 else None
    if not options.cv:
        model, features = estimator, pipeline[:-1].fit_transform(X)
    elif folds is None:
        raise ValueError("--cv needs 2 rows of every class to train")
    else:
        model, features = skpd.PathCV(pipeline, cv=folds), X
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit(features, y)
    seconds = time.perf_counter() - start
    messages = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    of_folds = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if options.cv:
            pipeline, deviations = model.best_estimator_, model.cv_results_["std_test_score"]
            of_folds = model.best_score_, deviations[model.best_index_]
        elif folds is not None:
            scores = cross_val_score(clone(pipeline), X, y, cv=folds, error_score="raise")
            of_folds = np.mean(scores), np.std(scores)
        score = pipeline.score(X_test, y_test)
    # no constant has an R2 or a D2 above 0, or an accuracy above the share of the largest class
    best = 0.0 if labels is None else np.unique(y_test, return_counts=True)[1].max() / len(y_test)
    return Fit(data, pipeline, seconds, score, best, len(y_test), of_folds, messages)
