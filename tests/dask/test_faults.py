"""What a fit on workers does when something goes wrong: errors, Ctrl-C, lost workers."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import (
    MultiTaskLasso,
)
from sklearn.svm import LinearSVC

import skpd

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


import skpd.dask as skpd_dask  # noqa: E402
from skpd.dask.worker_group import WorkerGroup  # noqa: E402
from skpd.problems.shards.shards import RowsLostError  # noqa: E402
from tests.dask.chunks import D, N, in_chunks  # noqa: E402


def test_ctrl_c_keeps_the_best_model(client, data, monkeypatch):
    from skpd.dask.worker_group import WorkerGroup

    ask, n_asked = WorkerGroup.ask, 0

    def interrupted(*given):
        nonlocal n_asked
        n_asked += 1
        if n_asked == 40:
            raise KeyboardInterrupt
        return ask(*given)

    monkeypatch.setattr(WorkerGroup, "ask", interrupted)
    X, _, labels, _ = data
    model = skpd_dask.PdproxSVC(1e-4, tol=1e-12)
    with pytest.raises(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(in_chunks(X), in_chunks(labels))
    assert model.coef_.any() and model.certificate_.dual <= model.certificate_.primal


SVC = skpd_dask.PdproxSVC


@pytest.mark.parametrize("make, message", [
    (lambda X, c: SVC().fit(in_chunks(X).rechunk({1: 2}), c), r"rechunk\(\{1: -1\}\)"),
    (
        lambda X, c: skpd_dask.certify(LinearSVC().fit(X, c), X, c),
        "X must be a dask array or dataframe, got ndarray",
    ),
    (lambda X, c: SVC().fit(in_chunks(X), None), "requires y to be passed"),
    (lambda X, c: SVC().fit(in_chunks(X), c[:9]), "y must have one entry for each row"),
    (lambda X, c: SVC().fit(in_chunks(X), np.ones(N)), "at least 2 classes"),
    (lambda X, c: SVC(penalty="linf").fit(in_chunks(X), c), r"chunks .* groups.* got LInf\(\)"),
    (
        lambda X, c: SVC().fit(in_chunks(X + 1j), c),
        r"chunk \d of X must hold real numbers, got the type complex128",
    ),
    (
        lambda X, c: skpd_dask.certify(LinearSVC().fit(X, c), in_chunks(X), None),
        "y must be a dask array or series, got None",
    ),
    (lambda X, c: SVC(solver="pdprox-dual").fit(in_chunks(X), c), "solver must be 'auto'"),
    (lambda X, c: SVC(client=3).fit(in_chunks(X), c), "The 'client' parameter"),
    (
        lambda X, c: SVC().fit(in_chunks(np.where(np.arange(N)[:, None] < 1, np.nan, X)), c),
        r"chunk \d of X: Input X contains NaN",
    ),
    (lambda X, c: SVC().fit(in_chunks(X), c, -np.ones(N)), "sample_weight must hold a finite"),
    (lambda X, c: SVC().fit(in_chunks(X), c, np.zeros(N)), "must have a positive, finite sum"),
    (
        lambda X, c: skpd_dask.LassoPDCertified().fit(in_chunks(X), np.full(N, np.nan)),
        "y must hold finite numbers",
    ),
    (lambda X, c: SVC().fit(in_chunks(X), c).predict(in_chunks(X[:, :3])), "X has 3 features"),
    (
        lambda X, c: skpd_dask.certify(
            MultiTaskLasso().fit(X, np.ones((N, 2))), in_chunks(X), in_chunks(np.ones(N))
        ),
        "cannot be certified on data of Dask",
    ),
])  # fmt: skip
def test_errors(client, data, make, message):
    X, _, labels, _ = data
    with pytest.raises(ValueError, match=message):
        make(X, labels)


@pytest.mark.parametrize("column", [0, 1])
def test_errors_of_chunks_are_raised_with_their_cause(client, data, column):
    X, _, labels, _ = data

    def broken(chunk, block_info=None):
        if block_info[0]["chunk-location"][0] == 2:
            raise OSError("the disk is gone")
        return chunk

    given = [in_chunks(X), in_chunks(labels)]
    given[column] = given[column].map_blocks(broken, dtype=given[column].dtype)
    with pytest.raises(RuntimeError, match=f"Chunk 2 of {'Xy'[column]} cannot .* disk") as found:
        SVC().fit(*given)
    assert isinstance(found.value.__cause__, OSError)


@pytest.fixture
def environment():
    """The variables as they were: a cluster of processes sets those of threads and of malloc."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def test_a_lost_worker_is_replaced(data, environment):
    """Killed in the middle of a fit: the model is the same, and a warning says what happened."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, D))
    y = (X[:, 0] + rng.normal(size=4000) > 0.0).astype(int)
    local = skpd.PdproxSVC(1e-3, tol=1e-9).fit(X, y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        given = [da.from_array(each, chunks=(500, *each.shape[1:])) for each in (X, y)]
        pid = min(client.run(os.getpid).values())
        model = skpd_dask.PdproxSVC(1e-3, tol=1e-9)
        ask, n_asked = WorkerGroup.ask, 0

        def ask_and_kill(*arguments):
            nonlocal n_asked
            n_asked += 1
            if n_asked == 25:
                threading.Timer(0.0, os.kill, (pid, signal.SIGKILL)).start()
            return ask(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WorkerGroup, "ask", ask_and_kill)
            with pytest.warns(UserWarning, match="A worker was lost that held"):
                model.fit(*given)
        assert model.communication_.workers_lost >= 1 and model.converged_
        one, other = local.certificate_, model.certificate_
        assert one.dual <= other.primal and other.dual <= one.primal
        assert_allclose(model.coef_, local.coef_, atol=1e-6)
        assert model.dual_coef_.compute().shape == (1, 4000)
        for other in client.run(os.getpid).values():
            os.kill(other, signal.SIGKILL)
        with pytest.raises(RowsLostError, match="was lost, and the dual variables with it"):
            model.dual_coef_.compute()


def test_a_worker_lost_before_it_sends_its_result(environment):
    """Its task would wait for it for ever."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, D)), rng.choice([0, 1], 2000)
    local = skpd.PdproxSVC(1e-3, tol=1e-9).fit(X, y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        given = [da.from_array(each, chunks=(500, *each.shape[1:])) for each in (X, y)]
        pid, wait, n_waits = min(client.run(os.getpid).values()), WorkerGroup.wait, 0

        def wait_and_kill(*arguments):
            nonlocal n_waits
            wait(*arguments)
            n_waits += 1
            if n_waits == 12:
                os.kill(pid, signal.SIGKILL)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WorkerGroup, "wait", wait_and_kill)
            with pytest.warns(UserWarning, match="A worker was lost that held"):
                model = skpd_dask.PdproxSVC(1e-3, tol=1e-9).fit(*given)
    assert_allclose(model.coef_, local.coef_, atol=1e-6)


def test_all_workers_lost_at_once(environment, tmp_path):
    """While chunks are computed, and others come: a scheduler sends them the same tasks."""
    marks = [tmp_path / "begun", tmp_path / "killed"]

    def waiting(chunk):
        marks[0].touch()
        while not marks[1].exists():
            time.sleep(0.01)
        return chunk

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, D)), np.tile([0, 1], 200)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def kill():
            while not marks[0].exists():
                time.sleep(0.01)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            marks[1].touch()

        threading.Thread(target=kill).start()
        given = da.from_array(X, chunks=(100, D)).map_blocks(waiting, dtype=float)
        model = skpd_dask.PdproxSVC(0.01, tol=1e-9).fit(given, y)
    assert_allclose(model.coef_, skpd.PdproxSVC(0.01, tol=1e-9).fit(X, y).coef_, atol=1e-6)
