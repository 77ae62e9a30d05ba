"""Certificates for fitted linear models on Dask collections (`certify`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client
from sklearn.utils.class_weight import compute_class_weight

from ..certificates import Certificate
from ..estimators.base import PrimalDualEstimator
from ..foreign.certify import certified, check_linear, missing_of_objective, unknown_objective
from ..foreign.data import shares
from ..foreign.objectives import by_hand, objective_of, own_objective
from ..losses import Loss
from ..penalties import Penalty
from ..problems import Problem
from ..problems.shards.bounds import target_sums
from ..problems.shards.build import problem_of_shards
from . import models
from .collections import client_of, team_of
from .holder import Task
from .shards import DaskShards
from .team import Team


def certify(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    client: Client | None = None,
    rigorous: bool = False,
    tol: float = 1e-7,
    max_iter: int = 20_000,
    loss: str | Loss | None = None,
    penalty: str | Penalty | None = None,
    alpha: float | None = None,
    fit_intercept: bool | None = None,
) -> Certificate | list[Certificate]:
    """Certify how far a fitted linear model is from optimal, on data that workers hold.

    This function does for Dask collections what `skpd.certify` does for data in memory. The model
    must have one vector of coefficients for each class or target.

    Parameters
    ----------
    estimator : estimator
        An estimator of this package, scikit-learn, celer or skglm whose objective `skpd.certify`
        knows. Any other model with ``coef_`` and ``intercept_``, such as one of dask-ml or a
        linear one of XGBoost, requires ``loss``, ``penalty`` and ``alpha``.
    X : dask array or dataframe of shape (n_samples, n_features)
        The data that the estimator was fitted to, chunked by rows.
    y : dask array or series of shape (n_samples,)
        Targets or class labels.
    sample_weight : dask array or series of shape (n_samples,), default=None
        The non-negative weights that the estimator was fitted with; 1 by default.
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster.
    rigorous, tol, max_iter, loss, penalty, alpha, fit_intercept
        See `skpd.certify`.

    Returns
    -------
    certificate : Certificate, or list of them
        See `skpd.certify`.

    Raises
    ------
    TypeError
        If the estimator has no coefficients, or if its objective is not known.
    ValueError
        If the data does not fit the model, or if the objective has no penalty or takes several
        outputs together.

    Warns
    -----
    ConvergenceWarning
        If the lower bound is not within ``tol`` of the optimum after ``max_iter``
        iterations.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.linear_model import Lasso
    >>> from skpd.dask import certify
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 5), chunks=(250, 5)).persist()
    >>> y = X[:, 0]
    >>> model = Lasso(alpha=0.1).fit(X.compute(), y.compute())
    >>> certify(model, X, y).relative_gap <= 1e-6
    True
    >>> client.close()
    """
    check_linear(estimator)
    missing = missing_of_objective(loss, penalty, alpha, fit_intercept)
    options: dict[str, Any] = {"rigorous": rigorous, "tol": tol, "max_iter": max_iter}
    client = client_of(client)
    if not missing:
        assert loss is not None and penalty is not None and alpha is not None
        data = DaskData.of(client, estimator, X, y, sample_weight)
        found = by_hand(estimator, data, loss, penalty, float(alpha), fit_intercept)  # type: ignore
    elif isinstance(estimator, PrimalDualEstimator):
        found = own_objective(_on_dask(estimator, client), X, y, sample_weight)
    else:
        objective = objective_of(estimator)
        if objective is None:
            raise TypeError(unknown_objective(estimator))
        found = objective(estimator, DaskData.of(client, estimator, X, y, sample_weight))  # type: ignore
    return certified(found, **options)


def _on_dask(estimator: PrimalDualEstimator, client: Client) -> Any:
    """The estimator for Dask collections with the parameters and model of an ordinary one."""
    if isinstance(estimator, models.OnDask):
        return estimator
    kind = getattr(models, type(estimator).__name__, None)
    if kind is None:
        raise TypeError(
            f"skpd.dask takes {', '.join(models.__all__)} of this package, got "
            f"{type(estimator).__name__}."
        )
    other = kind(**estimator.get_params(deep=False), client=client)
    for name, value in vars(estimator).items():
        if name in ("coef_", "intercept_"):
            setattr(other, name, value)
    return other


@dataclass(frozen=True)
class DaskData:
    """Data that workers hold, with the interface of `skpd.foreign.data.Data`."""

    team: Team
    name: str

    @classmethod
    def of(cls, client: Client, estimator: Any, X: Any, y: Any, sample_weight: Any) -> "DaskData":
        return cls(team_of(client, X, y, sample_weight), type(estimator).__name__)

    @property
    def X(self) -> models.Shape:
        return models.Shape(self.team.shape)

    @property
    def y(self) -> Any:
        """The sorted distinct labels."""
        return self._class_weights()[0]

    def _class_weights(self) -> tuple[Any, Any]:
        """The sorted distinct labels, and the sum of the weights of the rows of each."""
        answers = self.team.ask_anew("class_weights")
        found = [part for answer in answers for part in answer.values()]
        labels = np.unique(np.concatenate([own for own, _ in found]))
        weights = np.zeros(len(labels))
        for own, sums in found:
            weights[np.searchsorted(labels, own)] += sums
        return labels, weights

    def __getattr__(self, name: str) -> Any:
        raise ValueError(
            f"{self.name} cannot be certified on data of Dask: its objective asks for {name!r} of "
            "all rows together."
        )

    def outputs(self) -> list[dict[str, Any]]:
        self.team.ask_anew("require_numbers")
        return [{}]

    def one_vs_rest(self, estimator: Any, class_weight: Any = None) -> Iterator[dict[str, Any]]:
        """The arguments of `Task` for each output: the positive class and class weights."""
        classes, labels = estimator.classes_, self._class_weights()[0]
        if not np.array_equal(labels, classes):
            raise ValueError(
                f"y must hold the classes that {self.name} was fitted with, {classes!r}, "
                f"got {labels!r}."
            )
        own = np.ones(len(classes)) if class_weight is None else np.asarray(class_weight)
        if len(classes) == 2:
            yield {"positive": classes[1], "class_weight": (classes, own)}
            return
        for k in range(len(classes)):
            factors = np.where(np.arange(len(classes)) == k, own[k], 1.0)
            yield {"positive": classes[k], "class_weight": (classes, factors)}

    def class_weight(self, estimator: Any, *, weighted: bool) -> Any:
        """The weight of each class; "balanced" uses the sums of the weights of rows."""
        labels, sums = self._class_weights()
        if not weighted and estimator.class_weight == "balanced" and self.team.has_weights:
            raise ValueError(
                f"class_weight='balanced' of {self.name} counts rows, which takes data in memory "
                "where there is a sample_weight."
            )
        with np.errstate(divide="ignore"):
            found = compute_class_weight(
                estimator.class_weight, classes=labels, y=labels, sample_weight=sums
            )
        return np.where(np.isfinite(found), found, 1.0)

    def rows_of(self, output: dict[str, Any], loss: Loss, column: float | None) -> "DaskRows":
        """The rows of one output, with a constant last column of value ``column`` if given."""
        shards = DaskShards(self.team, Task(loss, column=column, **output))
        total = shards.sums(target_sums)["weight"].bounded[0]
        return DaskRows(shards, shares(np.array([total]), self.name)[1], loss, self.name)


@dataclass(frozen=True)
class DaskRows:
    """The rows of one output, and the sum of their weights."""

    shards: DaskShards
    total: float
    loss: Loss
    name: str

    def problem(self, penalty: Penalty, alpha: float, fit_intercept: bool) -> Problem:
        """The problem of these rows with the given penalty."""
        return problem_of_shards(self.shards, self.loss, penalty, alpha, fit_intercept, self.name)
