"""Fits in several threads at once give what they give alone, to the last digit."""

import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skpd import (
    DRSVMClassifier,
    ElasticNetPD,
    LassoPDCertified,
    MultinomialPD,
    MultiTaskPD,
    PdproxSVC,
)
from skpd.designs import Design
from skpd.kernels import Matrix

N_THREADS = 4


def at_once(work):
    """The results of work(0), work(1), ... in threads that begin together."""
    begin = Barrier(N_THREADS)

    def begun(k):
        begin.wait()
        return work(k)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(begun, range(N_THREADS)))


@pytest.fixture
def data(rng):
    """Rows with the labels of two classes, of three, a number and two numbers for each."""
    X = rng.normal(size=(80, 30))
    score = X[:, :3] @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=80)
    return X, {
        "two classes": score > 0.0,
        "three classes": np.digitize(score, [-0.5, 0.5]),
        "number": score,
        "numbers": np.column_stack([score, X[:, 4]]),
    }


# one for each family of methods; what draws at random does so from a seed
SVC, DRAWS = partial(PdproxSVC, 1e-2, tol=1e-8), {"random_state": 0}
MODELS = {
    "multipliers": (SVC(penalty="l1", loss="hinge"), "two classes"),
    "dual descent": (SVC(penalty="l2", loss="hinge", **DRAWS), "two classes"),
    "interior point": (SVC(penalty="linf", loss="hinge"), "two classes"),
    "proximal Newton": (SVC(penalty="l1", loss="logistic"), "two classes"),
    "random coordinates": (LassoPDCertified(1e-2, solver="approx", **DRAWS), "number"),
    "support": (LassoPDCertified(1e-2, tol=1e-8), "number"),
    "elastic net": (ElasticNetPD(1e-2, tol=1e-8), "number"),
    "robust": (DRSVMClassifier(0.1, tol=1e-6), "two classes"),
    "incremental": (
        DRSVMClassifier(0.1, kappa=1.0, solver="isg", tol=1e-2, **DRAWS),
        "two classes",
    ),
    "classes": (MultinomialPD(1e-2), "three classes"),
    "outputs": (MultiTaskPD(1e-2), "numbers"),
}


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", MODELS)
def test_fits_of_the_same_data_do_not_disturb_each_other(name, sparse, data):
    estimator, label = MODELS[name]
    X, y = sp.csr_array(data[0]) if sparse else data[0], data[1][label]
    alone = clone(estimator).fit(X, y)
    assert alone.converged_
    for model in at_once(lambda _: clone(estimator).fit(X, y)):
        np.testing.assert_array_equal(model.coef_, alone.coef_)
        assert model.certificate_.dual == alone.certificate_.dual


@pytest.mark.parametrize("by_rows", [False, True])
def test_threads_share_a_matrix(by_rows, rng):
    """It does not change while it is read. It is large enough for two threads of its own."""
    X = np.array(rng.normal(size=(1100, 1000)), order="C" if by_rows else "F")
    matrix = Matrix.dense(X, False, 2)
    points = rng.normal(size=(N_THREADS, 1000))
    expected = [matrix.matvec(point) for point in points]
    np.testing.assert_allclose(expected, points @ X.T, rtol=1e-10, atol=1e-10)
    for _ in range(5):
        np.testing.assert_array_equal(at_once(lambda k: matrix.matvec(points[k])), expected)


def test_threads_share_a_design_whose_parts_are_made_when_asked_for(rng):
    X = sp.csr_array(rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.2))
    for _ in range(20):
        design = Design(X)
        for found in at_once(lambda _, design=design: design.by_columns.column_counts):
            np.testing.assert_array_equal(found, np.diff(X.tocsc().indptr))


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded CPython"
)
def test_the_lock_stays_disabled():
    """CPython enables it where a module does not say that it needs none."""
    script = "import sys, skpd; print(sys._is_gil_enabled())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
