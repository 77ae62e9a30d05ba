"""Choice of alpha by the scores of held-out samples, for any estimator that has a path."""

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import KW_ONLY
from inspect import signature
from numbers import Real
from typing import ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils import metadata_routing as routing
from sklearn.utils.validation import check_is_fitted

from .._compat import HasMethods, Interval, StrOptions, _fit_context, _num_samples, with_callbacks
from .._typing import Array, ArrayLike, MatrixLike, Metadata, PerRow
from .._warn import warn
from ..designs.threads import one_blas_thread
from ..estimators.parameters import ParameterValidation, declared
from ..estimators.wrappers import BestEstimator
from ..formulation.alphas import alpha_values
from ..formulation.offsets import without_none
from ..formulation.progress import CallbackContext, FitTask
from . import fold_paths, scored_folds
from .certified_folds import ScoredModels, scored_models
from .cross_validation import PathSelection
from .fold_paths import FollowedPaths, Splits
from .path import problems_of_path, split_pipeline, warn_of_missed
from .score_bounds import bounds_of_score, may_be_best
from .scored_folds import Samples, ScoredFolds, cv_results, predicting_with, taken_by


@declared
class PathCV(BestEstimator, MetaEstimatorMixin, PathSelection[ScoredFolds], ParameterValidation):
    """Any estimator with alpha chosen by cross-validation along its regularisation path.

    In every fold a model is fitted for each alpha, each from the one before, and scored on the
    samples held out. The alpha with the best mean score, or the largest alpha that is not worse
    by more than one standard error, is used to fit the estimator to all data. Scores are those
    that `sklearn.model_selection.GridSearchCV` finds over the same alphas and folds.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor of this package whose models make a path (see
        `regularization_path`), or a pipeline whose last step is one: then its earlier steps are
        fitted anew in every fold. Its ``alpha`` and ``warm_start`` have no effect on the folds.
        For `DRSVMClassifier` the path is over ``epsilon``, which takes the place of alpha in this
        description.
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha to try in any order, greater than 0, or at least 0 where the model may be
        without a penalty; or their number: then they are at equal ratios, from the smallest alpha
        at which the best constant prediction is certain to be optimal for all data down to
        ``eps`` times that. For squared norms and other penalties without such an alpha see
        `regularization_path`.
    eps : float, default=None
        Ratio of the smallest to the largest alpha, in (0, 1), where ``alphas`` is a number. None
        for 1e-4, and 1e-7 for the penalties without a smallest alpha for the constant.
    certified : float, default=None
        A share in (0, 1) of the objective of the best constant, the largest gap for every alpha
        between the largest and the smallest of ``alphas``, as of `regularization_path`; ``tol`` is
        the last fit only.
    cv : int, cross-validation generator or iterable, default=None
        The folds: their number (5 by default), stratified by class for classifiers, a splitter,
        or an iterable of (train, test) index arrays. The models of a fold have the classes and
        tasks of its training samples only.
    scoring : str or callable, default=None
        A name of `sklearn.metrics.get_scorer_names`, or a callable ``scorer(estimator, X, y)``
        that returns a number, greater for better models; it sees whole pipelines, as in
        `GridSearchCV`. By default the ``score`` of the estimator: the accuracy of classifiers, R^2
        of regressors, the share of the deviance of models of means.
    rule : {"best", "one_standard_error"}, default="best"
        "best" takes the alpha with the best mean score over the folds, of equal ones the
        largest. "one_standard_error" takes the largest alpha whose mean score is at most one
        standard error of the best mean score below it: the standard deviation of that alpha's
        scores, with one degree of freedom less than folds, over the root of their number; of
        repeated folds over that of a single repeat, as the others repeat its rows.
    n_jobs : int, default=None
        Threads over the folds; with ``certified`` there is one.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen; after Ctrl-C of those tried on every fold, if there are any.
    alphas_ : ndarray of shape (n_alphas,)
        The values of alpha tried, decreasing.
    best_estimator_ : estimator
        A clone of ``estimator`` with the chosen alpha, fitted to all data.
    best_index_ : int
        The place of ``alpha_`` in ``alphas_``.
    best_score_ : float
        The mean score of the chosen alpha.
    cv_results_ : dict of ndarrays
        Results as in `GridSearchCV`: "params", "param_alpha" (or "param_epsilon"),
        "split0_test_score" and so on, "mean_test_score", "std_test_score", "rank_test_score"; and
        "max_relative_gap", the largest relative gap of the fits for each alpha. Results that
        Ctrl-C has prevented are nan.
    alpha_ranges_ : ndarray of shape (n_alphas, 2)
        With ``certified`` the ranges of alpha for which the models are certified, which cover all.
    may_be_best_ : ndarray of bool, of shape (n_alphas,)
        With ``certified`` the ranges with an alpha whose optimal models may have the best mean
        score; no alpha in another range can. True everywhere unless the penalty has a squared
        part, there are two classes or one target, and the score is "accuracy", "neg_log_loss",
        "r2", "neg_mean_squared_error", "neg_mean_absolute_error" or the ``score`` of models of
        means; and where the targets of a fold are equal.
    scorer_ : callable
        The scorer of ``scoring``.
    n_splits_ : int
        The number of folds.
    classes_ : ndarray of shape (n_classes,)
        Class labels, for a classifier.
    coef_ : ndarray
        The coefficients of ``best_estimator_``, where it is no pipeline.
    intercept_ : float or ndarray
        Its intercepts.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If a relative gap is still above the estimator's ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try. Also if the choice is at
        an end of the grid and the scores still rise there. The largest alpha is no such end where
        ``alphas`` is a number: the best constant is beyond it.

    See Also
    --------
    regularization_path : The models of a path on all data.
    LassoPDCertifiedCV : The lasso with alpha chosen by the mean squared error.
    MultiTaskPDCV : Models of several outputs with alpha chosen by the loss.

    References
    ----------
    Hastie, Tibshirani, Friedman: The elements of statistical learning. 2nd edition, Springer,
    2009, section 7.10: the rule of one standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import PathCV, PdproxSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), PdproxSVC(loss="logistic"))
    >>> search = PathCV(model, alphas=20, scoring="roc_auc", rule="one_standard_error")
    >>> search = search.fit(X, y)
    >>> print(f"{search.alpha_:.3f} {search.best_score_:.3f}")
    0.013 0.993
    >>> int((search.best_estimator_[-1].coef_ != 0).sum())
    8
    """

    # the estimator and the scorer request the weights, not the search itself
    __metadata_request__fit: ClassVar[dict] = {"sample_weight": routing.UNUSED}
    __metadata_request__score: ClassVar[dict] = {"sample_weight": routing.UNUSED}
    _own_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"])],
        "eps": [Interval(Real, 0, 1, closed="neither"), None],
        "certified": [Interval(Real, 0, 1, closed="neither"), None],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    }

    estimator: BaseEstimator
    _: KW_ONLY
    alphas: int | ArrayLike = 100
    eps: float | None = None
    certified: float | None = None
    cv: Splits = None
    scoring: str | Callable | None = None
    rule: Literal["best", "one_standard_error"] = "best"
    n_jobs: int | None = None

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in (
            "estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags",
        ):  # fmt: skip
            setattr(tags, name, deepcopy(getattr(inner, name)))
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    @with_callbacks
    @one_blas_thread
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, **params: ArrayLike
    ) -> Self:
        """Choose alpha by cross-validation and fit the estimator to all data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the fits and, if the scorer takes them, in the scores; the
            average over the folds is not weighted. A pipeline passes them to its last step, or
            with scikit-learn's metadata routing to the steps that request them.
        **params : dict of array-like of shape (n_samples,)
            ``groups`` for the splitter, and what else the `fit` of the estimator (the last step of
            a pipeline) takes, such as ``offset``, the ``exposure`` of `PoissonPD` or the
            ``strata`` of `CoxPD`: it is also for the predictions for samples held out, for the
            estimator's own score and for a callable ``scoring`` that has such a parameter. With
            scikit-learn's metadata routing what the estimator, its steps, the scorer and the
            splitter request.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If the estimator is not one of this package, nor a pipeline that ends in one.
        ValueError
            If a parameter, the data or the weights are invalid, if the estimator's models do not
            make a path or lack the probabilities that ``scoring`` asks for, or if a model cannot
            be fitted to a fold or scored on it, as where the samples to train on are all of one
            class; the message names the fold.
        KeyboardInterrupt
            After Ctrl-C; the message says which fits are finished. The attribute
            ``cv_results_`` then holds the scores so far, nan where they are missing, and
            ``alpha_`` the choice among the alphas that were tried on every fold, if there is
            one; there is no ``best_estimator_``.
        """
        routing._raise_for_params(params, self, "fit", allow=["groups", *_names(self.estimator)])
        X, y = indexable(X, y)
        params |= without_none(sample_weight=sample_weight)
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        samples, split = self._samples(X, y, scorer, params)
        best = clone(self.estimator)
        steps, model = split_pipeline(best)
        if steps is not None:
            X = steps.fit_transform(X, y, **samples.of_steps)
            best.steps[:-1] = steps.steps  # a pipeline with a memory has fitted clones
        # this raises an error if the model has no such parameter
        any_alpha = clone(model).set_params(**{model._path_parameter: 1.0})
        folds = self._scored_folds(samples, split, any_alpha, X, scorer)
        task: FitTask = {"estimator": self, "X": X, "y": y, "metadata": samples.of_model or None}

        def fit_on_all_data(context: CallbackContext) -> None:
            model.set_params(**{model._path_parameter: self.alpha_})
            with context.propagate_callback_context(model), fold_paths.without_warning_of(model):
                model.fit(X, y, **samples.of_model)
            self.best_estimator_ = best

        paths = self._select(folds, task, fit_on_all_data)
        # the gaps of a certified path are compared with ``certified``
        gaps = paths.gaps if self.certified is None else []
        gaps += [certificate.relative_gap for certificate in model.certificate_.each]
        name, fits = type(self).__name__, "fits to the folds and to all data"
        fold_paths.warn_of_unfinished(name, model, gaps, fits)
        fold_paths.warn_of_end(name, self.alphas, self.alphas_, paths.scored, self.best_index_)
        return self

    def _follow_folds(self, folds: ScoredFolds, context: CallbackContext) -> FollowedPaths:
        if self.certified is None:
            return super()._follow_folds(folds, context)
        model = split_pipeline(self.estimator)[1]
        score = bounds_of_score(model, self.scoring)
        models: list[ScoredModels] = []
        interrupted = True
        with suppress(KeyboardInterrupt):
            models.extend(scored_models(folds, float(self.certified), score))
            interrupted = False
        if not models:
            raise KeyboardInterrupt
        covered = [each.covered for each in models]
        lowest, first = [each.lowest for each in covered], folds.grids[0, 0]
        self.alpha_ranges_: Array = np.column_stack([lowest, np.append(first, lowest)[:-1]])
        bounds = np.reshape([each.bounds for each in models], (-1, self.n_splits_, 2))
        self.may_be_best_ = may_be_best(*bounds.T)
        warn_of_missed(type(self).__name__, self.certified, covered, model.max_iter)
        values = np.reshape([each.values for each in models], (-1, self.n_splits_)).T
        certificates = [[each.certificates[k] for each in models] for k in range(self.n_splits_)]
        alphas = np.array([[each.alpha for each in covered]])
        return FollowedPaths(alphas, values, certificates, interrupted)

    def _samples(self, X, y, scorer, params) -> tuple[Samples, Metadata]:
        """The samples with the metadata that belongs to them, and the metadata of the splitter."""
        if not routing._routing_enabled():
            split = {name: params.pop(name) for name in ("groups",) if name in params}
            return Samples(X, y, {}, params, taken_by(scorer, params)), split
        routed = routing.process_routing(self, "fit", **params)
        steps, model = split_pipeline(self.estimator)
        of_fit = routed.estimator.fit

        def consumed(part, method):
            wanted = routing.get_routing_for_object(part).consumes(method, of_fit.keys())
            return {name: of_fit[name] for name in wanted}

        of_steps = {} if steps is None else consumed(steps, "fit_transform")
        of_model = consumed(model, "fit")
        return Samples(X, y, of_steps, of_model, routed.scorer.score), routed.splitter.split

    def _scored_folds(self, samples, split, model, X, scorer: Callable[..., float]) -> ScoredFolds:
        """The folds and the alphas, with X as the model in a pipeline receives it."""
        _, y, problems, *_ = problems_of_path(model, X, samples.y, **samples.of_model)
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        pairs = list(splitter.split(samples.X, samples.y, **split))
        folds = fold_paths.checked_folds(pairs, problems[0], _num_samples(X))
        if self.rule == "one_standard_error" and len(folds) < 2:
            raise ValueError("rule='one_standard_error' needs 2 folds at least, got 1 from cv.")
        fold_paths.forget_fit(self, but=set())
        self.scorer_, self.n_splits_ = scorer, len(folds)
        zero = self.certified is None and model._fits_alpha_0
        grids = alpha_values(problems, self.alphas, self.eps, zero)[np.newaxis]
        n_threads = min(effective_n_jobs(self.n_jobs), len(folds))
        random_state = check_random_state(model.random_state)
        return ScoredFolds(
            folds, grids, n_threads, random_state, self.estimator, samples, scorer, self.scoring,
            problems,
        )  # fmt: skip

    def _choose_alpha(self, paths: FollowedPaths, folds: ScoredFolds) -> str:
        parameter = split_pipeline(self.estimator)[1]._path_parameter
        (self.alphas_,), self.cv_results_ = paths.grids, cv_results(paths, parameter)
        mean = self.cv_results_["mean_test_score"]
        any_score = not np.isnan(mean).all()
        if not paths.interrupted and not any_score:
            message = (
                f"scoring must return a number for some alpha on every fold, but {self.scorer_} "
                "has returned nan in a fold for each."
            )
            if min(len(test) for _, test in folds.folds) > 1:
                raise ValueError(message)
            # no spread of a single sample can be explained
            warn(
                f"{message} PathCV takes the largest, as nothing is known of folds of one sample. "
                "What to do: pass scoring='neg_mean_squared_error', or fewer folds."
            )
            any_score = True
        if n_missing := len(paths.values) - len(paths.scored):
            warn(
                f"PathCV leaves out {n_missing} of {len(paths.values)} folds, on which "
                f"{self.scorer_} has returned nan for every alpha, as where no samples can be "
                "compared. What to do: fewer folds, or another scoring; for times with few events "
                "skpd.metrics.SurvivalScorer('deviance')."
            )
        if any_score:
            by_error = self.rule == "one_standard_error"
            repeats = scored_folds.repeats_of(folds.folds) if by_error else 1.0
            index = scored_folds.index_of_choice(paths.scored, mean, self.rule, repeats)
            self.best_index_ = index
            self.best_score_ = float(mean[self.best_index_])
            self.alpha_ = float(self.alphas_[self.best_index_])
        choice = ", and alpha_ for the choice among these" if any_score else ""
        return f"{paths.progress('cv_results_')}{choice}."

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, **params: ArrayLike
    ) -> float:
        """The score of the best estimator, by ``scoring``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, for a scorer that takes them.
        **params : dict of array-like of shape (n_samples,)
            Other metadata, such as ``offset``, as in `fit`.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        best, weights = self.best_estimator_, without_none(sample_weight=sample_weight)
        if routing._routing_enabled():
            routed = routing.process_routing(self, "score", **params, **weights)
            return self.scorer_(best, X, y, **routed.scorer.score)
        routing._raise_for_params(params, self, "score", allow=_names(best))
        of_score = taken_by(self.scorer_, params) | weights
        return self.scorer_(predicting_with(best, params), X, y, **of_score)

    def get_metadata_routing(self) -> routing.MetadataRouter:
        """The metadata that `fit` and `score` pass on to the estimator, scorer and splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        scoring = fold_paths.called_by_fit("score").add(caller="score", callee="score")
        return (
            routing.MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=fold_paths.called_by_fit("fit"))
            .add(
                scorer=check_scoring(self.estimator, scoring=self.scoring), method_mapping=scoring
            )
            .add(splitter=check_cv(self.cv), method_mapping=fold_paths.called_by_fit("split"))
        )


def _names(estimator: BaseEstimator) -> set[str]:
    """The names of what `fit` of the last step of an estimator takes."""
    return set(signature(split_pipeline(estimator)[1].fit).parameters)
