"""Blocks of rows in files: columns, targets and names, and what cannot be read."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skpd import LassoPDCertified, PdproxSVC, RowBlocks
from skpd.designs import block_sources, row_blocks
from skpd.problems.shards import data_summary
from tests.designs.test_row_blocks import KINDS, D, N, blocks_of, in_blocks, in_files


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


def test_files_are_not_held_in_memory(tmp_path, monkeypatch):
    """Of an X of 32 MB a block of 1 MB and the next one, and vectors of the rows."""
    monkeypatch.setattr(block_sources, "PART_BYTES", 1 << 20)
    monkeypatch.setattr(data_summary, "COPIED", 1 << 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 400))
    np.savez(tmp_path / "0.npz", X=X[:200])  # read as a whole
    np.save(tmp_path / "1.npy", X[200:])
    y = X[:, 0] + rng.normal(size=len(X))
    files = [tmp_path / "0.npz", tmp_path / "1.npy"]
    del X
    tracemalloc.start()
    model = PdproxSVC(0.02).fit(RowBlocks(files), y > 0.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.converged_ and peak < 10e6


def test_columns_of_parquet_files(data, tmp_path):
    X, y, _ = data
    files = in_files(tmp_path, X, "parquet")
    assert RowBlocks(tmp_path / "3.parquet", columns=["x0"]).shape == (120, 1)
    classes = PdproxSVC(0.01, n_jobs=2).fit(
        RowBlocks(files, columns=[f"x{j}" for j in range(D)]), np.digitize(y, [-1.0, 1.0])
    )
    assert classes.converged_  # each by threads that read the same files
    found = RowBlocks(files, columns=["x3", "x0"])
    assert_array_equal(found.gathered(), X[:, [3, 0]])
    with pytest.raises(ValueError, match="must hold numbers, got 'name' of the type string"):
        RowBlocks(files)
    with pytest.raises(ValueError, match=r"must be among those of .*got \['x9'\]"):
        RowBlocks(files, columns=["x9"])


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("in_file", [False, True])
def test_malformed_sparse_blocks_are_refused(make, in_file, tmp_path):
    """Before products read where their indices say."""
    matrix = make(np.eye(4))
    matrix.indices[2] = 1000
    if in_file:
        sparse.save_npz(tmp_path / "X.npz", matrix)
    with pytest.raises(ValueError, match="ind"):
        RowBlocks([tmp_path / "X.npz" if in_file else matrix]).gathered()


def spoil(path_, how):
    if how == "empty":
        path_.write_bytes(b"")
    elif how == "truncated":
        path_.write_bytes(path_.read_bytes()[: path_.stat().st_size // 2])
    else:
        path_.unlink()


@pytest.mark.parametrize("kind", ["npy", "npz", "npz-sparse", "parquet"])
@pytest.mark.parametrize("how", ["empty", "truncated", "gone"])
@pytest.mark.parametrize("later", [False, True])
def test_files_that_cannot_be_read_are_named(data, tmp_path, kind, how, later):
    """Before anything is read, or in the middle of a fit."""
    X, _, labels = data
    files = in_files(tmp_path, X, kind)
    columns = [f"x{j}" for j in range(D)] if kind == "parquet" else None
    expected = OSError if how == "gone" else (ValueError, OSError)
    if later:
        blocks = RowBlocks(files, columns=columns)
        spoil(tmp_path / f"2.{kind[:3] if kind != 'parquet' else kind}", how)
        with pytest.raises(expected, match=rf"2\.{kind[:3]}"):
            PdproxSVC(0.01).fit(blocks, labels)
    else:
        spoil(tmp_path / f"2.{kind[:3] if kind != 'parquet' else kind}", how)
        with pytest.raises(expected, match=rf"2\.{kind[:3]}"):
            RowBlocks(files, columns=columns).gathered()


def test_changed_files_are_refused(data, tmp_path):
    """A certificate of rows of which some were others would be of no data."""
    X, _, labels = data
    blocks = RowBlocks(in_files(tmp_path, X, "npz"))
    np.savez(tmp_path / "1.npz", X=np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"1\.npz cannot be read.*changed since it was opened"):
        PdproxSVC(0.01).fit(blocks, labels)


@pytest.mark.parametrize("kind", KINDS)
def test_targets_beside_the_features(data, tmp_path, kind):
    """Read from the same blocks, they are no feature; without y a fit takes them."""
    X, y, _ = data
    target = "x2" if kind == "parquet" else 2
    table = X.copy()
    table[:, 2] = y
    if kind == "parquet":
        names = [f"x{j}" for j in range(D) if j != 2]
        files = in_files(tmp_path, table, kind)
        blocks = RowBlocks(files, columns=names, target=target)
        assert RowBlocks(files, columns=names, target="name").target[0] == "a"
    else:
        whole = blocks_of(tmp_path, table, kind)
        given = in_files(tmp_path, table, kind) if kind.startswith("np") else [whole.gathered()]
        blocks = RowBlocks(given, target=target)
        last = RowBlocks(given, target=2 - D)
        assert_array_equal(last.target, y)
    assert_allclose(blocks.target, y)
    assert blocks.shape == (N, D - 1)
    features = np.delete(X, 2, axis=1)
    found = blocks.gathered()
    assert_array_equal(found.toarray() if sparse.issparse(found) else found, features)
    expected = LassoPDCertified(0.1, tol=1e-9).fit(features, y).coef_
    for y_ in (blocks.target, None):
        model = LassoPDCertified(0.1, tol=1e-9).fit(blocks, y_)
        assert_allclose(model.coef_, expected, atol=1e-10)


def test_columns_without_the_target_have_names(data, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pd = pytest.importorskip("pandas")
    X, _, labels = data
    names = [f"x{j}" for j in range(D)]
    table = pa.table({"class": labels} | {name: X[:, j] for j, name in enumerate(names)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    blocks = RowBlocks(tmp_path / "a.parquet", target="class")
    assert blocks.shape == (N, D)
    model = PdproxSVC(0.01).fit(blocks, blocks.target)
    assert_array_equal(model.feature_names_in_, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_blocks = model.predict(blocks)
        assert_array_equal(by_blocks, model.predict(pd.DataFrame(X, columns=names)))
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        model.predict(RowBlocks(tmp_path / "a.parquet", columns=names[::-1]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(in_blocks(X))
    with pytest.raises(ValueError, match=r"as well as target, must be .* got \['x0'\]"):
        RowBlocks(tmp_path / "a.parquet", columns=names, target="x0")
    with pytest.raises(ValueError, match="columns of the same names"):
        RowBlocks([tmp_path / "a.parquet", np.ones((3, D + 1))])
    with pytest.raises(ValueError, match="target must be the number of one of several columns"):
        RowBlocks([X], target=D)
