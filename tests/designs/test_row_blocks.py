"""Data in blocks of rows: read as they are, fitted and certified like the same data in memory."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import LinearConstraint
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression, MultiTaskLasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skpd import (
    BlockScaler,
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDClassifier,
    GroupLassoSVC,
    LassoPDCertified,
    LassoPDCertifiedCV,
    PdproxRegressor,
    PdproxSVC,
    RowBlocks,
    certify,
    regularization_path,
)
from skpd.designs import block_sources, row_blocks
from skpd.losses import Hinge
from skpd.penalties import L1
from skpd.problems import Problem
from tests.oracles.reference import linear_programme

CUTS = [0, 70, 71, 180, 300]
N, D = CUTS[-1], 6


@pytest.fixture(autouse=True)
def never_gathered(monkeypatch):
    """However small the blocks are."""
    monkeypatch.setattr(row_blocks, "GATHERED", 0)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7)
    y = X[:, 0] - 2.0 * X[:, 1] + rng.normal(size=N)
    return X, y, np.where(y > 0.0, 1, 0)


def parts(X):
    return [X[first:last] for first, last in pairwise(CUTS)]


def in_files(folder, X, kind):
    paths = []
    for k, part in enumerate(parts(X)):
        path_ = folder / f"{k}.{kind.removesuffix('-sparse')}"
        if kind == "npy":
            np.save(path_, part)
        elif kind == "npz":
            np.savez(path_, X=part)
        elif kind == "npz-sparse":
            sparse.save_npz(path_, sparse.csc_matrix(part))
        else:
            pa = pytest.importorskip("pyarrow")
            parquet = pytest.importorskip("pyarrow.parquet")
            table = pa.table({f"x{j}": part[:, j] for j in range(D)} | {"name": ["a"] * len(part)})
            parquet.write_table(table, path_, row_group_size=40)
        paths.append(path_ if k % 2 else str(path_))
    return paths


KINDS = ["arrays", "lists", "Fortran", "CSR", "CSC", "npy", "npz", "npz-sparse", "parquet"]


def blocks_of(folder, X, kind):
    if kind == "parquet":
        return RowBlocks(in_files(folder, X, kind), columns=[f"x{j}" for j in range(D)])
    if kind.startswith("np"):
        return RowBlocks(in_files(folder, X, kind))
    convert = {
        "arrays": np.array, "lists": np.ndarray.tolist, "Fortran": np.asfortranarray,
        "CSR": sparse.csr_matrix, "CSC": sparse.csc_array,
    }[kind]  # fmt: skip
    return RowBlocks(map(convert, parts(X)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part_bytes", [1000, 1 << 26])
def test_blocks_are_read_as_they_are(data, tmp_path, kind, part_bytes, monkeypatch):
    monkeypatch.setattr(block_sources, "PART_BYTES", part_bytes)
    X, y, _ = data
    found = blocks_of(tmp_path, X, kind)
    assert found.shape == X.shape and found.dtype == np.float64 and len(found) == N
    dense = [b if isinstance(b, np.ndarray) else b.toarray() for _, b in found.read()]
    assert_array_equal(np.concatenate(dense), X)
    assert len(dense) == found.n_blocks >= len(CUTS) - 1
    if part_bytes == 1000 and kind not in ("npz", "npz-sparse", "parquet"):
        assert found.n_blocks > 10 and max(b.size for b in dense) <= 200
    chosen = np.array([299, 5, 0, 70, 5, 71])
    picked = found.rows(chosen)
    assert_array_equal(picked.toarray() if sparse.issparse(picked) else picked, X[chosen])
    fits = [LassoPDCertified(0.1, tol=1e-9).fit(each, y) for each in (found, X)]
    assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
def test_types(dtype):
    X = (np.arange(12).reshape(4, 3) % 5).astype(dtype)
    found = RowBlocks([X[:1], X[1:]])
    assert found.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert_array_equal(found.gathered(), X)
    mixed = RowBlocks([X[:1], X[1:].astype(float)])
    assert mixed.dtype == np.float64 and mixed.gathered().dtype == np.float64


MODELS = [
    PdproxSVC(0.01), PdproxSVC(0.01, loss="logistic"), GroupLassoSVC(0.01, groups=2),
    PdproxSVC(1e-3, loss="squared_hinge", penalty="l2"),
    PdproxSVC(1e-3, penalty="l2", fit_intercept=False),
    PdproxSVC(0.01, penalty_weights=[0, 0, 1, 1, 1, 1], bounds=(-1.0, 2.0)),
    PdproxSVC(0.01, penalty="elasticnet", class_weight="balanced"),
    PdproxRegressor(0.01), PdproxRegressor(0.01, loss="huber"),
    PdproxRegressor(0.01, loss="pinball", quantile=0.8, penalty="sparse_group", groups=3),
    LassoPDCertified(0.1), ElasticNetPD(0.1), ElasticNetPD(0.1, l1_radius=0.5),
    ElasticNetPDClassifier(0.01, loss="smoothed_hinge"),
]  # fmt: skip


@pytest.mark.parametrize("far", [0.0, 1000.0])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_fits_are_those_of_the_data_in_memory(data, model, layout, far):
    X, y, labels = data
    X = X + far * model.fit_intercept
    y = labels if hasattr(model, "decision_function") else y
    weights = 1.0 + np.arange(N) % 3
    model = clone(model).set_params(tol=1e-8)
    whole = clone(model).fit(X, y, sample_weight=weights)
    found = model.fit(RowBlocks(map(layout, parts(X))), y, sample_weight=weights)
    one, other = whole.certificate_, found.certificate_
    assert other.relative_gap <= 1e-8 and found.converged_
    slack = 1e-12 * one.primal
    assert one.dual <= other.primal + slack and other.dual <= one.primal + slack
    assert_allclose(found.coef_, whole.coef_, atol=2e-3)
    assert found.n_features_in_ == D


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("seed", range(5))
def test_below_the_optimum_of_a_linear_programme(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 5)), rng.choice([-1.0, 1.0], 60)
    alpha, rows = 0.02, np.full(60, 1 / 60)
    best = linear_programme(X, y, rows, Hinge(), L1(), alpha, True)
    model = PdproxSVC(alpha, tol=1e-8).fit(RowBlocks(np.array_split(X, 4)), y)
    assert model.certificate_.dual <= best * (1.0 + 1e-12)
    assert_allclose(model.certificate_.primal, best, rtol=1e-7)


def test_predictions_scores_and_paths(data):
    X, y, labels = data
    found = RowBlocks(map(sparse.csr_array, parts(X)))
    model = PdproxSVC(0.01, loss="logistic").fit(found, labels)
    for name in ("predict", "decision_function", "predict_proba"):
        assert_allclose(getattr(model, name)(found), getattr(model, name)(X), atol=1e-13)
    assert model.score(found, labels) == model.score(X, labels)
    single = RowBlocks([part.astype(np.float32) for part in parts(X)])
    assert_allclose(model.decision_function(single), model.decision_function(X), atol=1e-5)
    three = PdproxSVC(0.01, tol=1e-6, n_jobs=2).fit(found, np.digitize(y, [-1.0, 1.0]))
    assert three.decision_function(found).shape == (N, 3) and three.converged_
    regressor = LassoPDCertified(0.1, tol=1e-9)
    along = [regularization_path(regressor, each, y, alphas=6) for each in (X, found)]
    assert_allclose(along[1].coefs, along[0].coefs, atol=1e-8)
    assert along[1].converged.all()


@pytest.mark.parametrize("rigorous", [False, True])
def test_certificates_of_other_models(data, rigorous):
    X, y, labels = data
    found = RowBlocks(parts(X))
    for model, target in (
        (Lasso(0.1), y), (LogisticRegression(C=0.1), labels), (LinearSVC(C=0.1), labels),
        (LinearSVC(C=0.1, loss="hinge", intercept_scaling=3.0), labels),
    ):  # fmt: skip
        model.fit(X, target)
        one, other = (certify(model, each, target, rigorous=rigorous) for each in (X, found))
        assert_allclose(other.primal, one.primal, rtol=1e-10)
        assert_allclose(other.dual, one.dual, rtol=1e-7)


def test_large_mapped_arrays_are_taken_in_blocks(data, tmp_path, monkeypatch):
    from skpd.estimators import base

    monkeypatch.setattr(base, "MAPPED", 1)
    X, _, labels = data
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = PdproxSVC(0.01)
    (problem,) = model._problems(mapped, labels, None)[2]
    assert not problem.rows.in_memory
    one, other = (model.fit(each, labels).certificate_ for each in (mapped, X))
    assert one.dual <= other.primal and other.dual <= one.primal
    for other in (PdproxSVC(penalty="linf"), PdproxSVC(solver="pdprox-dual")):
        (problem,) = other._problems(mapped, labels, None)[2]
        assert isinstance(problem, Problem)


def test_ctrl_c_keeps_the_best_model(data):
    class Interrupted(RowBlocks):
        n_read = 0

        def block(self, k):
            self.n_read += 1
            if self.n_read == 60:
                raise KeyboardInterrupt
            return super().block(k)

    X, _, labels = data
    model = PdproxSVC(1e-4, tol=1e-12)
    with pytest.raises(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(Interrupted(parts(X)), labels)
    assert model.coef_.any() and model.certificate_.dual <= model.certificate_.primal


def in_blocks(X):
    return RowBlocks(parts(X))


@pytest.mark.parametrize("make, message", [
    (lambda X, c: RowBlocks([]), "at least one block, got none"),
    (lambda X, c: RowBlocks([X, X[:, :2]]), "as many features as the first, 6, got 2 in block 1"),
    (lambda X, c: RowBlocks([X[0]]), r"block 0 .* shape \(n_rows, n_features\).* got \(6,\)"),
    (lambda X, c: RowBlocks([X[:0]]), r"block 0 .* got \(0, 6\)"),
    (lambda X, c: RowBlocks(["a.csv"]), r"ends in .npy, .npz, .parquet, got 'a.csv'"),
    (lambda X, c: RowBlocks([[["a"]]]), "block 0 of RowBlocks must hold real numbers"),
    (lambda X, c: RowBlocks([X], columns=["a"]), "columns of RowBlocks are for Parquet"),
    (lambda X, c: np.asarray(in_blocks(X)), r"no array.*gathered\(\)"),
    (lambda X, c: PdproxSVC(penalty="linf").fit(in_blocks(X), c), r"of groups.* got LInf\(\)"),
    (lambda X, c: PdproxSVC(solver="pdprox-dual").fit(in_blocks(X), c), "solver must be 'auto'"),
    (lambda X, c: DRSVMClassifier().fit(in_blocks(X), c), "DRSVMClassifier takes X as an array"),
    (lambda X, c: LassoPDCertifiedCV().fit(in_blocks(X), c), "LassoPDCertifiedCV takes X as"),
    (lambda X, c: PdproxSVC().fit(in_blocks(X), c[:9]), r"inconsistent numbers of samples"),
    (lambda X, c: PdproxSVC().fit(in_blocks(X), None), "requires y to be passed"),
    (
        lambda X, c: PdproxSVC().fit(RowBlocks([X[:200], X[200:] + np.nan]), c),
        "block 1 of RowBlocks: Input X contains NaN or infinity",
    ),
    (
        lambda X, c: PdproxSVC().fit(X, c).predict(RowBlocks([X, sparse.csr_array(X + np.inf)])),
        "block 1 of RowBlocks: Input X contains NaN or infinity",
    ),
    (lambda X, c: PdproxSVC().fit(X, c).predict(in_blocks(X[:, :3])), "X has 3 features"),
    (
        lambda X, c: PdproxSVC(constraints=LinearConstraint(np.ones((1, D)), 0, 0)).fit(
            in_blocks(X), c
        ),
        "constraints need X in memory",
    ),
    (
        lambda X, c: certify(MultiTaskLasso().fit(X, np.c_[c, c]), in_blocks(X), np.c_[c, c]),
        "of several outputs or with a scale, needs X in memory",
    ),
])  # fmt: skip
def test_errors(data, make, message):
    X, _, labels = data
    with pytest.raises(ValueError, match=message):
        make(X, labels)


def test_small_blocks_are_gathered(data, monkeypatch):
    monkeypatch.undo()
    X, _, labels = data
    model = PdproxSVC(0.01, penalty="linf").fit(RowBlocks(parts(X)), labels)
    whole = PdproxSVC(0.01, penalty="linf").fit(X, labels)
    assert_array_equal(model.coef_, whole.coef_)


def test_dense_blocks_before_sparse_ones(data):
    """Also where some of the rows are gathered: the first for a sample, others as they bend."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = X[:, 0] + rng.normal(size=3000) > 0.0
    whole = PdproxSVC(0.01, tol=1e-9).fit(X, y)
    for kinds in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
        halves = [kind(part) for kind, part in zip(kinds, (X[:1500], X[1500:]), strict=True)]
        found = PdproxSVC(0.01, tol=1e-9).fit(RowBlocks(halves), y)
        assert_allclose(found.coef_, whole.coef_, atol=1e-7)


