"""Fits on the workers of a local Dask cluster: cost beside local fits, memory and faults.

Parts, all of them by default:

same    On a9a and Reuters (SKPD_DATA) and generated data: the certified intervals of two workers
        and of this process intersect; the largest difference of coefficients, Newton steps, and
        whether one, two and four workers give the same numbers.
cost    The l1-penalised hinge and logistic losses on generated float32 data, with two workers and
        in this process with two threads: seconds, rounds for each Newton step (those on samples
        and on some of the rows included), bytes.
memory  The peak of what is resident in this process for 1, 4 and 16 million rows, less what was
        there before the fit.
faults  A worker is killed at a random moment of each of 20 fits.

How fast fits are beside those of dask-ml is among `benchmarks.corners`.
"""

import os
import signal
import threading
import time
import warnings
from functools import partial

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import skpd
import skpd.dask
from benchmarks.helpers.data import load
from skpd.dask.worker_group import WorkerGroup
from skpd.problems.shards.smoothing import curvature

from .blocks import Peak

CHUNK = 250_000  # rows
NOISE, TRUE = 0.5, 10  # of the targets, and the features that they depend on
ALPHA = 1e-3


def cluster_of(n_workers):
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50,
        memory_limit=0,
    )  # fmt: skip


def chunk_of(k, n, d):
    """Rows of chunk k, and labels of a sparse linear model with noise."""
    rng = np.random.default_rng(k)
    X = rng.standard_normal((n, d), dtype=np.float32)
    w = np.where(np.arange(d) < TRUE, (-1.0) ** np.arange(d), 0.0).astype(np.float32)
    noise = NOISE * np.sqrt(TRUE) * rng.standard_normal(n, dtype=np.float32)
    return X, (X @ w + noise > 0.0).astype(np.int8)


def generated(n, d):
    """Such chunks, held by the workers."""
    import dask

    lengths = [min(CHUNK, n - first) for first in range(0, n, CHUNK)]
    blocks, labels = [], []
    for k, m in enumerate(lengths):
        block, label = dask.delayed(chunk_of, nout=2)(k, m, d)
        blocks.append(da.from_delayed(block, (m, d), np.float32))
        labels.append(da.from_delayed(label, (m,), np.int8))
    X, y = dask.persist(da.concatenate(blocks), da.concatenate(labels))
    wait([X, y])
    return X, y


def local(n, d):
    """The same rows in this process."""
    X, y = np.empty((n, d), np.float32), np.empty(n, np.int8)
    for k, first in enumerate(range(0, n, CHUNK)):
        some = slice(first, min(first + CHUNK, n))
        X[some], y[some] = chunk_of(k, some.stop - first, d)
    return X, y


