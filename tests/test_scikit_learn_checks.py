"""scikit-learn's checks, of one configuration of every estimator.

A check that fits a table of numbers cannot pass where X holds pairs or sequences: it is registered
as one that is expected to fail, for that reason alone. The tests of these estimators have others
in their place.
"""

import numpy as np
import pytest
from sklearn.utils import column_or_1d
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import skpd

OF_TABLES = (
    "check_all_zero_sample_weights_error", "check_complex_data", "check_dict_unchanged",
    "check_dont_overwrite_parameters", "check_dtype_object", "check_estimator_sparse_tag",
    "check_estimators_dtypes",
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
    "MatrixCompletionPD": "X holds pairs of labels",
    "ChainCRF": "X is a list of sequences",
    "ChainM3N": "X is a list of sequences",
}
OF_COLUMNS = (
    "check_regressors_train", "check_estimator_sparse_array", "check_estimator_sparse_matrix",
)  # fmt: skip


class CoxOfTargets(skpd.CoxPD):
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


# A fit is as precise as a check compares it, and an alpha leaves features in the model of a
# hundred rows.
OPTIONS = {
    "ElasticNetPDClassifier": {"l1_radius": 1.0, "max_iter": 500, "loss": "smoothed_hinge"},
    "ElasticNetPDCV": {"alphas": 5, "cv": 3},
    "GammaPD": {"alpha": 1e-3, "penalty": "l1"},
    "GroupLassoPD": {"alpha": 0.01, "groups": 1, "tol": 1e-13},
    "LassoPDCertifiedCV": {"alphas": 5, "cv": 3, "tol": 1e-9},
    "LPBoostClassifier": {"nu": 0.5},
    "MKLClassifier": {"tol": 1e-9},
    "MKLRegressor": {"tol": 1e-9},
    "MultiTaskPD": {"alpha": 1e-3},
    "MultiTaskPDCV": {"alphas": 4, "cv": 3, "tol": 1e-8},
    "OrdinalPD": {"loss": "hinge", "tol": 1e-10},
    "PathCV": {"estimator": skpd.PdproxSVC(loss="logistic"), "alphas": 2, "cv": 2},
    "PoissonPD": {"alpha": 1e-3, "penalty": "l1"},
    "QuantilePD": {"quantiles": (0.2, 0.8)},
    "TraceNormPD": {"max_iter": 300},
    "TweediePD": {"alpha": 1e-3, "penalty": "l1"},
}
ESTIMATORS = [
    getattr(skpd, name)(**OPTIONS.get(name, {})) for name in skpd.__all__
    if hasattr(getattr(skpd, name), "fit") and name not in {"CoxPD", *REASONS}
]  # fmt: skip


def expected_to_fail(estimator):
    failing = OF_COLUMNS if isinstance(estimator, skpd.QuantilePD) else ()
    return dict.fromkeys(failing, "predictions have a column for each quantile")


# The data of the checks are noise of a few rows, of which there is little to learn.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# Some of the models that it fits are constant.
# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|end of the grid|groups=None)")
@parametrize_with_checks(
    # by Efron's method weights of events at one time are no repetitions of them
    [*ESTIMATORS, CoxOfTargets(ties="breslow")], expected_failed_checks=expected_to_fail
)  # fmt: skip
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("name", REASONS)
def test_estimators_of_other_data(name):
    """In one test, as pytest takes longer to print an expected failure than the check takes."""
    failing = dict.fromkeys(OF_TABLES, REASONS[name])
    found = check_estimator(getattr(skpd, name)(), expected_failed_checks=failing, on_skip=None)
    assert {each["status"] for each in found} == {"passed", "xfail", "skipped"}
