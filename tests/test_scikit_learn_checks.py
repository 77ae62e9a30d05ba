"""scikit-learn's checks of the estimators whose other tests do not run them.

A check that fits a table of numbers cannot pass where X holds pairs or sequences: it is registered
as one that is expected to fail, for that reason alone. The tests of these estimators have others
in their place.
"""

import numpy as np
import pytest
from sklearn.utils import column_or_1d
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skpd import BlockScaler, ChainCRF, ChainM3N, CoxPD, MatrixCompletionPD

OF_TABLES = (
    "check_all_zero_sample_weights_error", "check_complex_data", "check_dict_unchanged",
    "check_dont_overwrite_parameters", "check_dtype_object", "check_estimator_sparse_array",
    "check_estimator_sparse_matrix", "check_estimator_sparse_tag", "check_estimators_dtypes",
    "check_estimators_empty_data_messages", "check_estimators_fit_returns_self",
    "check_estimators_nan_inf", "check_estimators_overwrite_params", "check_estimators_pickle",
    "check_f_contiguous_array_estimator", "check_fit2d_1feature", "check_fit2d_1sample",
    "check_fit2d_predict1d", "check_fit_check_is_fitted", "check_fit_idempotent",
    "check_fit_score_takes_y", "check_methods_sample_order_invariance",
    "check_methods_subset_invariance", "check_n_features_in", "check_n_features_in_after_fitting",
    "check_non_transformer_estimators_n_iter", "check_pipeline_consistency",
    "check_positive_only_tag_during_fit", "check_readonly_memmap_input",
    "check_regressor_data_not_an_array", "check_regressors_int",
    "check_regressors_no_decision_function", "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data", "check_sample_weights_list",
    "check_sample_weights_not_an_array", "check_sparsify_coefficients", "check_supervised_y_2d",
)  # fmt: skip
REASONS = {
    MatrixCompletionPD: "X holds pairs of labels",
    ChainCRF: "X is a list of sequences",
    ChainM3N: "X is a list of sequences",
}


class CoxOfTargets(CoxPD):
    """Hazards of the targets of scikit-learn's checks, moved to positive times of events."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, times(y), sample_weight)

    def score(self, X, y, sample_weight=None):
        return super().score(X, times(y), sample_weight)


def times(y):
    if y is None:
        return None
    y = np.asarray(column_or_1d(y, warn=True), dtype=float)
    moved = y - np.min(y) + 1.0 if np.isfinite(y).all() else y
    return np.column_stack([moved, np.ones(len(y))])


OF_WEIGHTS = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "By Efron's method the weights of events at one time are no repetitions of them.",
)


@pytest.mark.parametrize("ties, failing", [("efron", OF_WEIGHTS), ("breslow", {})])
def test_censored_times(ties, failing):
    found = check_estimator(CoxOfTargets(ties=ties), expected_failed_checks=failing, on_skip=None)
    statuses = {result["check_name"]: result["status"] for result in found}
    assert {name for name, status in statuses.items() if status == "xfail"} == set(failing)
    assert set(statuses.values()) - {"skipped", "xfail"} == {"passed"}


@parametrize_with_checks([BlockScaler()])
def test_block_scaler(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", REASONS)
def test_estimators_of_other_data(estimator):
    found = check_estimator(
        estimator(),
        expected_failed_checks=dict.fromkeys(OF_TABLES, REASONS[estimator]),
        on_skip=None,
    )
    statuses = {result["status"] for result in found}
    assert statuses <= {"passed", "xfail", "skipped"} and {"passed", "xfail"} <= statuses
