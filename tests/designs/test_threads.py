"""The limit on BLAS threads."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from sklearn.utils.parallel import _get_threadpool_controller

from skpd import (
    GroupLassoSVC,
    LassoPDCertified,
    MultiTaskPD,
    PathCV,
    PdproxSVC,
    regularization_path,
)
from skpd.designs import dense_gram
from skpd.designs.threads import WORTH_THREADS, blas_threads_for_product, one_blas_thread
from skpd.solvers.newton import output_systems


def blas_threads():
    pools = _get_threadpool_controller().info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_it_is_lifted_after_a_fit(n_threads, rng, monkeypatch):
    """Also where several threads are limited at once, in systems of nearly equal features."""
    X, Y = np.cumsum(rng.normal(size=(900, 150)), axis=1), rng.normal(size=(900, 3))
    alphas, before, seen = n_threads * [1e-3], blas_threads(), []
    solution = output_systems.conjugate_gradients

    def observed(*arguments, **options):
        seen.extend(blas_threads())
        return solution(*arguments, **options)

    monkeypatch.setattr(output_systems, "conjugate_gradients", observed)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda alpha: MultiTaskPD(alpha).fit(X, Y), alphas))
    assert set(seen) == {1}
    assert blas_threads() == before


@pytest.fixture
def two_threads():
    """Whatever the environment says."""
    with _get_threadpool_controller().limit(limits=2, user_api="blas"):
        yield blas_threads()


def test_fits_in_several_threads_leave_blas_as_it_was(two_threads, rng):
    X = rng.normal(size=(60, 120))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0.0, 1, -1)
    begin = Barrier(4)

    def fit(k):
        begin.wait()
        return GroupLassoSVC(1e-3 * (k + 1), groups=3).fit(X, y).converged_

    for _ in range(2):
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(fit, range(4)))
        assert blas_threads() == two_threads


def test_large_products_in_a_fit_have_threads(two_threads):
    """Unless the other thread of a machine is at work on another fit."""
    begin, end = Barrier(2), Barrier(2)

    def other_fit():
        with one_blas_thread:
            begin.wait()
            end.wait()

    with one_blas_thread, one_blas_thread:
        with blas_threads_for_product(WORTH_THREADS):
            with blas_threads_for_product(WORTH_THREADS):
                assert blas_threads() == two_threads
            assert blas_threads() == two_threads
        assert set(blas_threads()) == {1}
        with ThreadPoolExecutor(1) as pool:
            pool.submit(other_fit)
            begin.wait()
            with blas_threads_for_product(WORTH_THREADS):
                assert set(blas_threads()) == {1}
            end.wait()
    assert blas_threads() == two_threads


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
def test_all_of_a_fit_has_one_thread(two_threads, rng):
    X, seen = rng.normal(size=(50, 3)), []

    class Observed(LassoPDCertified):
        def _get_loss(self):
            seen.append(set(blas_threads()))
            return super()._get_loss()

    y = X[:, 0]
    Observed(alpha=0.1).fit(X, y)
    Observed(alpha=0.1).fit(y=y.tolist(), X=X.tolist())
    regularization_path(Observed(), X, y, alphas=[0.1, 0.05])
    PathCV(Observed(), alphas=[0.1, 1e-9], cv=2).fit(X, y)
    assert len(seen) >= 5 and all(each == {1} for each in seen)
    assert blas_threads() == two_threads


def test_the_limit_is_lifted_after_an_error(two_threads):
    with pytest.raises(ValueError, match="NaN"):
        LassoPDCertified().fit(np.full((4, 2), np.nan), np.ones(4))
    assert blas_threads() == two_threads


def test_products_of_everyday_data_have_one_thread(two_threads, rng, monkeypatch):
    """A product of the size of digits is over before a second thread of a busy machine runs."""
    sizes = []

    def observed(multiplications):
        sizes.append(multiplications)
        return blas_threads_for_product(multiplications)

    monkeypatch.setattr(dense_gram, "blas_threads_for_product", observed)
    X = np.asfortranarray(rng.normal(size=(1797, 300)))
    PdproxSVC(1e-3, loss="logistic", penalty="l1").fit(X, X[:, 0] + rng.normal(size=1797) > 0.0)
    assert 0 < max(sizes) <= 1797 * 301 * 301 < WORTH_THREADS
    with one_blas_thread, blas_threads_for_product(max(sizes)):
        assert set(blas_threads()) == {1}
    assert blas_threads() == two_threads
