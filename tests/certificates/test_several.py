"""The certificates of several problems together."""

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Lasso
from sklearn.svm import LinearSVC

from skpd import Certificate, Certificates, LassoPDCertified, PdproxSVC, certify

PARTS = [
    Certificate(0.5, 0.4, 0.1, 0.2, "exact", 1.0, 0.0),
    Certificate(3.0, 2.0, 1.0, 0.1, "scaling", 2.0, 0.0),
    Certificate(0.75, 0.5, 0.25, 0.3, "lipschitz", 3.0, 0.0),
]


def test_a_single_certificate_stays_what_it_is():
    assert Certificates.of(PARTS[:1]) is PARTS[0]
    assert PARTS[0].each == (PARTS[0],)


def test_several_are_a_sequence():
    several = Certificates.of(PARTS)
    assert len(several) == 3 and list(several) == PARTS and several.each == tuple(PARTS)
    assert several[1] is PARTS[1] and several[-1] is PARTS[2] and several[:2] == tuple(PARTS[:2])
    assert PARTS[1] in several and several.index(PARTS[1]) == 1
    assert np.shape(np.asarray(several, dtype=object)) == (3,)


def test_several_are_equal_to_a_list_and_have_a_hash():
    several = Certificates.of(PARTS)
    assert several == PARTS and several == Certificates.of(PARTS)
    assert several != PARTS[:2] and several != PARTS[2]
    assert hash(several) == hash(Certificates.of(PARTS))


def test_several_have_the_attributes_of_the_worst():
    several = Certificates.of(PARTS)
    assert isinstance(several, Certificate) and several.worst == 2
    names = ("primal", "dual", "gap", "relative_gap", "kind", "radius")
    assert [getattr(several, name) for name in names] == [0.75, 0.5, 0.25, 0.3, "lipschitz", 3.0]
    with pytest.raises(FrozenInstanceError):
        several.gap = 0.0


def test_several_print_the_worst():
    first, *worst = str(Certificates.of(PARTS)).splitlines()
    assert first == "3 certificates, the worst of which is [2]:"
    assert worst == str(PARTS[2]).splitlines()
    assert repr(Certificates.of(PARTS)) == f"<{first[:-5]} {PARTS[2]!r}>"


@pytest.mark.parametrize("copied", [deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_several_can_be_copied(copied):
    several = Certificates.of(PARTS)
    again = copied(several)
    assert type(again) is Certificates and again == several and again.gap == several.gap


def test_fits_of_several_problems_have_the_bounds_of_all():
    X, y = load_iris(return_X_y=True)
    several = PdproxSVC(0.01).fit(X, y).certificate_
    alone = [PdproxSVC(0.01).fit(X, y == k).certificate_ for k in range(3)]
    assert several == alone
    np.testing.assert_array_equal(
        several.coefficient_bounds, [each.coefficient_bounds for each in alone]
    )
    assert several.proven_zero.shape == (3, 4)
    assert several.prediction_distance is None and "3 problems" in str(several.not_known)
    assert np.isinf(several.without_arrays().coefficient_bounds).all()


def test_certify_returns_the_certificates_of_problems():
    X, y = load_iris(return_X_y=True)
    assert type(certify(LinearSVC(loss="hinge").fit(X, y == 0), X, y == 0)) is Certificate
    several = certify(Lasso(0.1).fit(X, X[:, :2]), X, X[:, :2], tol=np.inf)
    assert type(several) is Certificates and len(several) == 2
    assert LassoPDCertified(0.1).fit(X, X[:, :2]).certificate_.relative_gap <= 1e-4
