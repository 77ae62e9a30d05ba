"""Fits of estimators to data for ``python -m skpd``."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.multiclass import check_classification_targets, type_of_target

import skpd

from ._read_files import Data, preparation

CLASSES = (
    skpd.PdproxSVC, skpd.LogisticPD, skpd.GroupLassoSVC, skpd.PdproxRegressor,
    skpd.GroupLassoPD, skpd.QuantilePD, skpd.PoissonPD, skpd.GammaPD,
)  # fmt: skip
ESTIMATORS = {kind.__name__: kind for kind in CLASSES}
# options that are parameters of estimators
PARAMETERS = "alpha", "class_weight", "groups", "loss", "max_iter", "penalty", "quantiles", "tol"
MAX_CLASSES = 50  # more different numbers are no labels


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
    log_loss : float or None
        That of probabilities on the rows held out, if the model has any.
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
    log_loss: float | None
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
    return name, why


def make_estimator(name, options):
    """The estimator of this name with the parameters that are among the options."""
    estimator = ESTIMATORS[name]()
    parameters = {
        key: getattr(options, key) for key in PARAMETERS if getattr(options, key) is not None
    }
    if "groups" in parameters and "penalty" in estimator.get_params():
        parameters.setdefault("penalty", "group")
    return estimator.set_params(**parameters)


def check_targets(estimator, y):
    """Refuse words for a regressor, and for a classifier what is no label."""
    if not is_regressor(estimator):
        check_classification_targets(y)
    elif y.dtype.kind not in "biuf":
        raise ValueError(f"{type(estimator).__name__} needs numbers as targets, got {y[0]!r}")


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
    with_probabilities = hasattr(pipeline, "predict_proba")
    loss = log_loss(y_test, pipeline.predict_proba(X_test)) if with_probabilities else None
    return Fit(data, pipeline, seconds, score, best, loss, len(y_test), of_folds, messages)
