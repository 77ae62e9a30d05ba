"""The corners of rows in files, of the workers of a cluster, and of paths of many alphas."""

import os
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

import skpd
from benchmarks.blocks import SHARE, Counted, largest_alpha, written
from benchmarks.helpers.corner import TIGHTER, Corner
from benchmarks.helpers.data import dataset
from benchmarks.helpers.models import MODELS, PATH, alpha_of

# Blocks in a file

BLOCK_ROWS = int(os.environ.get("SKPD_BLOCK_ROWS", "6_000_000"))


def rows_in_file(classes, n=BLOCK_ROWS, d=50):
    """Blocks of a file, which is deleted with them, and targets or labels."""
    folder = TemporaryDirectory()
    path = Path(folder.name) / "X.npy"
    y = written(path, n, d)
    X = Counted([path])
    X.folder = folder
    return X, (np.where(y > 0.0, np.int8(1), np.int8(0)) if classes else y)


def of_blocks(tol, X, y, *, model):
    model = model(tol=tol)
    model.set_params(alpha=SHARE * largest_alpha(model, X, y))
    X.passes = 0.0
    return model.fit(X, y)


def reading(X, y):
    """Sum all numbers of the file, as often as the last fit has read it."""
    for _ in range(round(X.passes)):
        for k in range(X.n_blocks):
            skpd.RowBlocks.block(X, k).sum(dtype=np.float32)  # which does not count


def block_corners():
    for name, model in (("hinge + l1", skpd.PdproxSVC), ("lasso", skpd.LassoPDCertified)):
        yield Corner(
            f"{name}, {BLOCK_ROWS:,} x 50 in a file",
            partial(rows_in_file, model is skpd.PdproxSVC), partial(of_blocks, model=model), 2.5,
            beside=("reading the file, in memory by then, as often", reading),
        )  # fmt: skip


# Workers


ALPHA = 1e-4
ITERATIONS = (10, 20, 50, 100, 200)
SOLVERS = "lbfgs", "newton"  # the others of dask-ml take minutes


def rows_of_workers(n=1_000_000, d=50):
    """Chunks that two workers of one thread each hold."""
    from distributed import Client

    from benchmarks.workers import cluster_of, generated

    client = Client(cluster_of(2))
    return *generated(n, d), client


def seconds_of_all():
    """The processor time of this process and of the workers."""
    from distributed import default_client

    return time.process_time() + sum(default_client().run(time.process_time).values())


def of_workers(tol, X, y, client):
    from skpd.dask import PdproxSVC

    return PdproxSVC(ALPHA, penalty="l2", loss="logistic", tol=tol).fit(X, y)


def dask_ml(max_iter, X, y, client, *, solver):
    from dask_ml.linear_model import LogisticRegression

    C = 1.0 / (ALPHA * len(y))
    return LogisticRegression(solver=solver, C=C, max_iter=max_iter, tol=1e-12).fit(X, y)


def objective_of_workers(model, X, y, client):
    from benchmarks.workers import value_of

    return value_of(model, X, y, ALPHA)


def dask_corners():
    yield Corner(
        "l2-logistic, 1,000,000 x 50, two workers of Dask", rows_of_workers,
        of_workers, 10.0, tols=(1e-6,), of_ours=lambda model: model,
        objective=objective_of_workers, clock=seconds_of_all,
        peers=tuple(
            (f"dask-ml {solver}", ITERATIONS, partial(dask_ml, solver=solver))
            for solver in SOLVERS
        ),
    )  # fmt: skip


# Paths

LOGISTIC = MODELS["l1-logistic"]


def table_of(name):
    """By columns, the layout of all contenders."""
    data = dataset(name)
    X = sp.csc_matrix(data.X) if sp.issparse(data.X) else np.asfortranarray(data.X)
    return X, data.labels, alpha_of(PATH, LOGISTIC, X, data.labels)


def path(tol, X, y, alphas):
    """The coefficients of a path, and the certificates of all alphas as one."""
    found = skpd.regularization_path(
        LOGISTIC.estimator(X.shape[1], alphas[0], tol=tol), X, y, alphas=alphas
    )
    relative = max(certificate.relative_gap for certificate in found.certificates)
    duals = np.array([certificate.dual for certificate in found.certificates])
    gaps = relative * (np.log(2.0) - duals)
    certificate = SimpleNamespace(dual=duals, gap=gaps, relative_gap=relative)
    return SimpleNamespace(
        coefs=found.coefs, certificate_=certificate, relative_gap_=relative,
        converged_=found.converged, n_iter_=found.n_iters,
    )  # fmt: skip


def path_of(fit, setting, X, y, alphas):
    return fit(X, y, LOGISTIC, alphas, setting)


def objectives(coefs, X, y, alphas):
    return np.array([LOGISTIC.objective(X, y, *one) for one in zip(alphas, coefs, strict=True)])


def path_corners():
    from benchmarks.paths import PEERS

    for data in ("a9a", "reuters", "dense", "power-law"):
        yield Corner(
            f"50 alphas of l1-logistic, {data}", partial(table_of, data), path, 2.0,
            tols=TIGHTER, objective=objectives, of_ours=lambda model: model.coefs,
            peers=tuple(
                (peer.name, peer.settings, partial(path_of, peer.fit))
                for peer in PEERS if peer.name in ("adelie", "celer")
            ),
        )  # fmt: skip
