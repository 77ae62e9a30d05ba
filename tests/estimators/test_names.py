"""Losses and penalties by name, and their parameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.utils._param_validation import InvalidParameterError

from skpd import GroupLassoSVC, PdproxRegressor, PdproxSVC
from skpd.estimators.names import PENALTIES
from skpd.losses import EpsilonInsensitive, Huber
from skpd.penalties import L1, ElasticNet, GroupL2, Norm, SparseGroup, SquaredL2


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), (y - y.mean()) / y.std()


@pytest.mark.parametrize(
    "named, as_object",
    [
        ({"loss": "huber", "delta": 0.3}, {"loss": Huber(0.3)}),
        ({"loss": "epsilon_insensitive", "epsilon": 0.3}, {"loss": EpsilonInsensitive(0.3)}),
        ({"penalty": "l2"}, {"penalty": SquaredL2()}),
        ({"penalty": "group", "groups": 5}, {"penalty": GroupL2(5)}),
        ({"penalty": "sparse_group", "groups": 5, "l1_ratio": 0.2},
         {"penalty": SparseGroup(5, l1_ratio=0.2)}),
    ],
)  # fmt: skip
def test_parameters_of_names(diabetes, named, as_object):
    fits = [
        PdproxRegressor(0.05, random_state=0, **given).fit(*diabetes)
        for given in (named, as_object)
    ]
    assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-12)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_name_makes_a_certified_model(diabetes, penalty):
    X, y = diabetes
    groups = (
        5 if penalty in {"exclusive", "group", "l1inf", "sparse_group", "squared_groups"} else None
    )
    model = PdproxRegressor(0.05, loss="huber", penalty=penalty, groups=groups).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol
    # no model is better than the bound, a least-squares one scaled down neither
    coef = np.linalg.lstsq(X, y, rcond=None)[0] * np.linspace(0.0, 1.0, 11)[:, np.newaxis]
    bound = model._get_penalty().for_n_features(X.shape[1])
    values = [Huber().value(y, X @ w).mean() + 0.05 * bound.value(w) for w in coef]
    assert min(values) >= model.certificate_.dual


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"penalty": "elastic_net"}, "Got 'elastic_net' instead. Did you mean 'elasticnet'"),
        ({"penalty": "something"}, r"Got 'something' instead\. .* 'l1_ball', 'l1inf', 'l2'"),
        ({"penalty": "lasso"}, "Did you mean 'l1'"),
        ({"loss": "quantile"}, "Did you mean 'pinball'"),
        ({"loss": "squared_error"}, "Did you mean 'squared'"),
        ({"loss": "poisson"}, "Got 'poisson' instead. PoissonPD has this loss"),
        ({"penalty": "poisson"}, r"Got 'poisson' instead\. The names are"),
        ({"loss": "Pinball"}, "Did you mean 'pinball'.* 'absolute', 'epsilon_insensitive'"),
        ({"solver": "pdprox"}, "Got 'pdprox' instead. Did you mean 'pdprox-dual'"),
    ],
)
def test_unknown_names(diabetes, parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        PdproxRegressor(**parameters).fit(*diabetes)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"l1_ratio": 0.5}, "l1_ratio belongs to penalty=.*'elasticnet'.* got l1_ratio=0.5"),
        ({"penalty": L1(), "groups": 2}, r"groups belongs to .* got groups=2 with penalty=L1\(\)"),
        ({"penalty": "group"}, "penalty='group' needs groups"),
        ({"quantile": 0.5}, "quantile belongs to loss='pinball', got quantile=0.5 with loss="),
        ({"penalty": L1}, r"parameter must be an object, got the class L1: pass L1\(\)"),
    ],
)
def test_parameters_that_do_not_belong(diabetes, parameters, message):
    with pytest.raises(ValueError, match=message):
        PdproxRegressor(**parameters).fit(*diabetes)


def test_set_params_replaces_a_value():
    model = PdproxSVC(penalty=ElasticNet(0.5))
    copy = clone(model).set_params(penalty__l1_ratio=0.25, alpha=2.0)
    assert (copy.penalty, copy.alpha, model.penalty) == (ElasticNet(0.25), 2.0, ElasticNet(0.5))
    copy.set_params(penalty=SparseGroup(2), penalty__l1_ratio=0.75)
    assert copy.get_params()["penalty__l1_ratio"] == 0.75
    assert copy.get_params()["penalty__groups"] == 2
    with pytest.raises(ValueError, match=r"has no parameter 'ratio', but .*'l1_ratio'"):
        copy.set_params(penalty__ratio=0.5)
    with pytest.raises(ValueError, match="l1_ratio of SparseGroup must be"):
        copy.set_params(penalty__l1_ratio=2.0)


def test_values_of_the_user_need_no_parameters(diabetes):
    class Doubled(Norm):
        def value(self, w):
            return 2.0 * np.abs(w).sum()

        def prox(self, w, step):
            return np.sign(w) * np.maximum(np.abs(w) - 2.0 * step, 0.0)

        def dual_norm(self, v):
            return 0.5 * np.abs(v).max()

    model = clone(PdproxRegressor(0.05, penalty=Doubled(), loss="huber"))
    assert_allclose(
        model.fit(*diabetes).certificate_.primal,
        PdproxRegressor(0.1, loss="huber").fit(*diabetes).certificate_.primal,
        rtol=1e-3,
    )


def test_group_lasso_takes_losses_by_name(diabetes):
    X, y = diabetes
    clf = GroupLassoSVC(0.05, groups=5, loss="modified_huber").fit(X, y > 0)
    assert clf.certificate_.relative_gap <= clf.tol
