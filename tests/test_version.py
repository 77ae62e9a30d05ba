"""What skpd says of versions: its own, those of its surroundings, and those in pickles."""

import pickle
import warnings
from copy import deepcopy
from importlib.metadata import version

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import skpd
from skpd import PathCV, PdproxRegressor
from skpd.estimators import representation

ESTIMATORS = [
    getattr(skpd, name)
    for name in skpd.__all__
    if hasattr(getattr(skpd, name), "get_params") and name != "BlockScaler"  # scikit-learn's
]


def test_versions_of_the_surroundings(capsys):
    skpd.show_versions()
    shown = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert shown["skpd"] == skpd.__version__ == version("skpd")
    assert shown["numpy"] == np.__version__ and shown["scikit-learn"] == version("scikit-learn")
    assert "_kernels" in shown["kernels"] and int(shown["threads of a product"]) >= 1


def test_what_is_not_installed_is_said(capsys, monkeypatch):
    monkeypatch.setattr("skpd._version.OPTIONAL", ("no-such-package",))
    skpd.show_versions()
    assert "no-such-package: not installed" in capsys.readouterr().out


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_pickles_of_the_same_version_and_of_others(estimator, monkeypatch):
    if estimator is PathCV:
        model = PathCV(PdproxRegressor())
    else:
        model = estimator(alpha=0.5) if "alpha" in estimator().get_params() else estimator()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model), clone(model)):
            assert repr(copy) == repr(model) and not hasattr(copy, "_skpd_version")
    stored = pickle.dumps(model)
    monkeypatch.setattr(representation, "VERSION", "99.0")
    with pytest.warns(UserWarning, match=f"pickled by skpd {version('skpd')} and .* skpd 99.0"):
        pickle.loads(stored)


def test_a_fitted_model_from_before_versions_were_kept(monkeypatch):
    X, y = np.eye(6), np.arange(6.0)
    model = PdproxRegressor(alpha=0.01).fit(X, y)
    monkeypatch.setattr(representation.PickledWithVersion, "__getstate__", lambda self: vars(self))
    stored = pickle.dumps(model)
    with pytest.warns(UserWarning, match="pickled by skpd before 0.1.*Fit it anew"):
        again = pickle.loads(stored)
    assert_array_equal(again.predict(X), model.predict(X))
