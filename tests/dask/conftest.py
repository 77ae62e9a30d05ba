"""A local cluster and data for the tests of the models of Dask."""

import numpy as np
import pytest

from tests.dask.chunks import D, N

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as found:
        yield found


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7)
    y = X[:, 0] - 2.0 * X[:, 1] + rng.normal(size=N)
    return X, y, np.where(y > 0.0, "yes", "no"), 1.0 + np.arange(N) % 3