@pytest.mark.parametrize("order", [np.arange, lambda n: np.random.default_rng(1).permutation(n)])
def test_separable_classes_with_little_penalty(order):
    """Solutions are far from 0, where the proximal term once held them back."""
    X = np.random.default_rng(0).normal(size=(20_000, 20))[order(20_000)]
    y = X[:, 0] > 0.0
    whole = PdproxSVC(1e-5, tol=1e-9).fit(X, y).certificate_
    found = PdproxSVC(1e-5, tol=1e-9, max_iter=300).fit(RowBlocks(np.array_split(X, 4)), y)
    assert found.converged_
    assert abs(found.certificate_.primal - whole.primal) <= 2e-9


def test_complex_numbers_are_refused(data, tmp_path):
    X, y, _ = data
    np.save(tmp_path / "X.npy", X + 1j)
    for given in (X + 1j, sparse.csr_array(X + 1j), tmp_path / "X.npy"):
        with pytest.raises(ValueError, match="must hold real numbers, got the type complex128"):
            RowBlocks([X, given])
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        LassoPDCertified(0.1).fit(in_blocks(X), y + 1j)


@pytest.mark.parametrize("kind", ["arrays", "npy", "CSR", "parquet"])
def test_scaled_blocks(data, tmp_path, kind):
    """Pipelines fit blocks as they fit arrays, and predict raw rows of either kind."""
    X, _, labels = data
    X = (10.0 ** np.arange(D)) * (X + (kind != "CSR"))
    weights = 1.0 + np.arange(N) % 3
    blocks = blocks_of(tmp_path, X, kind)
    options = {"with_mean": kind != "CSR"}
    own, other = BlockScaler(**options), StandardScaler(**options)
    own.fit(blocks, sample_weight=weights), other.fit(X, sample_weight=weights)
    assert_allclose(own.scale_, other.scale_, rtol=1e-12)
    fits = [
        make_pipeline(scaler, PdproxSVC(0.01, tol=1e-9)).fit(given, labels)
        for scaler, given in ((own, blocks), (other, X))
    ]
    assert_allclose(fits[0][-1].coef_, fits[1][-1].coef_, atol=1e-7)
    expected = fits[1].decision_function(X)
    raw = X
    if kind == "parquet":
        raw = pytest.importorskip("pandas").DataFrame(X, columns=[f"x{j}" for j in range(D)])
    assert_allclose(fits[0].decision_function(raw), expected, atol=1e-6)
    assert_allclose(fits[0].decision_function(blocks), expected, atol=1e-6)
    names = [f"x{j}" for j in range(D)]
    assert_array_equal(fits[0][:-1].get_feature_names_out(), names)
    if kind == "arrays":
        assert_array_equal(own.fit(X).mean_, other.fit(X).mean_)
