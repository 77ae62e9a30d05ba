"""Data that the tests share."""

import bz2
import os
from pathlib import Path

# Processes that share the cores get a thread each: more would mostly wait for each other. BLAS
# reads it when it is loaded.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib
import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_breast_cancer, load_diabetes, load_svmlight_file
from sklearn.preprocessing import StandardScaler

from tests.oracles.scikit_learn import VERSION

# enough for the suite, which has hundreds of such tests; longer searches are benchmarks
settings.register_profile("suite", max_examples=40, deadline=None)
settings.load_profile("suite")

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def skpd_data():
    """Loader of the larger data sets, from the folder that SKPD_DATA names."""
    folder = os.environ.get("SKPD_DATA")
    if not folder:
        pytest.skip("needs the data sets: set SKPD_DATA to the folder that holds them")

    def load(name, n_features):
        path = Path(folder) / f"{name}.bz2"
        if not path.exists():
            pytest.skip(f"needs {path.name} in the folder SKPD_DATA, which does not hold it")
        with bz2.open(path) as file:
            return load_svmlight_file(file, n_features=n_features)

    return load


@pytest.fixture
def alphas_of_scikit_learn():
    """For tests whose alphas are those of scikit-learn."""
    if VERSION < (1, 9):
        pytest.skip("before scikit-learn 1.9 its alphas ignored weights and signs")


@pytest.fixture
def callbacks():
    """`sklearn.callback`, where there is one."""
    return pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="session")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y
