"""Data as others may have made it: index arrays that do not fit, numbers at odd addresses."""

from contextlib import suppress
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone

from skpd import (
    BlockScaler,
    DRSVMClassifier,
    ElasticNetPD,
    KernelPdproxRegressor,
    LassoPDCertified,
    LassoPDCertifiedCV,
    MKLRegressor,
    PdproxRegressor,
    PdproxSVC,
    QuantilePD,
    RowBlocks,
    TraceNormPD,
    certify,
    regularization_path,
)
from skpd.formulation.validation import checked
from skpd.losses import Huber
from skpd.penalties import GroupL2, WeightedL1

MODELS = [
    PdproxSVC(), PdproxRegressor(), LassoPDCertified(0.01), ElasticNetPD(0.1, l1_radius=1.0),
    DRSVMClassifier(), TraceNormPD(),
]  # fmt: skip
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def data(rng):
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6)
    return X, np.where(X[:, 0] + 0.1 * rng.normal(size=30) > 0.0, 1.0, -1.0)


def with_stray_index(X, value):
    X.indices[3] = value
    return X


def with_indptr(X, position, value):
    X.indptr[position] = value
    return X


def with_short_data(X):
    X.data, X.indices = X.data[:-9], X.indices[:-9]
    return X


def with_stray_row(X):
    X.row[0] = 1 << 30
    return X


def of_lists(X):
    X.rows[0] = [1 << 20]
    X.data[0] = [1.0]
    return X


FIT = "indices and indptr of the sparse X do not fit"
MALFORMED = {
    "large index": (lambda X: with_stray_index(sp.csr_array(X), 1 << 30), FIT),
    "negative index": (lambda X: with_stray_index(sp.csr_array(X), -1), FIT),
    "CSC": (lambda X: with_stray_index(sp.csc_array(X), 30), FIT),
    "BSR": (lambda X: with_stray_index(sp.bsr_array(X, blocksize=(2, 2)), 2), FIT),
    "indptr decreases": (lambda X: with_indptr(sp.csr_array(X), 5, 0), FIT),
    "indptr overflows": (lambda X: with_indptr(sp.csr_array(X), 5, -(2**31)), FIT),
    "indptr too far": (lambda X: with_indptr(sp.csr_array(X), -1, 1 << 30), FIT),
    "short data": (lambda X: with_short_data(sp.csr_array(X)), FIT),
    "COO": (lambda X: with_stray_row(sp.coo_matrix(X)), "row and col of the sparse X do not fit"),
    "LIL": (lambda X: of_lists(sp.lil_array(X)), FIT),
}


@each_model
@pytest.mark.parametrize("case", MALFORMED)
def test_index_arrays_that_do_not_fit_are_refused(model, case, rng):
    make, message = MALFORMED[case]
    X, y = data(rng)
    with pytest.raises(ValueError, match=message):
        model.fit(make(X), y)
    fitted = model.fit(sp.csr_array(X), y)
    with pytest.raises(ValueError, match=message):
        fitted.predict(make(X))
    with pytest.raises(ValueError, match=message):
        fitted.predict(make(X.astype(np.float32)))


def test_they_are_refused_wherever_data_are_taken(rng):
    X, y = data(rng)
    malformed = MALFORMED["short data"][0](X)
    robust, lasso = DRSVMClassifier().fit(X, y), LassoPDCertified(0.01).fit(X, y)
    for function in (
        lambda: PdproxSVC().fit(X, y).decision_function(malformed),
        lambda: robust.worst_case_loss(malformed, y),
        lambda: robust.worst_case_distribution(malformed, y),
        lambda: certify(lasso, malformed, y),
        lambda: certify(lasso, malformed, y, loss="squared", penalty="l1", alpha=0.1),
        lambda: regularization_path(LassoPDCertified(), malformed, y),
        lambda: LassoPDCertifiedCV().fit(malformed, y),
    ):
        with pytest.raises(ValueError, match=FIT):
            function()


