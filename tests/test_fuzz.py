"""The exact objectives of the campaign of hostile fits, and what it counts."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import f1_score, hinge_loss, log_loss

from benchmarks import fuzz
from skpd import PdproxSVC
from tests.oracles import exact_objectives as of
from tests.oracles.optima import linear_optimum


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_losses_of_classes_are_those_of_scikit_learn(rng):
    y, z, s = rng.integers(3, size=9), rng.normal(size=(9, 3)), rng.random(9)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    softmax = of.mean(of.class_losses("softmax", y, of.exact(z)), s)
    assert_allclose(float(softmax), log_loss(y, p, sample_weight=s))
    crammer = of.mean(of.class_losses("crammer_singer", y, of.exact(z)), s)
    assert_allclose(float(crammer), hinge_loss(y, z, sample_weight=s))


@pytest.mark.parametrize("soft", [True, False])
def test_loss_of_a_chain_is_that_over_all_labelings(rng, soft):
    z, transitions, y = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), np.array([0, 2, 2, 1])

    def score(path):
        steps = sum(transitions[a, b] for a, b in itertools.pairwise(path))
        return z[np.arange(4), list(path)].sum() + steps

    paths = list(itertools.product(range(3), repeat=4))
    if soft:
        expected = np.log(sum(np.exp(score(path)) for path in paths)) - score(y)
    else:
        expected = max(score(p) + np.sum(np.array(p) != y) for p in paths) - score(y)
    assert_allclose(float(of.chain(y, of.exact(z), transitions, soft)), expected)


def test_loss_of_f1_is_that_over_all_labelings(rng):
    y, z = np.array([1, 1, -1, 1, -1, -1]), rng.normal(size=6)
    labelings = [np.array(some) for some in itertools.product([-1, 1], repeat=6)]
    expected = max(1 - f1_score(y, some) + np.mean(z * (some - y)) for some in labelings)
    assert_allclose(float(of.multivariate("f1", y, of.exact(z))), expected)


def test_soft_margin_is_that_of_the_linear_programme(rng):
    margins, s = rng.normal(size=7), np.array([1.0, 2.0, 0.0, 1e-3, 1.0, 1.0, 3.0])
    c = s / s.sum()
    found = linear_optimum(
        margins, A_eq=np.ones((1, 7)), b_eq=[1.0], bounds=[(0, x / 0.3) for x in c]
    )
    assert_allclose(float(of.soft_margin(of.exact(margins), s, 0.3, 0.0)), found.fun)
    # with so small an entropy about the same
    assert_allclose(float(of.soft_margin(of.exact(margins), s, 0.3, 1e-9)), found.fun, atol=1e-7)


def test_trace_norm_is_that_of_numpy(rng):
    M = rng.normal(size=(5, 3)) @ np.diag([1.0, 1e-9, 0.0])
    values = [float(value) for value in of.singular_values(of.exact(M))]
    assert_allclose(sorted(values), np.linalg.svd(M)[1][::-1], rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize(
    "field, size, name", [("dual", 2.0, "bound above"), ("primal", 0.5, "primal below")]
)
def test_a_wrong_certificate_is_found(field, size, name):
    case = fuzz.NEWER["PdproxSVC"](np.random.default_rng(3))
    model, *_ = fuzz.fitted(case, case.estimator)
    assert fuzz.judged(case, model) == []
    object.__setattr__(model.certificate_, field, size * model.certificate_.primal)
    assert [found for found, _ in fuzz.judged(case, model)] == [name]


def test_errors_that_name_nothing_are_not_documented():
    def raised(f):
        with pytest.raises(Exception) as info:
            f()
        return info.value

    shapes = raised(lambda: np.ones(2) + np.ones(3))
    assert not fuzz.is_documented(shapes, ["alpha"])
    named = raised(lambda: PdproxSVC(alpha=-1.0).fit(np.eye(3), [0, 1, 1]))
    assert fuzz.is_documented(named, PdproxSVC().get_params())
