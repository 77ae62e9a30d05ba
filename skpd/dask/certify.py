"""Certificates for fitted linear models on Dask collections (`certify`)."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, cast

import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator

from .._typing import Array
from ..certificates import Certificate
from ..estimators.base import PrimalDualEstimator
from ..estimators.classifier import weights_of_classes
from ..foreign.certify import GivenObjective, certified, check_linear, fits_of
from ..foreign.data import Data, require_classes, shares, weights_of_outputs
from ..foreign.objectives import own_objective
from ..formulation.offsets import without_none
from ..losses import Loss
from ..losses.shifted import posed_with
from ..penalties import Penalty
from ..problems import Problem
from ..problems.shards.bounds import target_sums
from ..problems.shards.problem_of_shards import problem_of_shards
from . import models
from .collections import Collection, PerRow, class_weights, client_of, workers_with
from .model_bases import OnDask
from .row_store import RowSpecification, require_numbers
from .shards import DaskShards
from .worker_group import WorkerGroup


def certify(
    estimator: BaseEstimator,
    X: Collection,
    y: PerRow,
    sample_weight: PerRow = None,
    *,
    client: Client | None = None,
    rigorous: bool = False,
    tol: float = 1e-7,
    max_iter: int = 20_000,
    loss: str | Loss | None = None,
    penalty: str | Penalty | None = None,
    alpha: float | None = None,
    fit_intercept: bool | None = None,
    offset: PerRow = None,
) -> Certificate:
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
        The numbers that were added to the predictions of the rows when the estimator was fitted;
        for one that was fitted with an exposure the logarithms of that are among them.

    Returns
    -------
    certificate : Certificate
        See `skpd.certify`.

    Raises
    ------
    TypeError
        If the estimator has no coefficients, or if its objective is not known.
    ValueError
        If the data does not fit the model, or if the objective takes several outputs together.

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
    objective = GivenObjective.of(loss, penalty, alpha, fit_intercept)
    client = client_of(client)
    if objective is None and isinstance(estimator, PrimalDualEstimator):
        remote = _on_dask(estimator, client)
        fits = own_objective(remote, X, y, sample_weight, **without_none(offset=offset))  # type: ignore[arg-type]
    else:
        workers = workers_with(client, X, y, sample_weight, offset)
        data = DaskData(workers, type(estimator).__name__, offset)
        # `DaskData` has the members of `Data` that objectives of single outputs ask for
        fits = fits_of(estimator, cast(Data, data), objective)
    return certified(fits, rigorous=rigorous, tol=tol, max_iter=max_iter)


def _on_dask(estimator: PrimalDualEstimator, client: Client) -> PrimalDualEstimator:
    """The estimator for Dask collections with the parameters and model of an ordinary one."""
    if isinstance(estimator, OnDask):
        return copy(estimator)
    kind: Any = getattr(models, type(estimator).__name__, None)
    if kind is None or kind._local is not type(estimator):
        raise TypeError(
            f"skpd.dask takes {', '.join(models.__all__)} of this package, got "
            f"{type(estimator).__name__}."
        )
    remote: OnDask = kind(**estimator.get_params(deep=False), client=client)
    kept = "coef_", "intercept_", "classes_"
    remote.__dict__.update({name: each for name, each in vars(estimator).items() if name in kept})
    return remote


RowsOfLoss = Callable[..., RowSpecification]  # of the loss and a constant column


@dataclass(frozen=True)
class DaskData:
    """Data that workers hold, with the interface of `skpd.foreign.data.Data`."""

    X: WorkerGroup  # which has the shape of the data
    name: str
    offset: PerRow = None

    @property
    def y(self) -> np.ndarray:
        """The sorted distinct labels."""
        return class_weights(self.X)[0]

    def __getattr__(self, name: str) -> NoReturn:
        raise ValueError(
            f"{self.name} cannot be certified on data of Dask: its objective asks for {name!r} of "
            "all rows together."
        )

    def outputs(self) -> list[RowsOfLoss]:
        self.X.of_chunks(require_numbers)
        return [RowSpecification]

    def one_vs_rest(
        self, estimator: BaseEstimator, class_weight: Array | None = None
    ) -> Iterator[RowsOfLoss]:
        """The rows of each output: its positive class and class weights."""
        classes = estimator.classes_
        require_classes(self.y, classes, self.name)
        for k, factors in weights_of_outputs(len(classes), class_weight):
            yield partial(RowSpecification, positive=classes[k], class_weight=(classes, factors))

    def class_weight(self, estimator: BaseEstimator, *, weighted: bool) -> Array:
        """The weight of each class; "balanced" uses the sums of the weights of rows."""
        labels, sums = class_weights(self.X)
        if not weighted and estimator.class_weight == "balanced" and self.X.has_weights:
            raise ValueError(
                f"class_weight='balanced' of {self.name} counts rows, which takes data in memory "
                "where there is a sample_weight."
            )
        return weights_of_classes(estimator.class_weight, labels, labels, sums)

    def rows_of(
        self, output: RowsOfLoss, loss: Loss, column: float | None
    ) -> tuple[float, Callable[..., Problem]]:
        """See `skpd.foreign.data.Data.rows_of`; the workers hold the rows."""
        shards = DaskShards(self.X, output(loss, column=column))
        _, total = shares(shards.sums(target_sums)["weight"].bounded[0], self.name)
        posed = posed_with(loss, cast(Array | None, self.offset))
        return total, partial(problem_of_shards, shards, posed, name=self.name)
