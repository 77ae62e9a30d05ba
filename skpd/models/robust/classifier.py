"""Support vector machines that are robust to changes of the distribution of the data."""

from copy import copy
from dataclasses import KW_ONLY, field, replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from ..._compat import Interval, Options, StrOptions
from ..._floats import EPSILON
from ..._typing import Array, ArrayLike, Attributes, MatrixLike, PerRow
from ...designs import Design
from ...estimators.base import _DATA
from ...estimators.classifier import PrimalDualClassifier
from ...estimators.parameters import NOT_NEGATIVE, ClassifierParameters, declared
from ...formulation.formulate import positive_classes, shares_of
from ...formulation.validation import checked_weights, validated
from ...losses import Hinge
from ...problems import Problem, Solution
from .lift import RobustTerms, kappa_of, terms_of
from .norm_epigraph import NORMS
from .problem import plain_problem, robust_problem
from .rows import RowsWithRadius
from .worst_case_distribution import shifted_rows, steepest_direction, worst_masses

# The default cost of a flip, in units of the spread of the features. On twelve data sets no
# multiple of it, nor of the median distance of rows, predicted better than certain labels by more
# than chance, and this one never predicted much worse. The number 1 did.
SPREADS = 4.0


@declared
class DRSVMClassifier(ClassifierParameters, PrimalDualClassifier):
    """Wasserstein distributionally robust SVM, fitted with a certificate.

    Minimises the worst mean hinge loss over all distributions within a Wasserstein distance of
    ``epsilon`` from the training data, where moving a point by v costs ||v||_p and
    flipping its label costs ``kappa``, plus ``alpha / 2 ||w||_2^2``. With 1 / p + 1 / q = 1 ::

        minimise over ||w||_q <= lam, b:
            epsilon lam + sum_i c_i max(1 - m_i, 1 + m_i - kappa lam, 0)
            + alpha / 2 ||w||_2^2

    with the margins m_i = y_i (x_i.w + b) and weights c_i that sum to 1. For ``kappa=inf`` labels
    are certain, and this is the SVM with ``epsilon`` times the norm as its penalty. For
    ``epsilon=0`` it is the SVM without that penalty: lam costs nothing, and once kappa lam is at
    least min(2 m_i, 1 + m_i) for all rows the middle term is never the largest, whatever kappa
    and the norm are. More than two classes are handled one-vs-rest.

    Both ``epsilon`` and ``kappa`` are distances, whose useful values depend on the scale of the
    features, and the default of ``kappa`` follows it.

    Parameters
    ----------
    epsilon : float, default=0.01
        Radius of the Wasserstein ball, at least 0, in units of the features. 0 is the plain mean
        hinge loss, where only ``alpha`` bounds the coefficients. With ``alpha=0`` as well, and
        features that are combinations of others up to rounding, the lower bound on the objective
        is 0, and the certificate may stay wide.
    kappa : "scale" or float, default="scale"
        Cost of flipping a label, in the same units, greater than 0; inf for labels that are
        certain. "scale" is 4 ||s||_p with the standard deviations s of the features (weighted as
        the samples are), so that a flip costs as much as a move by four standard deviations in
        every feature; and inf where no feature varies. The paper's experiments have 1. The worst
        distribution flips labels where this adds more to the loss, for its cost, than moving
        points.
    norm : {1, 2, inf}, default=2
        The q of the norm on the coefficients. Points move in its dual norm: with 1 any
        feature may move by as much, with inf all movements add up.
    alpha : float, default=0.0
        Weight of half the squared Euclidean norm (the paper's c), at least 0.
    solver : {"auto", "isg", "ippa", "hybrid"}, default="auto"
        "auto" is the fastest method known for the problem, see
        `skpd.solvers.select`. The others are the incremental methods of Li,
        Chen and So (2020), see `skpd.models.robust.incremental`.
    solver_options : dict, default=None
        Options of a named solver: ``preset``, the name of an experiment of the paper,
        ``scheme``, ``first_step``, ``ratio``, ``cycles``, ``gamma``, ``shuffle``;
        ``batch_size``, of which the paper's "ippa" has 1; "ippa" and "hybrid": ``prox_tol``;
        "hybrid": ``switch`` and ``proximal_batch_size``.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction.
    max_iter : int, default=50_000
        Iterations at most: Newton steps for "auto", epochs for the others, which also stop where
        their steps have become short.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised. The paper has none.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply ``sample_weight``.
    warm_start : bool, default=False
        Start from the last fit's solution where the shapes agree. "auto" uses the start where it
        is within ``tol`` already, or where Newton steps are not possible.
    n_jobs : int, default=None
        Threads over the classes of a one-vs-rest fit.
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients, in the precision of X.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 without ``fit_intercept``.
    kappa_ : float
        The cost of flipping a label that the fit used.
    radius_ : ndarray of shape (1,) or (n_classes,)
        The optimal lam, the increase of the worst mean loss for a unit of ``epsilon``.
    dual_coef_ : ndarray of shape (1, 2, n_samples) or (n_classes, 2, n_samples)
        Multipliers p and r of each sample's loss with its own and with the other label.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    certificate_ : Certificate
        The interval that holds the optimal objective value. For one-vs-rest a `Certificates`:
        a sequence with one for each class and the attributes, such as ``gap``, of the worst.
    duality_gap_ : float
        Length of that interval; the largest for one-vs-rest.
    relative_gap_ : float
        The largest length of an interval as a share of what could be improved on the best
        constant prediction, compared with ``tol``: 0 is optimal, and 1 means that nothing was
        learnt.
    gap_history_ : structured ndarray, or list of them for one-vs-rest
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
        If the relative gap is still above ``tol`` in the end.
    UserWarning
        If all coefficients are 0; the message says why, and what to try. A reason is an
        ``epsilon`` for which multipliers prove that no model is better than a constant.

    See Also
    --------
    path : Models for many values of epsilon; `PathCV` chooses among them.
    PdproxSVC : Classifier with any margin loss and any penalty, such as a norm.

    References
    ----------
    Li, Chen, So: Fast epigraphical projection-based incremental algorithms for Wasserstein
    distributionally robust support vector machine. NeurIPS 2020.

    Shafieezadeh-Abadeh, Kuhn, Mohajerin Esfahani: Regularization via mass transportation.
    JMLR 20, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import DRSVMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), DRSVMClassifier(epsilon=0.05)).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.98
    >>> print(f"{model[-1].certificate_.primal:.4f}, none below {model[-1].certificate_.dual:.4f}")
    0.1274, none below 0.1274
    """

    radius_: Array = field(init=False)

    _path_parameter: ClassVar[str] = "epsilon"
    _takes_offset: ClassVar[bool] = False
    _own_constraints: ClassVar[dict] = {
        "epsilon": [NOT_NEGATIVE],
        "kappa": [StrOptions({"scale"}), Interval(Real, 0, None, closed="right")],
        "norm": [Options(Real, set(NORMS))],
        "alpha": [NOT_NEGATIVE],
    }

    epsilon: float = 0.01
    _: KW_ONLY
    kappa: float | Literal["scale"] = "scale"
    norm: float = 2
    alpha: float = 0.0
    solver: Literal["auto", "isg", "ippa", "hybrid"] = "auto"

    def _get_loss(self) -> Hinge:
        return Hinge()

    def _problems_of(self, X, targets, sample_weight) -> list[Problem]:
        kappa = self.kappa
        if kappa == "scale":
            kappa = SPREADS * spread_of(Design(X), shares_of(sample_weight)[0], self.norm)
        self.kappa_ = float(kappa)
        return super()._problems_of(X, targets, sample_weight)

    def _problem(self, design, y, loss, sample_weight) -> Problem:
        weights, total_weight = shares_of(sample_weight)
        return robust_problem(
            design, y, weights, epsilon=self.epsilon, kappa=self.kappa_, norm=self.norm,
            ridge=self.alpha, fit_intercept=bool(self.fit_intercept), total_weight=total_weight,
        )  # fmt: skip

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        fitted = copy(self)
        fitted.kappa = self.kappa_
        problems = super(DRSVMClassifier, fitted)._fitted_problems(X, y, sample_weight, offset)
        return problems if self.epsilon > 0.0 else [plain_problem(each) for each in problems]

    def _checked_options(self, problem: Problem) -> dict[str, Any]:
        options = super()._checked_options(problem)
        if self.solver == "auto":
            return options
        terms = RobustTerms(self.norm, float(self.epsilon), self.kappa_, float(self.alpha))
        return {**options, "terms": terms}

    def _solve(self, problem, *, start, random_state, on_check=None, brief=False) -> Solution:
        """Solve and certify a problem; for epsilon = 0 the equivalent one of the ordinary SVM."""
        options = {"random_state": random_state, "on_check": on_check, "brief": brief}
        if self.epsilon > 0.0:
            return super()._solve(problem, start=start, **options)
        if start is not None:
            p, r = start.dual_coef
            dual_coef = -problem.y * (p - r)
            start = replace(start, coef=problem.project(start.coef), dual_coef=dual_coef)
        solution = super()._solve(plain_problem(problem), start=start, **options)
        p = np.abs(solution.dual_coef)
        coef = problem.extend(solution.coef, float(solution.intercept))
        return replace(solution, coef=coef, dual_coef=np.stack([p, np.zeros_like(p)]))

    def _other_attributes(self, solutions, fit) -> Attributes:
        radii = [
            problem.extend(np.asarray(solution.coef, np.float64), float(solution.intercept))[-1]
            for problem, solution in zip(fit.problems, solutions, strict=True)
        ]
        return super()._other_attributes(solutions, fit) | {"radius_": np.array(radii)}

    # The worst case at the fitted model

    def worst_case_loss(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None
    ) -> float | Array:
        """The largest mean hinge loss of the model over the Wasserstein ball around data.

        On the training data (with ``class_weight``, if any, in ``sample_weight``) this and
        ``alpha / 2 ||w||_2^2`` are the objective.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The centre of the ball.
        y : array-like of shape (n_samples,)
            Class labels of the centre.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the centre.

        Returns
        -------
        loss : float or ndarray of shape (n_classes,)
            One for each classifier of a one-vs-rest fit.

        Raises
        ------
        ValueError
            If the data are invalid or hold a label not seen in `fit`.
        """
        losses = []
        for case in self._cases(X, y, sample_weight):
            problem = case.problem
            loss = problem.rows.as_kind(RowsWithRadius).loss.at_radius(case.radius)
            losses_of_rows = loss.value(np.ones_like(problem.y), case.margins)
            losses.append(self.epsilon * case.radius + float(problem.weights @ losses_of_rows))
        return losses[0] if len(losses) == 1 else np.array(losses)

    def worst_case_distribution(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None
    ) -> Bunch:
        """A distribution in the Wasserstein ball around data whose mean loss is the largest.

        Labels are flipped where this adds most to the loss for its cost, and the rest of
        ``epsilon`` moves all points with a positive loss by the same distance, along
        the direction in which the loss grows fastest (Shafieezadeh-Abadeh et al., 2019, Theorem
        3.20). If no point has a positive loss, the supremum is not attained: distributions in
        which a little mass moves far approach it, and the one returned lacks at most 1e-9 of it.

        Parameters
        ----------
        X, y, sample_weight
            The centre of the ball, in the format of `worst_case_loss`.

        Returns
        -------
        distribution : Bunch
            With the attributes

            X : {ndarray, sparse array} of shape (n_points, n_features)
                The points.
            y : ndarray of shape (n_points,)
                Their labels.
            mass : ndarray of shape (n_points,)
                Their masses, which sum to 1.
            source : ndarray of shape (n_points,)
                The row that each point's mass comes from.
            cost : ndarray of shape (n_points,)
                The cost of the move for each unit of mass; ``mass @ cost <= epsilon``.

        Raises
        ------
        ValueError
            If the data are invalid or hold a label not seen in `fit`, or after a one-vs-rest fit.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError(
                "worst_case_distribution is that of one classifier: it needs a fit with 2 "
                f"classes, got {len(self.classes_)}."
            )
        (case,) = self._cases(X, y, sample_weight)
        problem = case.problem
        mass, sign, source, distance = worst_masses(
            problem, case.margins, terms_of(problem).norm.value(self._dense_coef[0])
        )
        other = sign != problem.y[source]
        cost = distance.copy()
        cost[other] += kappa_of(problem)
        direction = steepest_direction(self._dense_coef[0], self.norm)
        moved = shifted_rows(case.X, source, -sign * distance, direction)
        labels = self.classes_[(sign > 0.0).astype(np.intp)]
        return Bunch(X=moved, y=labels, mass=mass, source=source, cost=cost)

    def _cases(self, X, y, sample_weight) -> list[Bunch]:
        """The problem on given data, the margins and the radius lam, for each classifier."""
        check_is_fitted(self)
        X, y = validated(self, X, y, reset=False, **_DATA)
        sample_weight = checked_weights(sample_weight, X)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y must hold the classes seen in fit, {self.classes_.tolist()}, got "
                f"{unknown.tolist()[0]!r}."
            )
        design = Design(X)
        positives = self.classes_[positive_classes(self.classes_)]
        coefs, cases = self._dense_coef, []
        for positive, coef, intercept in zip(positives, coefs, self.intercept_, strict=True):
            signs = np.where(y == positive, 1.0, -1.0)
            problem = self._problem(design, signs, self._get_loss(), sample_weight)
            margins = problem.y * (design.matvec(np.ascontiguousarray(coef)) + intercept)
            radius = problem.extend(coef, float(intercept))[-1]
            cases.append(Bunch(X=X, problem=problem, margins=margins, radius=radius))
        return cases


@np.errstate(over="ignore", invalid="ignore")
def spread_of(design: Design, weights: Array, norm: float) -> float:
    """The norm of the standard deviations of the features, in the norm in which rows move.

    It is inf where no feature varies by more than rounding errors, or where a variance overflows.

    Parameters
    ----------
    design : Design
    weights : ndarray of shape (n_samples,)
        Weights whose sum is 1.
    norm : {1, 2, inf}
        The norm on the coefficients.
    """
    shift = design.shift_of_columns(weights)
    centred = design if shift is None else design.shifted(shift)
    squares = centred.column_norms(weights) ** 2
    variances = squares - centred.rmatvec(weights) ** 2
    varies = variances > len(weights) * EPSILON * squares
    spread = float(NORMS[norm]().dual_norm(np.sqrt(np.where(varies, variances, 0.0))))
    return spread if spread > 0.0 else np.inf
