"""Elastic nets: regression, also with cross-validation, and classification, with l1 balls too."""

from dataclasses import KW_ONLY
from numbers import Real
from typing import ClassVar, Literal

import numpy as np

from .._compat import Interval, StrOptions
from .._typing import ArrayLike, FeatureBounds, SolverOptions
from ..penalties import L1Ball, Penalty, SquaredL2OnL1Ball
from .base import PrimalDualEstimator
from .lasso import LassoLike
from .names import elastic_net
from .parameters import ClassifierParameters, FitParameters, declared, penalty_by_feature
from .svm import MarginClassifier

PENALISED = ("auto", "agm", "cd", "approx")
CONSTRAINED: tuple[str, ...] = ("auto", "agm", "pdbfw")


class _ElasticNetModel(PrimalDualEstimator):
    """Base class of elastic nets: the penalty or constraint, and the solvers for it."""

    l1_ratio: float
    l1_radius: float | None
    positive: bool = False

    _takes_blocks: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "l1_radius": [Interval(Real, 0, np.inf, closed="neither"), None],
        "solver": [StrOptions({*PENALISED, *CONSTRAINED})],
    }

    def _get_penalty(self) -> Penalty:
        ratio, radius = float(self.l1_ratio), self.l1_radius
        if radius is not None:
            if self.positive or self.penalty_weights is not None or self.bounds is not None:
                raise ValueError(
                    f"{type(self).__name__} takes positive, penalty_weights and bounds without "
                    f"an l1_radius, got l1_radius={radius!r}."
                )
            if ratio < 1.0 and self.alpha > 0.0:
                return SquaredL2OnL1Ball(float(radius), weight=1.0 - ratio)
            return L1Ball(float(radius))
        penalty = elastic_net(ratio, self.positive)
        return penalty_by_feature(penalty, self.penalty_weights, self.bounds, self.alpha)

    def _solver(self) -> str:
        """The name of the solver, after a check that it applies to the model."""
        name, allowed, where = type(self).__name__, CONSTRAINED, "with an l1_radius"
        if self.l1_radius is None:
            allowed, where = PENALISED, "where l1_radius is None"
        if self.solver not in allowed:
            raise ValueError(
                f"The 'solver' parameter of {name} must be one of {allowed} {where}, got "
                f"{self.solver!r}."
            )
        if self.solver == "pdbfw" and self.l1_ratio == 1.0:
            raise ValueError(
                f"The 'solver' parameter of {name} must be 'auto' or 'agm' where l1_ratio is 1, "
                "got 'pdbfw', which needs the squared l2 penalty of an l1_ratio below 1."
            )
        return self.solver


@declared
class ElasticNetPD(FitParameters, _ElasticNetModel, LassoLike):
    """Elastic net regression, penalised or over an l1 ball, fitted with a certificate.

    Minimises, with the weighted mean over the samples,

        mean((y - X w - b)^2) / 2 + alpha l1_ratio ||w||_1 + alpha (1 - l1_ratio) ||w||_2^2 / 2,

    exactly as `sklearn.linear_model.ElasticNet`; or, with an ``l1_radius``, the first and the
    last term subject to ``||w||_1 <= l1_radius``.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, at least 0. With 0 the model is least squares.
    l1_ratio : float, default=0.5
        Share of the l1 norm, in [0, 1]; with an ``l1_radius`` the squared l2 norm keeps the
        weight ``alpha (1 - l1_ratio)``.
    positive : bool, default=False
        Whether the coefficients must not be negative.
    l1_radius : float, default=None
        Radius of the l1 ball that takes the place of the l1 penalty, greater than 0; not with
        ``positive``, ``penalty_weights`` or ``bounds``.
    {penalty_weights_and_bounds}
    {solver_and_solver_options_of_elastic_net}
    {tol_max_iter_and_fit_intercept}
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    {random_state_and_verbose}

    Attributes
    ----------
    {linear_model_and_certificates_of_targets}
    {solver_and_convergence}

    Raises
    ------
    ValueError
        In `fit`, if the solver does not apply, or if ``l1_radius`` is given together with
        ``positive``, ``penalty_weights`` or ``bounds``.

    {warns}

    See Also
    --------
    ElasticNetPDCV : Elastic net with alpha and l1_ratio chosen by cross-validation.
    ElasticNetPDClassifier : Classifier with an elastic net penalty or an l1 ball.
    path : Models for many values of alpha.

    References
    ----------
    {elastic_net_papers}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skpd import ElasticNetPD
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = scale(X)
    >>> model = ElasticNetPD(alpha=1.0, l1_ratio=0.9).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.51
    >>> constrained = ElasticNetPD(alpha=1.0, l1_ratio=0.9, l1_radius=50.0).fit(X, y)
    >>> print(f"{abs(constrained.coef_).sum():.1f}")
    50.0
    """

    alpha: float = 1.0
    _: KW_ONLY
    l1_ratio: float = 0.5
    positive: bool = False
    l1_radius: float | None = None
    penalty_weights: ArrayLike | None = None
    bounds: FeatureBounds = None
    solver: Literal["auto", "agm", "cd", "approx", "pdbfw"] = "auto"
    solver_options: SolverOptions | None = None


@declared
class ElasticNetPDClassifier(ClassifierParameters, _ElasticNetModel, MarginClassifier):
    """Elastic net classification, penalised or over an l1 ball, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha l1_ratio ||w||_1 + alpha (1 - l1_ratio)
    ||w||_2^2 / 2``; or, with an ``l1_radius``, the loss and the last term subject to ``||w||_1 <=
    l1_radius``. More than two classes are handled one-vs-rest.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, greater than 0.
    l1_ratio : float, default=0.5
        Share of the l1 norm, in [0, 1]; with an ``l1_radius`` the squared l2 norm keeps the
        weight ``alpha (1 - l1_ratio)``.
    l1_radius : float, default=None
        Radius of the l1 ball that takes the place of the l1 penalty, greater than 0; not with
        ``penalty_weights`` or ``bounds``.
    {penalty_weights_and_bounds}
    loss : str or MarginLoss, default="hinge"
        {names_of_margin_losses}
    {solver_and_solver_options_of_elastic_net}
    {tol_max_iter_and_fit_intercept}
    {class_weight}
    {warm_start}
    n_jobs : int, default=None
        Threads over the classes of a one-vs-rest fit.
    {random_state_and_verbose}

    Attributes
    ----------
    {linear_model_of_classes}
    {classes_and_certificates}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    ElasticNetPD : Elastic net regression.
    PdproxSVC : Classifier with any margin loss and any penalty.

    References
    ----------
    {elastic_net_papers}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import ElasticNetPDClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> clf = ElasticNetPDClassifier(alpha=0.01, l1_radius=2.0).fit(X, y)
    >>> print(f"{clf.score(X, y):.2f}")
    0.96
    >>> print(f"{abs(clf.coef_).sum():.2f}")
    2.00
    """

    alpha: float = 1e-3
    _: KW_ONLY
    l1_ratio: float = 0.5
    l1_radius: float | None = None
    penalty_weights: ArrayLike | None = None
    bounds: FeatureBounds = None
    solver: Literal["auto", "agm", "cd", "approx", "pdbfw"] = "auto"
    solver_options: SolverOptions | None = None