def timed(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def intersect(one, other):
    slack = 1e-12 * one.primal
    return one.dual <= other.primal + slack and other.dual <= one.primal + slack


def part_same(options):
    sets = {"generated": lambda: local(200_000, 30)}
    for name in ("a9a", "reuters"):
        sets[name] = lambda name=name: load(name)[:2]
    for name, make in sets.items():
        X, y = make()
        for loss in ("hinge", "logistic"):
            given = {"alpha": ALPHA, "loss": loss, "tol": 1e-9}
            here, found = skpd.PdproxSVC(**given).fit(X, y), []
            for n_workers in (1, 2, 4):
                with cluster_of(n_workers) as cluster, Client(cluster):
                    chunks = len(y) // 7 + 1
                    table = X.toarray() if name == "a9a" and hasattr(X, "toarray") else X
                    dask_X = da.from_array(table, chunks=(chunks, X.shape[1]), asarray=False)
                    model = skpd.dask.PdproxSVC(**given)
                    model.fit(dask_X, da.from_array(np.asarray(y), chunks=chunks))
                    found.append(model)
            same = all(np.array_equal(m.coef_, found[0].coef_) for m in found)
            good = intersect(here.certificate_, found[1].certificate_)
            difference = np.max(np.abs(here.coef_ - found[1].coef_))
            print(
                f"{name}, {loss}: intervals {'intersect' if good else 'DIFFER'}, coefficients "
                f"within {difference:.1e}, {found[1].n_iter_} Newton steps for {here.n_iter_}, "
                f"{'the same' if same else 'DIFFERENT'} numbers with 1, 2 and 4 workers",
                flush=True,
            )


class Steps:
    """Counts Newton steps on workers: on all rows, on samples and on some of the rows."""

    def __init__(self):
        self.n_steps, self._ask = 0, WorkerGroup.ask

    def __enter__(self):
        def counted(workers, stores, keys, request):
            self.n_steps += innermost(request) is curvature
            return self._ask(workers, stores, keys, request)

        WorkerGroup.ask = counted
        return self

    def __exit__(self, *_):
        WorkerGroup.ask = self._ask


def innermost(request):
    """What is asked of shards, perhaps of those of some of the rows."""
    while isinstance(request, partial):
        request = request.keywords.get("function", request.func)
    return request


def part_cost(options):
    n, d = options.rows, options.features
    lines = {}
    with cluster_of(2) as cluster, Client(cluster):
        X, y = generated(n, d)
        for loss in ("hinge", "logistic"):
            model = skpd.dask.PdproxSVC(ALPHA, loss=loss)
            with Steps() as steps:
                seconds, cost = timed(model, X, y), model.communication_
            lines[loss] = model.n_iter_, seconds, cost, steps.n_steps
        del X, y
    X, y = local(n, d)
    for loss, (n_iter, seconds, cost, n_steps) in lines.items():
        model = skpd.PdproxSVC(ALPHA, loss=loss)
        here = timed(model, X, y)
        print(
            f"{n:,} x {d}, {loss}: {seconds:.1f} s with 2 workers, {here:.1f} s here, ratio "
            f"{seconds / here:.2f}; {n_iter} and {model.n_iter_} Newton steps on all rows; "
            f"{cost.n_rounds} rounds for {n_steps} on workers, {cost.n_rounds / n_steps:.1f} "
            f"each, {cost.seconds_waiting:.1f} s",
            flush=True,
        )


def part_memory(options):
    with cluster_of(2) as cluster, Client(cluster):
        for millions in (1, 4, 16):
            X, y = generated(millions * 1_000_000, 20)
            with Peak() as peak:
                skpd.dask.PdproxSVC(ALPHA).fit(X, y)
            print(f"{millions} million rows: {peak.grown / 1e6:.0f} MB", flush=True)


def part_faults(options):
    X, y = local(500_000, 20)
    rng = np.random.default_rng(options.seed)
    reference = {loss: skpd.PdproxSVC(ALPHA, loss=loss, tol=1e-7).fit(X, y) for loss in LOSSES}
    lost = wrong = 0
    for k in range(options.fits):
        loss = LOSSES[k % len(LOSSES)]
        with cluster_of(2) as cluster, Client(cluster) as client:
            given = generated(*X.shape)
            model = skpd.dask.PdproxSVC(ALPHA, loss=loss, tol=1e-7)
            usual = timed(model, *given)
            pid = rng.choice(sorted(client.run(os.getpid).values()))
            killer = threading.Timer(rng.random() * usual, os.kill, (int(pid), signal.SIGKILL))
            killer.start()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(*given)
            killer.join()
            lost += model.communication_.workers_lost
            good = model.converged_ and intersect(model.certificate_, reference[loss].certificate_)
            wrong += not good
            print(
                f"  fit {k + 1}, {loss}: {model.communication_.workers_lost} lost, relative gap "
                f"{model.relative_gap_:.0e}, {'as' if good else 'NOT AS'} certified here",
                flush=True,
            )
    print(f"{options.fits} fits, {lost} workers lost in them, {wrong} without a valid certificate")


LOSSES = "hinge", "logistic", "squared_hinge"


def value_of(model, X, y, alpha):
    """The objective value of a model."""
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    margins = (X @ w.astype(np.float64) + b) * (2.0 * y - 1.0)
    return float(da.mean(da.logaddexp(0.0, -margins)).compute()) + 0.5 * alpha * float(w @ w)


PARTS = {"same": part_same, "cost": part_cost, "memory": part_memory, "faults": part_faults}
OPTIONS = {
    "--parts": {"nargs": "+", "choices": PARTS, "default": list(PARTS)},
    "--rows": 20_000_000,
    "--features": 100,
    "--fits": 20,
    "--seed": 0,
}


def main(options):
    for name in options.parts:
        PARTS[name](options)
