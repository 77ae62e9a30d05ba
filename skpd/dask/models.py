"""Estimators of the package for Dask collections, whose rows the workers of a cluster hold."""

from typing import ClassVar

from ..estimators import counts, elastic_net, group_lasso, lasso, logistic, regression, svm
from ..estimators import gamma_tweedie as costs
from .model_bases import ClassifierOnDask, MeansOnDask, RegressorOnDask

__all__ = [
    "ElasticNetPD", "ElasticNetPDClassifier", "GammaPD", "GroupLassoSVC", "LassoPDCertified",
    "LogisticPD", "PdproxRegressor", "PdproxSVC", "PoissonPD", "TweediePD",
]  # fmt: skip


class PdproxSVC(ClassifierOnDask, svm.PdproxSVC):
    """`skpd.PdproxSVC` for arrays and dataframes of Dask, whose rows workers hold.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import PdproxSVC
    >>> model = PdproxSVC(0.01).fit(X, X[:, 0] > 0.0)
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = svm.PdproxSVC


class GroupLassoSVC(ClassifierOnDask, group_lasso.GroupLassoSVC):
    """`skpd.GroupLassoSVC` for arrays and dataframes of Dask, whose rows workers hold.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import GroupLassoSVC
    >>> model = GroupLassoSVC(0.01, groups=2).fit(X, X[:, 0] > 0.0)
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = group_lasso.GroupLassoSVC


class ElasticNetPDClassifier(ClassifierOnDask, elastic_net.ElasticNetPDClassifier):
    """`skpd.ElasticNetPDClassifier` for arrays and dataframes of Dask, whose rows workers hold.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import ElasticNetPDClassifier
    >>> model = ElasticNetPDClassifier(0.01).fit(X, X[:, 0] > 0.0)
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = elastic_net.ElasticNetPDClassifier


class LogisticPD(ClassifierOnDask, logistic.LogisticPD):
    """`skpd.LogisticPD` of two classes for arrays and dataframes of Dask, held by workers.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import LogisticPD
    >>> model = LogisticPD(alpha=0.01, penalty="l2").fit(X, X[:, 0] > 0.0)
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = logistic.LogisticPD
    _max_classes: ClassVar[float] = 2


class PdproxRegressor(RegressorOnDask, regression.PdproxRegressor):
    """`skpd.PdproxRegressor` for arrays and dataframes of Dask, whose rows workers hold.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import PdproxRegressor
    >>> model = PdproxRegressor(0.01).fit(X, X[:, 0])
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = regression.PdproxRegressor


class LassoPDCertified(RegressorOnDask, lasso.LassoPDCertified):
    """`skpd.LassoPDCertified` for arrays and dataframes of Dask, whose rows workers hold.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import LassoPDCertified
    >>> model = LassoPDCertified(0.01).fit(X, X[:, 0])
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = lasso.LassoPDCertified


class ElasticNetPD(RegressorOnDask, elastic_net.ElasticNetPD):
    """`skpd.ElasticNetPD` for arrays and dataframes of Dask, whose rows workers hold.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import ElasticNetPD
    >>> model = ElasticNetPD(0.01).fit(X, X[:, 0])
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = elastic_net.ElasticNetPD


class PoissonPD(MeansOnDask, counts.PoissonPD):
    """`skpd.PoissonPD` for arrays and dataframes of Dask, whose rows workers hold.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import PoissonPD
    >>> model = PoissonPD(alpha=0.01, penalty="l2").fit(X, X[:, 0] ** 2)
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = counts.PoissonPD


class GammaPD(MeansOnDask, costs.GammaPD):
    """`skpd.GammaPD` for arrays and dataframes of Dask, whose rows workers hold.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import GammaPD
    >>> model = GammaPD(alpha=0.01, penalty="l2").fit(X, X[:, 0] ** 2 + 1.0)
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = costs.GammaPD


class TweediePD(MeansOnDask, costs.TweediePD):
    """`skpd.TweediePD` for arrays and dataframes of Dask, whose rows workers hold.

    Parameters, attributes, errors and warnings are those of the estimator for data in memory,
    with the additions below. X is chunked by rows, in arrays or CSR matrices, and so are y and
    the weights. Data in memory, such as the folds of a grid search, are fitted as by that
    estimator, without workers.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client whose workers hold the rows. By default the current client, or, if there is
        none, the client of a new local cluster, with a warning.

    Attributes
    ----------
    communication_ : Communication
        Rounds and seconds of the communication with the workers, and the number of
        workers that were lost. There is none after a fit to data in memory.
    dual_coef_ : dask.array.Array
        The dual point, chunked as the rows are; an array for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> client = Client(processes=False, n_workers=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 6), chunks=(250, 6))
    >>> from skpd.dask import TweediePD
    >>> model = TweediePD(alpha=0.01, power=1.5, penalty="l2").fit(X, X[:, 0] ** 2)
    >>> model.certificate_.relative_gap <= model.tol
    True
    >>> client.close()
    """

    _local = costs.TweediePD