def with_halves(X):
    """The matrix with each entry stored as two halves."""
    X = sp.csr_array(X)
    return sp.csr_array(
        (np.repeat(X.data / 2.0, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape
    )


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize(
    "model", [*MODELS, MKLRegressor(), KernelPdproxRegressor(), PdproxSVC(penalty="l2")]
)
def test_several_entries_at_one_place_are_added(model, form, rng):
    X, y = data(rng)
    halves = with_halves(np.round(8.0 * X) / 8.0)
    if form == "csc":
        halves = with_halves(halves.toarray().T).T
    elif form == "bsr":
        parts = halves.data[:, np.newaxis, np.newaxis], halves.indices, halves.indptr
        halves = sp.bsr_array(parts, shape=X.shape)
    elif form == "coo":
        halves = halves.tocoo()
    assert halves.format == form and halves.nnz == 2 * np.count_nonzero(halves.toarray())
    stored = halves.data.copy()
    model = clone(model).fit(halves, y)
    expected = clone(model).fit(halves.toarray(), y)
    assert_allclose(model.certificate_.primal, expected.certificate_.primal, rtol=1e-3)
    assert_allclose(model.predict(halves), model.predict(halves.toarray()), rtol=0.0, atol=1e-12)
    assert_array_equal(halves.data, stored)


def test_sparse_data_are_copied_only_to_add_entries(rng):
    X, _ = data(rng)
    plain = sp.csr_array(X)
    assert checked(plain) is plain
    halves = with_halves(X)
    assert checked(halves).nnz == plain.nnz and halves.nnz == 2 * plain.nnz
    scaler = BlockScaler(with_mean=False)
    for table in (halves, RowBlocks([halves])):
        assert_allclose(scaler.fit(table).var_, np.var(X, axis=0), rtol=1e-12)


@each_model
def test_numbers_at_odd_addresses(model, rng):
    """Fields of records and pieces of a buffer give what a copy gives."""
    X, y = data(rng)
    records = np.zeros(30, dtype=[("name", "i1"), ("x", "f8", (4,)), ("y", "f8")])
    records["x"], records["y"] = X, y
    buffer = np.frombuffer(b"\0" + X.tobytes(), dtype=np.float64, offset=1).reshape(30, 4)
    stored = sp.csr_array(X)
    stored.data = np.frombuffer(b"\0" + stored.data.tobytes(), dtype=np.float64, offset=1)
    expected = model.fit(X, y).coef_
    for found in (records["x"], buffer, stored):
        assert_allclose(model.fit(found, records["y"]).coef_, expected, rtol=0.0, atol=1e-3)
        assert_allclose(model.predict(found), model.predict(X), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("value", [None, "a", [1]])
def test_targets_of_several_types(value, rng):
    X, y = data(rng)
    labels = np.where(y > 0.0, 1, 0).astype(object)
    labels[3] = value
    for model in (PdproxSVC(), PdproxRegressor(), QuantilePD()):
        with pytest.raises(ValueError, match=r"numbers alone or strings alone, got .* in row 3"):
            model.fit(X, labels)
    with pytest.raises(ValueError, match="got 1 in row 1"):  # a list, in which NumPy sees strings
        PdproxSVC().fit(X[:2], ["no", 1])
    names = np.where(y > 0.0, "yes", "no").astype(object)
    assert PdproxSVC().fit(X, names).classes_.tolist() == ["no", "yes"]


def test_messages_show_numbers_without_types_of_numpy(rng):
    X, y = data(rng)
    zero = np.float64(0.0)
    for fail, message in (
        (lambda: PdproxRegressor(zero - 1.0).fit(X, y), r"Got -1\.0 instead"),
        (lambda: Huber(zero), r"got 0\.0\."),
        (lambda: WeightedL1([-zero - 1.0]), r"got \[-1\.0\]\."),
        (
            lambda: GroupL2(2, weights=[zero, zero - 1.0]).for_n_features(4),
            r"got \[0\.0, -1\.0\]\.",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            fail()


class _TypeOfAnotherLibrary:
    __hash__ = None

    def __eq__(self, other):
        raise TypeError("types of NumPy are none of this library")


class _OfAnotherLibrary:
    """An array that follows the array API and knows the types of its own library alone."""

    def __init__(self, values):
        self.values, self.shape, self.ndim = values, values.shape, values.ndim
        self.dtype = _TypeOfAnotherLibrary()

    def __array_namespace__(self, api_version=None):
        raise TypeError("types of NumPy are none of this library")

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


@each_model
def test_arrays_of_other_libraries(model, rng, monkeypatch):
    X, y = data(rng)
    expected = model.fit(X, y)
    coef, predicted = expected.coef_, expected.predict(X)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    arrays = [_OfAnotherLibrary]
    with suppress(ImportError):
        arrays.append(import_module("array_api_strict").asarray)
    for array in arrays:
        with config_context(array_api_dispatch=True):
            found = clone(model).fit(array(X), array(y))
            assert_allclose(found.coef_, coef, rtol=0.0, atol=1e-12)
            assert_allclose(found.predict(array(X)), predicted, rtol=0.0, atol=1e-12)
            if not found.get_params().get("l1_radius"):
                certify(found, array(X), array(y))


DAYS = np.arange("2024-01-01", "2024-01-31", dtype="M8[D]")


def frame(days):
    return pd.DataFrame({"x": np.arange(30.0), "day": days})


DATES = {
    "array": (lambda: np.column_stack([DAYS, DAYS]), r"\['X'\]"),
    "list": (lambda: [[day, day] for day in DAYS], r"\['X'\]"),
    "differences": (lambda: np.column_stack([DAYS, DAYS]) - DAYS[0], r"\['X'\]"),
    "frame": (lambda: frame(DAYS), r"\['day'\]"),
    "frame of dates": (lambda: frame(DAYS)[["day"]], r"\['day'\]"),
    "frame of differences": (lambda: frame(DAYS - DAYS[0]), r"\['day'\]"),
    "frame with a time zone": (lambda: frame(pd.DatetimeIndex(DAYS, tz="UTC")), r"\['day'\]"),
}


@pytest.mark.parametrize("case", DATES)
def test_dates_are_no_numbers(case):
    make, names = DATES[case]
    y = np.tile([1.0, -1.0, 1.0], 10)
    with pytest.raises(
        ValueError, match=f"X must hold numbers, but dates or times are in.*{names}"
    ):
        PdproxSVC().fit(make(), y)
    with pytest.raises(ValueError, match="differences from a date"):
        PdproxSVC().fit(np.ones((30, 2)) * y[:, np.newaxis], y).predict(make())


def test_dates_are_no_targets_and_differences_in_days_are_numbers():
    X = np.arange(30.0)[:, np.newaxis]
    with pytest.raises(ValueError, match="y must hold numbers, but dates"):
        PdproxRegressor().fit(X, DAYS)
    days = ((DAYS - DAYS[0]) / np.timedelta64(1, "D"))[:, np.newaxis]
    expected = PdproxRegressor().fit(X, X[:, 0]).coef_
    assert_array_equal(PdproxRegressor().fit(days, X[:, 0]).coef_, expected)


def test_columns_of_polars_with_dates():
    """Its types say by a method whether they are those of dates or times."""
    types = [SimpleNamespace(is_temporal=lambda is_date=is_date: is_date) for is_date in (0, 1)]
    table = SimpleNamespace(columns=["x", "day"], dtypes=types, shape=(30, 2))
    with pytest.raises(ValueError, match=r"dates or times are in \['day'\]"):
        PdproxSVC().fit(table, [0, 1] * 15)


def test_masked_values_are_refused(rng):
    X, y = data(rng)
    masked = np.ma.masked_greater(np.abs(y - y[0]), 1.0)
    model = PdproxRegressor()
    for name, fit in {
        "X": lambda: model.fit(np.ma.masked_equal(X, 0.0), y),
        "block 1 of RowBlocks": lambda: RowBlocks([X, np.ma.masked_equal(X, 0.0)]),
        "y": lambda: model.fit(X, masked),
        "y of blocks": lambda: model.fit(RowBlocks([X]), masked),
        "sample_weight": lambda: model.fit(X, y, sample_weight=masked),
        "offset": lambda: model.fit(X, y, offset=masked),
        "y of score": lambda: model.fit(X, y).score(X, masked),
        "sample_weight of score": lambda: model.fit(X, y).score(X, y, sample_weight=masked),
        "X of predict": lambda: model.fit(X, y).predict(np.ma.masked_equal(X, 0.0)),
    }.items():
        with pytest.raises(ValueError, match=f"{name.split(' of ')[0]}.* must have no masked"):
            fit()
    nothing = np.ma.masked_array(X, mask=False)
    assert_array_equal(model.fit(nothing, y).coef_, model.fit(X, y).coef_)


@pytest.mark.parametrize("name", ["sample_weight", "offset"])
def test_words_are_no_numbers(name, rng):
    X, y = data(rng)
    for model, table in ((PdproxRegressor(), X), (PdproxSVC(), X), (PdproxSVC(), RowBlocks([X]))):
        with pytest.raises(ValueError, match=f"{name} must hold numbers, but .*'many'"):
            model.fit(table, y, **{name: ["many"] * 30})
