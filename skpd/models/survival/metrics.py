"""Scores of survival models: deviance, concordance, Brier scores and areas under ROC curves.

The censoring of times is answered by weights: a sample that is known to have had its event stands
for 1 / G(t) samples, of which the others were censored before, where G is the Kaplan-Meier
estimate of the probability of not being censored until then. Of equal times events come before
censorings, as in scikit-survival.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils import metadata_routing as routing

from ..._checks import shown
from ..._compat import _num_samples
from ..._typing import Array, ArrayLike, MatrixLike, PerRow
from ...estimators.wrappers import final_estimator
from ...formulation.offsets import without_none
from ...formulation.validation import checked_weights
from . import targets as survival_targets
from .censoring import inverse_of_censoring, kaplan_meier, targets_and_weights
from .concordance_index import concordance
from .partial_likelihood import PartialLikelihood


def partial_likelihood_deviance(
    y_true: ArrayLike, y_score: ArrayLike, *, ties: Literal["efron", "breslow"] = "efron",
    sample_weight: PerRow = None, strata: PerRow = None,
) -> float:  # fmt: skip
    """Twice the log partial likelihood of the saturated model less that of predictions.

    The saturated model has a score of its own for each sample. Without ties its likelihood is 1.

    Parameters
    ----------
    y_true : structured array of shape (n_samples,), or array-like of shape (n_samples, 2 or 3)
        Times and events, and times of entry if there are any, as in `CoxPD`.
    y_score : array-like of shape (n_samples,)
        Predicted logarithms of the ratios of hazards, such as those of `CoxPD.predict`.
    ties : {"efron", "breslow"}, default="efron"
        How events at the same time are treated.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples; 1 by default.
    strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
        Labels of the strata, whose samples are at risk together; one stratum by default.

    Returns
    -------
    deviance : float
        At least 0; smaller ones are better.

    Raises
    ------
    ValueError
        If ``ties`` is neither "efron" nor "breslow", or the data are invalid.

    Examples
    --------
    >>> from skpd.metrics import partial_likelihood_deviance
    >>> y = [[1.0, 1], [2.0, 1], [3.0, 0]]
    >>> print(f"{partial_likelihood_deviance(y, [0.0, 0.0, 0.0]):.3f}")  # 2 log(3) + 2 log(2)
    3.584
    """
    if ties not in ("efron", "breslow"):
        raise ValueError(f"ties must be 'efron' or 'breslow', got {ties!r}.")
    entry, time, event = survival_targets.entries_times_and_events(y_true, _num_samples(y_true))
    weights, scores = checked_weights(sample_weight, time), _scores(y_score, time.shape)
    stratum = survival_targets.labels_and_strata(strata, len(time))[1]
    loss = PartialLikelihood(time, event, weights, stratum, efron=ties == "efron", entry=entry)
    return 2.0 * loss.sum_of_weights * (loss.value(scores)[0] - loss.saturated)


def concordance_index(
    y_true: ArrayLike, y_score: ArrayLike, *, y_train: ArrayLike | None = None,
    tau: float = np.inf, sample_weight: PerRow = None, strata: PerRow = None,
) -> float:  # fmt: skip
    """The share of comparable pairs of which the earlier event has the larger prediction.

    A pair is comparable if the earlier of its times is that of an event. The pairs count alike
    (Harrell), or with ``y_train`` by the inverse square of the probability of not being censored
    until the event (Uno), so that the result does not depend on how many are censored.

    Parameters
    ----------
    y_true : structured array of shape (n_samples,), or array-like of shape (n_samples, 2)
        Times and events, as in `CoxPD`.
    y_score : array-like of shape (n_samples,)
        Predictions that are larger for earlier events. Equal ones count by half.
    y_train : as y_true, with samples of its own, default=None
        Times and events for Uno's weights, those that the model was fitted to.
    tau : float, default=inf
        Only events before this time are compared with later times.
    sample_weight : array-like of shape (n_samples,), default=None
        A pair counts by the product of its weights; 1 by default.
    strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
        Only pairs of one stratum are compared.

    Returns
    -------
    concordance : float
        From 0 to 1, 0.5 for chance; nan if no pair is comparable.

    References
    ----------
    Harrell, Lee, Mark: Multivariable prognostic models. Statistics in Medicine, 1996.

    Uno, Cai, Pencina, D'Agostino, Wei: On the C-statistics for evaluating overall adequacy of risk
    prediction procedures with censored survival data. Statistics in Medicine, 2011.

    Examples
    --------
    >>> from skpd.metrics import concordance_index
    >>> y = [[1.0, 1], [2.0, 0], [3.0, 1], [4.0, 0]]
    >>> print(f"{concordance_index(y, [2.0, 3.0, 1.0, 0.0]):.3f}")
    0.750
    >>> print(f"{concordance_index(y, [2.0, 3.0, 1.0, 0.0], y_train=y):.3f}")
    0.810
    """
    time, event, weights = targets_and_weights(y_true, sample_weight)
    scores = _scores(y_score, time.shape)
    stratum = survival_targets.labels_and_strata(strata, len(time))[1]
    counts = event & (time < tau)
    factors = counts.astype(float)
    if y_train is not None:
        factors = inverse_of_censoring(time, counts, "y_train", y_train) ** 2
    return concordance(time, event, scores, weights, stratum, factors=factors)


def brier_score(
    y_true: ArrayLike, y_prob: ArrayLike, times: ArrayLike, *, y_train: ArrayLike | None = None,
    sample_weight: PerRow = None,
) -> tuple[Array, float]:  # fmt: skip
    """The mean squared errors of predicted probabilities of no event, and their mean over time.

    A sample counts by 1 / G(t) at the time t of its event, by 1 / G(times) before, and not at all
    after it was censored, with the probability G of not being censored until then.

    Parameters
    ----------
    y_true : structured array of shape (n_samples,), or array-like of shape (n_samples, 2)
        Times and events, as in `CoxPD`.
    y_prob : array-like of shape (n_samples, n_times)
        Probabilities of no event until ``times``, such as those of
        `CoxPD.predict_survival_function`.
    times : float or array-like of shape (n_times,)
        Increasing times.
    y_train : as y_true, with samples of its own, default=None
        Times and events from which G is estimated, those that the model was fitted to, until after
        the last of ``times``; ``y_true`` by default.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples of ``y_true``; 1 by default.

    Returns
    -------
    scores : ndarray of shape (n_times,)
        Smaller ones are better; probabilities of one half have 0.25, up to the estimate of G.
    integrated : float
        The integrated Brier score: the mean from the first to the last of ``times``, between which
        scores are taken to be linear.

    References
    ----------
    Graf, Schmoor, Sauerbrei, Schumacher: Assessment and comparison of prognostic classification
    schemes for survival data. Statistics in Medicine, 1999.

    Examples
    --------
    >>> from skpd.metrics import brier_score
    >>> y = [[1.0, 1], [2.0, 0], [3.0, 1], [4.0, 0]]
    >>> probabilities = [[0.2, 0.1], [0.7, 0.5], [0.8, 0.4], [0.9, 0.7]]
    >>> scores, integrated = brier_score(y, probabilities, [1.5, 3.0])
    >>> print(scores.round(3), f"{integrated:.3f}")
    [0.045 0.096] 0.071
    """
    (time, event, weights), times = targets_and_weights(y_true, sample_weight), _increasing(times)
    probabilities = _scores(y_prob, (len(time), len(times)), name="y_prob")
    training = ("y_true", y_true, sample_weight) if y_train is None else ("y_train", y_train)
    of_events = inverse_of_censoring(time, event & (time <= times[-1]), *training)
    later = time[:, np.newaxis] > times
    factors = np.where(
        later, inverse_of_censoring(times, True, *training), of_events[:, np.newaxis]
    )
    scores = np.average(factors * (later - probabilities) ** 2, axis=0, weights=weights)
    whole = np.trapezoid(scores, times) / np.ptp(times) if len(times) > 1 else scores[0]
    return scores, float(whole)


def cumulative_dynamic_auc(
    y_true: ArrayLike, y_score: ArrayLike, times: ArrayLike, *, y_train: ArrayLike | None = None,
    sample_weight: PerRow = None,
) -> tuple[Array, float]:  # fmt: skip
    """The areas under the ROC curves of the events until given times, and their mean.

    At each time those who had the event until then are compared with those who are known not to
    have had it: the area is the share of such pairs of which the first has the larger prediction.

    Parameters
    ----------
    y_true : structured array of shape (n_samples,), or array-like of shape (n_samples, 2)
        Times and events, as in `CoxPD`.
    y_score : array-like of shape (n_samples,) or (n_samples, n_times)
        Predictions that are larger for earlier events, the same for all times or one for each.
        Equal ones count by half.
    times : float or array-like of shape (n_times,)
        Increasing times, from the first event of ``y_true`` to before its last time.
    y_train : as y_true, with samples of its own, default=None
        Times and events for the weights 1 / G(t) of events at t, those that the model was fitted
        to; ``y_true`` by default.
    sample_weight : array-like of shape (n_samples,), default=None
        A pair counts by the product of its weights; 1 by default.

    Returns
    -------
    areas : ndarray of shape (n_times,)
        From 0 to 1, 0.5 for chance.
    mean : float
        The mean of the areas, each with the share of the events (Kaplan-Meier) since the time
        before.

    Raises
    ------
    ValueError
        If a time is not between the first event and the end.

    References
    ----------
    Uno, Cai, Tian, Wei: Evaluating prediction rules for t-year survivors with censored regression
    models. Journal of the American Statistical Association, 2007.

    Examples
    --------
    >>> from skpd.metrics import cumulative_dynamic_auc
    >>> y = [[1.0, 1], [2.0, 0], [3.0, 1], [4.0, 0]]
    >>> areas, mean = cumulative_dynamic_auc(y, [2.0, 3.0, 1.0, 0.0], [1.5, 3.0])
    >>> print(areas.round(3), f"{mean:.3f}")
    [0.667 1.   ] 0.867
    """
    (time, event, weights), times = targets_and_weights(y_true, sample_weight), _increasing(times)
    scores = _scores(y_score, time.shape, (len(time), len(times)))
    training = ("y_true", y_true, sample_weight) if y_train is None else ("y_train", y_train)
    if not np.min(time[event], initial=np.inf) <= times[0] <= times[-1] < np.max(time):
        raise ValueError(f"times must be between the first event and the end, got {shown(times)}.")
    factors = inverse_of_censoring(time, event & (time <= times[-1]), *training)
    areas, together = np.empty(len(times)), np.zeros(len(time), dtype=np.int64)
    for k, column in enumerate(np.broadcast_to(scores.T, (len(times), len(time)))):
        later = time > times[k]
        of_samples = column, weights * (later | event), together
        areas[k] = concordance(later.astype(float), event & ~later, *of_samples, factors=factors)
    alive = kaplan_meier(times, y_true, sample_weight, of_events=True)
    return areas, float(-np.diff(alive, prepend=1.0) @ areas / (1.0 - alive[-1]))


@dataclass(eq=False)
class SurvivalScorer(routing._MetadataRequester):
    """A scorer of `CoxPD` and of pipelines that end in one, for searches and cross-validation.

    It is called as ``scorer(estimator, X, y)``, and its results are greater for better models.
    What it needs of the samples that the model was fitted to it takes from the model.

    Parameters
    ----------
    metric : {"deviance", "concordance", "brier", "auc"}
        "deviance" is minus `partial_likelihood_deviance`, with the ``ties`` of the model;
        "concordance" is Uno's `concordance_index`; "brier" is minus the mean over time of
        `brier_score`; "auc" is the mean of `cumulative_dynamic_auc`. The weights of the last three
        are from the censoring of the samples of the fit.
    times : float or array-like of shape (n_times,), default=None
        The times for "brier" and "auc", which need them.
    tau : float, default=inf
        Only events before this time count for "concordance".
    grouped : bool, default=True
        Whether "deviance" is that of all samples, of the fit and held out, less that of the
        samples of the fit. An event held out is then compared with everybody at risk; otherwise
        with those held out alone, which says little where there are few of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skpd import CoxPD
    >>> from skpd.metrics import SurvivalScorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 20))
    >>> time, end = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, 300)
    >>> y = np.column_stack([np.minimum(time, end), time <= end])
    >>> grid = {"alpha": [0.2, 0.1, 0.05, 0.02, 0.01]}
    >>> search = GridSearchCV(CoxPD(), grid, scoring=SurvivalScorer("deviance")).fit(X, y)
    >>> search.best_params_
    {'alpha': 0.05}
    """

    __metadata_request__score: ClassVar[dict] = {"estimator": routing.UNUSED}

    metric: Literal["deviance", "concordance", "brier", "auc"]
    _: KW_ONLY
    times: ArrayLike | None = None
    tau: float = np.inf
    grouped: bool = True

    def __post_init__(self) -> None:
        if self.metric not in (names := ("deviance", "concordance", "brier", "auc")):
            raise ValueError(f"metric must be one of {names}, got {self.metric!r}.")

    def score(
        self, estimator: BaseEstimator, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None,
        offset: PerRow = None, strata: PerRow = None,
    ) -> float:  # fmt: skip
        """The score of a model, as a call of the scorer.

        Parameters
        ----------
        estimator : CoxPD, Pipeline or search
            Fitted.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples held out.
        y : structured array of shape (n_samples,), or array-like of shape (n_samples, 2 or 3)
            Their times and events, as in `CoxPD`; times of entry for "deviance" alone.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; 1 by default.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `CoxPD.fit`; 0 by default.
        strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            The strata of the samples, which must be known from the fit; required if there were
            several.

        Returns
        -------
        score : float
            Greater for better models.

        Raises
        ------
        ValueError
            If the model is no `CoxPD` with ``dual_coef_``.
        """
        model, X = final_estimator(estimator, X)
        if (fitted := vars(model).get("_fitted_samples")) is None:
            raise ValueError(f"estimator must end in a CoxPD with dual_coef_, got {shown(model)}.")
        fitted, rows = _table(*fitted), without_none(offset=offset)
        scores = model.predict(X, **rows)
        stratum = model._strata_of(strata, len(scores))
        if self.metric == "deviance":
            targets = survival_targets.entries_times_and_events(y, len(scores))
            held_out = _table(*targets, checked_weights(sample_weight, scores), stratum, scores)
            if not self.grouped:
                return -_deviance(model.ties, held_out)
            return _deviance(model.ties, fitted) - _deviance(model.ties, fitted, held_out)
        context = {"y_train": fitted[fitted[:, -3] > 0.0, :-3], "sample_weight": sample_weight}
        if self.metric == "concordance":
            return concordance_index(y, scores, tau=self.tau, strata=stratum, **context)
        times, rows = _increasing(self.times), rows | without_none(strata=strata)
        curves = model.predict_survival_function(X, times, **rows)
        if self.metric == "brier":
            return -brier_score(y, curves, times, **context)[1]
        several = len(model.baseline_) > 1  # baselines, which scores do not have
        return cumulative_dynamic_auc(y, -curves if several else scores, times, **context)[1]

    __call__ = score


def _table(*columns: Array | None) -> Array:
    """The columns of samples that there are: times of entry may not be known."""
    return np.column_stack([column for column in columns if column is not None])


def _deviance(ties: Any, *samples: Array) -> float:
    """The deviance of samples in tables of targets, weights, strata and scores."""
    table = np.vstack(samples)
    weights, strata, scores = table[:, -3:].T
    y, of_rows = table[:, :-3], {"sample_weight": weights, "strata": strata}
    return partial_likelihood_deviance(y, scores, ties=ties, **of_rows)


def _scores(values: ArrayLike, *shapes: tuple[int, ...], name: str = "y_score") -> Array:
    """Finite predictions in one of some shapes."""
    array: Array = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    if array.shape not in shapes:
        allowed = " or ".join(map(str, shapes))
        raise ValueError(f"{name} must have the shape {allowed}, got {array.shape}.")
    return array


def _increasing(times: object) -> Array:
    array = np.atleast_1d(np.asarray(times, dtype=np.float64))
    increase = np.all(np.diff(array) > 0.0) and array.size > 0
    if array.ndim > 1 or not (increase and np.isfinite(array).all()):
        raise ValueError(f"times must be finite numbers that increase, got {shown(times)}.")
    return array
