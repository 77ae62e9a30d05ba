"""Coordinate descent and APPROX on either side."""

from skpd import PdproxSVC
from tests.solvers.test_published import classes


def test_a_row_of_zeros_of_the_svm(rng):
    X, y = classes(rng, 40, 5)
    X[7] = 0.0
    model = PdproxSVC(0.05, penalty="l2", solver="cd", fit_intercept=False, tol=1e-6)
    assert model.fit(X, y).converged_
