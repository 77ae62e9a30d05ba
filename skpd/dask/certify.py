"""Certificates for fitted linear models on Dask collections (`certify`)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from distributed import Client

from ..certificates import Certificate
from ..estimators.base import PrimalDualEstimator
from ..estimators.classifier import weights_of_classes
from ..foreign.certify import certified, check_linear, missing_of_objective, unknown_objective
from ..foreign.data import require_classes, shares, weights_of_outputs
from ..foreign.objectives import by_hand, objective_of, own_objective
from ..formulation.offsets import without_none
from ..losses import Loss
from ..losses.shifted import posed_with
from ..penalties import Penalty
from ..problems import Problem
from ..problems.shards.bounds import target_sums
from ..problems.shards.build import problem_of_shards
from . import models
from .collections import class_weights, client_of, team_of
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
    offset: Any = None,
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
    offset : dask array or series of shape (n_samples,), default=None
        The numbers that were added to the predictions of the rows when the estimator was fitted.

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
        data = DaskData.of(client, estimator, X, y, sample_weight, offset)
        found = by_hand(estimator, data, loss, penalty, float(alpha), fit_intercept)  # type: ignore
    elif isinstance(estimator, PrimalDualEstimator):
        rows = without_none(offset=offset)
        found = own_objective(_on_dask(estimator, client), X, y, sample_weight, **rows)
    else:
        objective = objective_of(estimator)
        if objective is None:
            raise TypeError(unknown_objective(estimator))
        data = DaskData.of(client, estimator, X, y, sample_weight, offset)
        found = objective(estimator, data)  # type: ignore
    return certified(found, **options)


def _on_dask(estimator: PrimalDualEstimator, client: Client) -> PrimalDualEstimator:
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

    X: Team  # which has the shape of the data
    name: str
    offset: Any = None

    @classmethod
    def of(
        cls, client: Client, estimator: Any, X: Any, y: Any, sample_weight: Any, offset: Any
    ) -> "DaskData":
        return cls(team_of(client, X, y, sample_weight, offset), type(estimator).__name__, offset)

    @property
    def y(self) -> Any:
        """The sorted distinct labels."""
        return class_weights(self.X)[0]

    def __getattr__(self, name: str) -> NoReturn:
        raise ValueError(
            f"{self.name} cannot be certified on data of Dask: its objective asks for {name!r} of "
            "all rows together."
        )

    def outputs(self) -> list[dict[str, Any]]:
        self.X.ask_anew("require_numbers")
        return [{}]

    def one_vs_rest(self, estimator: Any, class_weight: Any = None) -> Iterator[dict[str, Any]]:
        """The arguments of `Task` for each output: the positive class and class weights."""
        classes = estimator.classes_
        require_classes(self.y, classes, self.name)
        for k, factors in weights_of_outputs(len(classes), class_weight):
            yield {"positive": classes[k], "class_weight": (classes, factors)}

    def class_weight(self, estimator: Any, *, weighted: bool) -> Any:
        """The weight of each class; "balanced" uses the sums of the weights of rows."""
        labels, sums = class_weights(self.X)
        if not weighted and estimator.class_weight == "balanced" and self.X.has_weights:
            raise ValueError(
                f"class_weight='balanced' of {self.name} counts rows, which takes data in memory "
                "where there is a sample_weight."
            )
        return weights_of_classes(estimator.class_weight, labels, labels, sums)

    def rows_of(
        self, output: dict[str, Any], loss: Loss, column: float | None
    ) -> tuple[float, Callable[..., Problem]]:
        """See `skpd.foreign.data.Data.rows_of`; the workers hold the rows."""
        shards = DaskShards(self.X, Task(loss, column=column, **output))
        _, total = shares(shards.sums(target_sums)["weight"].bounded[0], self.name)
        posed = posed_with(loss, self.offset)
        return total, partial(problem_of_shards, shards, posed, name=self.name)
