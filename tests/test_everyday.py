"""Data that people try first: fits converge without a warning and hold what they certify."""

import warnings

import numpy as np
import pytest

from benchmarks.helpers.everyday_cases import LOSSES, PENALTIES, cases
from tests.pairs import every_fourth_pair

# which are every loss with every penalty, in this order
CASES = [
    cases("quick")[len(PENALTIES) * i + j]
    for i, j in every_fourth_pair(range(len(LOSSES)), range(len(PENALTIES)))
]


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_fits_converge_and_hold_what_they_certify(case, tol):
    X, y = case.rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*all coefficients are 0")
        model = case.estimator(tol=tol).fit(X, y)
    certificates = np.atleast_1d(model.certificate_)
    assert np.all(model.converged_)
    assert all(certificate.relative_gap <= tol for certificate in certificates)
    value = case.objective(model.coef_, model.intercept_)
    assert sum(certificate.dual for certificate in certificates) <= value
    assert value <= sum(certificate.primal for certificate in certificates) * (1.0 + 1e-9)
