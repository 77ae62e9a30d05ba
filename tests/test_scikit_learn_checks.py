"""scikit-learn's checks of the estimators whose other tests do not run them.

A check that fits a table of numbers cannot pass where X holds pairs or sequences: it is registered
as one that is expected to fail, for that reason alone.
"""

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skpd import BlockScaler, ChainCRF, ChainM3N, MatrixCompletionPD

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
