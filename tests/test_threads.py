"""The limit on BLAS threads."""

import numpy as np
import pytest
from sklearn.utils.parallel import _get_threadpool_controller

from skpd import GroupLassoSVC
from skpd.solvers import quadratic
from skpd.solvers.threads import LARGEST_ALONE, blas_threads_for


def blas_threads():
    pools = _get_threadpool_controller().info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


def test_only_larger_systems_are_limited():
    before = blas_threads()
    with blas_threads_for(LARGEST_ALONE):
        assert blas_threads() == before
    with blas_threads_for(LARGEST_ALONE + 1):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_it_is_lifted_after_a_fit(n_jobs, rng, monkeypatch):
    """Also where several threads are limited at once."""
    X = rng.normal(size=(90, 300))
    y = np.arange(90) % 3
    before, seen = blas_threads(), []
    step = quadratic._newton_step_on_support

    def observed(H, *arguments):
        if len(H) > LARGEST_ALONE + 1:
            seen.extend(blas_threads())
        step(H, *arguments)

    monkeypatch.setattr(quadratic, "_newton_step_on_support", observed)
    GroupLassoSVC(1e-3, groups=3, n_jobs=n_jobs).fit(X, y)
    assert set(seen) == {1}
    assert blas_threads() == before
