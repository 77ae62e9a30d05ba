"""Input of which no number can be made: the message names the parameter and what it got."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from skpd import CoxPD, LassoPDCertified, PdproxRegressor, PdproxSVC

X = np.random.default_rng(0).normal(size=(12, 3))
Y = X[:, 0]
TIMES = np.column_stack([np.exp(Y), np.arange(12) % 2])
FRAME = pd.DataFrame(X, columns=list("abc"))
HUGE = 10**400  # a whole number beyond floats


def by_name(**parameters):
    return PdproxRegressor(penalty="l1", **parameters).fit(FRAME, Y)


CASES = {
    "weights": (lambda: PdproxRegressor().fit(X, Y, [HUGE] * 12), "sample_weight must hold"),
    "targets": (lambda: PdproxRegressor().fit(X, [HUGE] * 12), "y must hold numbers"),
    "features": (lambda: PdproxRegressor().fit([[HUGE]] * 12, Y), "X must hold numbers"),
    "offset": (lambda: PdproxRegressor().fit(X, Y, offset=[HUGE] * 12), "offset"),
    "class_weight": (
        lambda: PdproxSVC(class_weight={0: HUGE, 1: 1}).fit(X, Y > 0), "class_weight",
    ),
    "times": (lambda: CoxPD().fit(X, [[HUGE, 1]] * 12), "y must hold numbers"),
    "complex times": (lambda: CoxPD().fit(X, TIMES + 1j), "complex"),
    "complex weights": (lambda: PdproxRegressor().fit(X, Y, Y + 1j), "sample_weight .*complex"),
    "None": (
        lambda: by_name(penalty_weights={"a": None}), "penalty_weights must .* 'a', got None"
    ),
    "word": (
        lambda: by_name(penalty_weights={"a": "much"}), "penalty_weights .* 'a', got 'much'"
    ),
    "huge": (lambda: by_name(penalty_weights={"a": HUGE}), "penalty_weights must be .* for 'a'"),
    "pair": (lambda: by_name(penalty_weights={"a": [1, 2]}), "penalty_weights must be .* 'a'"),
    "no bounds": (lambda: by_name(bounds={"a": None}), "bounds must be .* for 'a', got None"),
    "bounds": (lambda: by_name(bounds={"a": ("x", 1)}), "bounds must be .* for 'a'"),
    "quantiles": (lambda: CoxPD().fit(X, TIMES).predict_quantile(X, [0.1, 0.5]), "quantile"),
    "columns": (
        lambda: LassoPDCertified().fit(sp.csr_array(
            (np.ones(12), (np.arange(12), np.arange(12) * 10**9)), shape=(12, 2**40)
        ), Y),
        "X must have at most 2147483648 columns, got 1099511627776",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_number_is_named(case):
    call, message = CASES[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_one_end_of_bounds_may_be_missing():
    model = by_name(alpha=0.01, bounds={"a": (None, 0.0)})
    assert model.coef_[0] <= 0.0


def test_frames_whose_rows_are_not_computed():
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame(X).lazy()
    with pytest.raises(ValueError, match=r"A LazyFrame has no rows yet: .* its collect\(\)"):
        PdproxRegressor().fit(lazy, Y)
    with pytest.raises(ValueError, match=r"A LazyFrame has no rows yet"):
        PdproxRegressor().fit(X, polars.DataFrame(Y).lazy())
    assert PdproxRegressor().fit(lazy.collect(), Y).n_features_in_ == 3
