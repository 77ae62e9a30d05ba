"""Proportional hazards of censored times, with any penalty (`CoxPD`)."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, field
from numbers import Real
from typing import Literal, Self

import numpy as np

from ..._typing import Array, ArrayLike, Attributes, Indices, MatrixLike, PerRow
from ...designs import Design
from ...estimators.base import _DATA, fit_method
from ...estimators.parameters import ScoreParameters, declared
from ...estimators.regressor import PrimalDualRegressor
from ...formulation.formulate import FormulatedProblems, shares_of
from ...formulation.offsets import offset_columns
from ...formulation.validation import checked_weights, require_numbers, validated
from ...problems import Point, Solution
from ...problems.problem import Problem
from .concordance_index import concordance
from .partial_likelihood import PartialLikelihood
from .rows import RowsAtRisk, hazards_problem
from .targets import entries_times_and_events, labels_and_strata, strata_among


@declared
class CoxPD(ScoreParameters, PrimalDualRegressor):
    """Cox's proportional hazards for censored times, with any penalty and a certificate.

    The hazard of a sample is a function of time, which all samples of a stratum share, times
    exp(x.w). Minimises the negative log partial likelihood over the sum of the weights plus
    ``alpha`` times the penalty. A constant has no effect on it, so that there is no intercept.

    Parameters
    ----------
    alpha : float, default=1e-2
        Weight of the penalty beside the likelihood over the number of samples, at least 0; with
        0 no feature is penalised.
    ties : {"efron", "breslow"}, default="efron"
        How events at the same time are treated. With Efron's method each of them has the mean of
        their weights in the sums over samples at risk: a weight of 2 is then not the same as two
        equal samples, as it is with Breslow's. Exact ties are not offered: each of their terms is
        a sum over all sets of as many samples at risk, which running sums over times do not give.
    penalty : str or Penalty, default="l1"
        The penalty on the coefficients; an object of `skpd.penalties` or a name, as for
        `PdproxSVC`.
    l1_ratio : float, default=None
        Share of the l1 norm, for the names of penalties that have one (`PdproxSVC`).
    groups : "auto", int, array-like, list, dict or callable, default=None
        The groups of features for penalties of groups: one size of consecutive groups, or a list
        of sizes; a label for each feature; a list or dict of lists of names, patterns or indices;
        "auto" for the features that come from one column, after `track_columns`; or a callable of
        the names that returns one of these.
    penalty_weights : array-like of shape (n_features,), dict or callable, default=None
        A weight of at least 0 for each feature, by which its part of the penalty is
        multiplied, for penalties of single coefficients. Features with a weight of 0 are not
        penalised; with an infinite weight they are left out, with a coefficient of 0. A dict
        has the weights of some features, the others have 1: by the names of the columns of X,
        a data frame or what `track_columns` has made, or by patterns such as ``"region_*"``.
        Names go before patterns, and later patterns before earlier ones. A callable is called
        by `fit` with the array of all names, and returns an array or such a dict.
    bounds : pair (lower, upper), scipy.optimize.Bounds, dict or callable, default=None
        Bounds of the coefficients, for penalties of single coefficients: numbers or arrays of
        shape (n_features,); None, -inf and inf for none. Bounds that exclude 0 are constraints,
        of estimators that take these; others refuse them. A dict has a pair of numbers for names
        or patterns, and a callable of the names returns any of these, as for
        ``penalty_weights``.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction. Where
        the objective is small, a fit also goes on until the gap is at most 100 ``tol`` of it.
    max_iter : int, default=50_000
        Maximum number of iterations.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients: logarithms of the ratios of hazards.
    intercept_ : float
        0.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution: up to the tolerance, the derivative of the mean loss with respect to the
        prediction of each sample, times the number of samples.
    baseline_ : list of tuple
        For each stratum its label, the times of its events, and the cumulative baseline hazard
        there.
    groups_ : ndarray of str, of shape (n_features,)
        Only with ``groups="auto"``: the names of the columns that each feature comes from.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        That length as a share of what could be improved on the best constant prediction,
        compared with ``tol``: 0 is optimal, and 1 means that nothing was learnt.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that
        of the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str, or list of them for one-vs-rest or several targets
        The method that finished: the value of ``solver``, or with "auto" the method that was
        chosen, such as "multipliers" or "interior-point", or "null-model" where the best
        constant prediction is good enough. The :ref:`reference <solvers>` lists all names.
    converged_ : bool
        Whether the gap is as small as ``tol`` asks for.
    n_iter_ : int
        Iterations; the most of any class or target.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

    See Also
    --------
    PoissonPD : Regression of counts, with exposures.
    OrdinalPD : Ordered classes.

    References
    ----------
    Cox: Regression models and life-tables. Journal of the Royal Statistical Society B, 1972.

    Efron: The efficiency of Cox's likelihood function for censored data. Journal of the American
    Statistical Association, 1977.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import CoxPD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> time, end = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, 500)
    >>> y = np.column_stack([np.minimum(time, end), time <= end])
    >>> model = CoxPD(alpha=0.01).fit(X, y)
    >>> model.coef_.round(1)
    array([ 0.9, -0. ,  0.1])
    >>> print(f"{model.score(X, y):.2f}")
    0.71
    """

    baseline_: list[tuple[object, Array, Array]] = field(init=False)

    fit_intercept = False

    alpha: float = 1e-2
    _: KW_ONLY
    ties: Literal["efron", "breslow"] = "efron"

    @fit_method
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, offset: PerRow = None,
        strata: PerRow = None,
    ) -> Self:  # fmt: skip
        """Fit the model and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. Dense arrays, CSR and CSC in float64 or float32 are used as
            they are, without a copy.
        y : structured array of shape (n_samples,), or array-like of shape (n_samples, 2 or 3)
            The times, and whether there was an event: two fields, of which the one of bools says
            so, as in scikit-survival; or two columns, time and event (0 or 1). With three columns,
            or two fields of numbers, the first has times of entry: samples are at risk at the
            times t with entry < t <= time (left truncation). A subject whose features change is
            then several samples, one for each interval from entry to time.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, non-negative and not all zero; 1 by default. With
            ``ties="breslow"`` a weight of 2 gives the coefficients of a repeated row; by Efron's
            method a repeated event is a tie. With negative weights the objective is not convex,
            so that nothing could be proven of it.
        offset : float or array-like of shape (n_samples,), default=None
            Numbers that are added to the predictions x.w + b, such as the logarithm of an exposure
            for a model of counts; one number is that of all rows. For more than two classes, each
            against the others, the shape is (n_samples, n_classes); `LogisticPD` takes offsets for
            two classes only. Models of several outputs, of kernels and of robust losses take none.
            Predictions for rows that have an offset must be given it too.
        strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            Labels of the strata, each with a baseline of its own; one stratum by default. With
            several columns, such as two of a data frame, each combination of values that occurs
            is a stratum, labelled by their tuple.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid.
        KeyboardInterrupt
            After Ctrl-C; the fitted attributes then hold the best model so far and its
            certificate.
        """
        return self._fit(self._problems(X, y, sample_weight, offset, strata), sample_weight)

    def _problems(self, X, y, sample_weight, offset=None, strata=None) -> FormulatedProblems:
        """The validated data, with the times, events and strata as targets."""
        if y is None:
            raise ValueError("CoxPD requires y to be passed, but the target y is None.")
        self._read_sources(X)
        X = validated(self, X, **_DATA)
        entry, time, event = entries_times_and_events(y, X.shape[0])
        weights = checked_weights(sample_weight, X)
        names, stratum = labels_and_strata(strata, len(time))
        if not np.any(event & (weights > 0.0)):
            raise ValueError(
                "y must have an event of a sample with a positive sample_weight, got "
                f"{np.count_nonzero(event)} events of weight 0: censored times alone say nothing."
            )
        (shifts,) = offset_columns(offset, len(time), 1)
        shares_of(weights)  # raises an error if their sum is not finite
        efron = self.ties == "efron"
        loss = PartialLikelihood(time, event, weights, stratum, shifts, efron=efron, entry=entry)
        problem = hazards_problem(Design(X), loss, self._get_penalty(), self.alpha or 1.0)
        samples = entry, time, event, weights, stratum, 0.0 if shifts is None else shifts
        return FormulatedProblems(X, (time, event, names, stratum, samples), [problem])

    def _fitted_problems(self, X, y, sample_weight, offset=None, strata=None) -> list[Problem]:
        known = [label for label, _, _ in self.baseline_]
        names = labels_and_strata(strata, np.shape(X)[0])[0].tolist()
        if len(names) != len(known) or (len(known) > 1 and names != known):
            got = None if strata is None else names
            raise ValueError(f"strata must hold the labels {known} of the fit, got {got}.")
        return self._as_fitted()._problems(X, y, sample_weight, offset, strata).problems

    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        coef, rows = points[0].coef, fit.problems[0].rows.as_kind(RowsAtRisk)
        scores = rows.scores(np.asarray(coef, np.float64), 0.0)
        time, _, names, stratum, (*samples, shifts) = fit.y
        used, log_increments = rows.loss.baseline(scores)
        masks = [(name, stratum[used] == k) for k, name in enumerate(names.tolist())]
        at = time[used]
        # for each stratum its label, the times of events, and the log of the cumulative hazard
        logs = [(name, at[k], np.logaddexp.accumulate(log_increments[k])) for name, k in masks]
        with np.errstate(over="ignore"):
            hazards = [(name, at, np.exp(log_hazard)) for name, at, log_hazard in logs]
        model: Attributes = {
            "coef_": coef,
            "intercept_": coef.dtype.type(0),
            "_log_baseline": logs,
        }
        # the samples are for `skpd.metrics.SurvivalScorer`
        return {**model, "baseline_": hazards, "_fitted_samples": [*samples, scores + shifts]}

    # Predictions

    def predict(self, X: MatrixLike, offset: PerRow = None) -> np.ndarray:
        """Predict the logarithms of the ratios of hazards to the baseline, x.w + offset.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Larger ones for earlier events.
        """
        return super().predict(X, offset)

    def predict_survival_function(
        self, X: MatrixLike, times: ArrayLike | None = None, offset: PerRow = None,
        strata: PerRow = None,
    ) -> Array:  # fmt: skip
        """Predict the probabilities of no event until given times.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        times : array-like of shape (n_times,), default=None
            Times, in any order; by default those of the events in `fit`, in increasing order.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            The strata of the samples, which must be known from `fit`; required if there were
            several.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_times)
            The numbers exp(-H(t) exp(x.w + offset)), with the cumulative baseline hazard H of the
            stratum (Breslow, 1974).

        Raises
        ------
        ValueError
            If a time is NaN, or strata are missing or were not known in `fit`.
        """
        scores = self.predict(X, offset)
        if times is None:
            times = np.unique(np.concatenate([at for _, at, _ in self.baseline_]))
        require_numbers("times", times)
        if np.isnan(times := np.ravel(np.asarray(times, dtype=np.float64))).any():
            raise ValueError("times must be numbers, got NaN.")
        stratum = self._strata_of(strata, len(scores))
        probabilities = np.empty((len(scores), len(times)))
        for k, (_, at, logs) in enumerate(self._log_baseline):  # hazards of x = 0 may overflow
            n_events = np.searchsorted(at, times, side="right")
            rows = stratum == k
            with np.errstate(over="ignore"):
                hazards = np.exp(np.add.outer(scores[rows], np.append(-np.inf, logs)[n_events]))
            probabilities[rows] = np.exp(-hazards)
        return probabilities

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, offset: PerRow = None,
        strata: PerRow = None,
    ) -> float:  # fmt: skip
        """The concordance index of the predictions (Harrell, Lee and Mark, 1996).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : structured array of shape (n_samples,), or array-like of shape (n_samples, 2 or 3)
            Times and events, as in `fit`. Pairs of an event and a sample that has not yet entered
            are not compared.
        sample_weight : array-like of shape (n_samples,), default=None
            A pair counts by the product of its weights; 1 by default.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            Only pairs of one stratum are compared.

        Returns
        -------
        score : float
            The share of comparable pairs of which the sample with the earlier event has the
            larger prediction; equal ones count by half.
        """
        scores = self.predict(X, offset)
        entry, time, event = entries_times_and_events(y, len(scores))
        weights = checked_weights(sample_weight, scores)
        stratum = labels_and_strata(strata, len(scores))[1]
        return concordance(time, event, scores, weights, stratum, entry)

    def predict_quantile(
        self, X: MatrixLike, quantile: float = 0.5, offset: PerRow = None, strata: PerRow = None
    ) -> Array:
        """Predict the times by which an event has happened with a given probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        quantile : float, default=0.5
            The probability, in (0, 1); 0.5 for the median.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            The strata of the samples, which must be known from `fit`; required if there were
            several.

        Returns
        -------
        times : ndarray of shape (n_samples,)
            The first time at which the predicted probability of no event is at most
            1 - ``quantile``; inf for samples for which it stays above.

        Raises
        ------
        ValueError
            If the quantile is not in (0, 1), or strata are missing or were not known in `fit`.
        """
        if not (isinstance(quantile, Real) and 0.0 < quantile < 1.0):
            raise ValueError(f"quantile must be in (0, 1), got {quantile!r}.")
        scores = self.predict(X, offset)
        log_hazards = np.log(-np.log1p(-quantile)) - scores  # of the baseline, at these times
        stratum, times = self._strata_of(strata, len(scores)), np.empty(len(scores))
        for k, (_, at, logs) in enumerate(self._log_baseline):
            rows = stratum == k
            times[rows] = np.append(at, np.inf)[np.searchsorted(logs, log_hazards[rows])]
        return times

    def drop_dual_coef(self) -> Self:
        """Remove ``dual_coef_`` and the times of the samples, also in pickles.

        They have numbers for each sample, which only a warm start of the next `fit` and the scores
        of `skpd.metrics.SurvivalScorer` need. The times of events remain in ``baseline_``.

        Returns
        -------
        self : object
        """
        self.__dict__.pop("_fitted_samples", None)
        return super().drop_dual_coef()

    def _strata_of(self, strata: PerRow, n_samples: int) -> Indices:
        """The place of the stratum of each sample among those of the fit."""
        return strata_among([label for label, _, _ in self.baseline_], strata, n_samples)
