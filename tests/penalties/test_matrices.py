"""Penalties of matrices, of their factors, and of functions given by kernels."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose, assert_array_equal

from skpd import penalties as R
from skpd._floats import EPSILON
from skpd.models.completion.design import EntriesDesign
from skpd.models.kernel_machines.kernel_norm import SquaredKernelNorm
from skpd.models.kernel_machines.matrix import KernelMatrix
from skpd.penalties.spectral import largest_singular_values, singular_value_rounding
from tests.oracles.exact_objectives import exact, singular_values


@pytest.mark.parametrize("shape", [(2, 3), (5, 2), (3, 3), (1, 4), (4, 1), (60, 4)])
def test_bounds_on_singular_values(shape, rng):
    """They are above by 4 (m + n + 16) roundings of the largest, and by nothing else."""
    for scale in (1.0, 1e-3, 1e150):
        matrix = scale * rng.normal(size=shape)
        found = largest_singular_values(matrix)
        values = sorted(singular_values(exact(matrix)), reverse=True)
        room = 4.0 * (sum(shape) + 16.0) * EPSILON
        assert singular_value_rounding(shape) == pytest.approx(room, rel=1e-15, abs=0.0)
        above = [float((a - b) / values[0]) for a, b in zip(map(mpf, found), values, strict=True)]
        assert np.all(np.abs(np.array(above) - room) <= 0.3 * room)


def test_singular_values_of_special_matrices():
    assert largest_singular_values(np.zeros((3, 2))).tolist() == [0.0, 0.0]
    assert largest_singular_values(np.array([[1.0, np.inf]])).tolist() == [np.inf]
    assert largest_singular_values(np.array([[1.0, np.nan], [0.0, 1.0]])).tolist() == [np.inf] * 2
    column = np.array([[3.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    assert_allclose(largest_singular_values(column), [5.0, 0.0], rtol=1e-13, atol=1e-13)
    row = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert_allclose(largest_singular_values(row), [5.0, 0.0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_spectral_penalties_are_those_of_the_singular_values(n_outputs, rng):
    for inner in (R.L1(), R.L2Norm(), R.LInf(), R.SquaredL2(), R.ElasticNet(0.3), R.L1Ball(2.0)):
        penalty = R.Spectral(inner, n_outputs)
        for scale in (0.1, 5.0):
            W = scale * rng.normal(size=(3, 2))
            left, values, right = np.linalg.svd(W, full_matrices=False)
            w = W if n_outputs is None else W.ravel()
            assert_allclose(penalty.value(w), inner.value(values), rtol=1e-12)
            assert_allclose(penalty.conjugate(w, 9e9), inner.conjugate(values, 9e9), rtol=1e-12)
            assert_allclose(penalty.support(w, 0.7), inner.support(values, 0.7), rtol=1e-12)
            assert_allclose(
                penalty.bounded_conjugate(w, 0.3, 0.7),
                inner.bounded_conjugate(values, 0.3, 0.7), rtol=1e-10,
            )  # fmt: skip
            assert_allclose(penalty.largest_alpha(w), inner.largest_alpha(values), rtol=1e-12)
            prox = penalty.prox(w, np.array([0.5, 0.3, 0.4, 0.3, 0.9, 1.0]))
            expected = (left * inner.prox(values, 0.3)) @ right
            assert_allclose(prox, expected.reshape(w.shape), atol=1e-12)
            found, error = penalty.conjugate_arguments(w, np.full(w.shape, 0.1))
            assert_allclose(found, values, rtol=1e-12)
            assert_allclose(error, [0.1 * 6**0.5] * 2)


def test_the_nearest_point_of_a_spectral_ball(rng):
    for shape in ((3, 2), (2, 30)):
        penalty = R.Spectral(R.L1Ball(1.5), shape[1])
        W = rng.normal(size=shape)
        W *= 3.0 / penalty.of_values.radius
        left, values, right = np.linalg.svd(W, full_matrices=False)
        expected = (left * R.L1Ball(1.5).prox(values, 1.0)) @ right
        found = penalty.feasible(W.ravel())
        assert penalty.value(found) == 0.0
        assert_allclose(found.reshape(shape), expected, rtol=1e-9, atol=1e-12)
        # the singular values add up to the radius but for the margin of their rounding errors
        room = 1e-12 + 2.0 * min(shape) * singular_value_rounding(shape)
        total = np.sum(np.linalg.svd(found.reshape(shape), compute_uv=False))
        assert 0.96 * room < 1.0 - total / 1.5 < 1.04 * room
        inside = 0.1 * W.ravel() / np.sum(values)
        assert penalty.feasible(inside) is inside
    w = 1e9 * W.ravel()
    assert R.Spectral(R.L1(), 30).feasible(w) is w


def test_one_output_of_a_spectral_penalty():
    assert R.Spectral(R.L1(), 3).of_one_output == R.L2Norm()
    assert R.Spectral(R.SquaredL2(), 3).of_one_output == R.Spectral(R.SquaredL2(), 1)
    assert R.Spectral(R.L1()).of_one_output is None and R.L1().of_one_output == R.L1()
    assert R.WeightedL1([1.0, 2.0]).of_one_output is None
    for inner, cones in ((R.L1(), True), (R.L2Norm(), False), (R.ElasticNet(), False)):
        assert R.Spectral(inner, 2).has_cones_of_outputs == cones
    assert R.Spectral(R.L1(), 2).of_conjugate_arguments == R.L1()


def test_the_trace_norm_of_factors(rng):
    left, right = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0])
    penalty = R.FactoredTraceNorm(EntriesDesign(left, right, 3, 2))
    # rounded up by log2(size + 2) + 16 roundings
    assert penalty.value(np.ones((1, 2))) == 1.0 + 18.0 * EPSILON
    w = rng.normal(size=(5, 2))
    squares = np.sum(exact(w) ** 2) / 2
    assert 1 <= penalty.value(w) / squares <= 1 + 24 * EPSILON
    assert_allclose(penalty.prox(w, 0.3), w / 1.3)
    v = np.array([1.0, -2.0, 0.5, 3.0])
    table = np.array([[1.0, -2.0], [0.0, 0.5], [3.0, 0.0]])
    largest = np.linalg.svd(table, compute_uv=False)[0]
    assert_allclose(penalty.dual_norm(v), largest, rtol=1e-9)
    assert penalty.dual_norm(v) >= largest and v.tolist() == [1.0, -2.0, 0.5, 3.0]
    found, error = penalty.conjugate_arguments(v.copy(), np.full(4, 0.1))
    assert_allclose([*found, *error], [largest, 0.2], rtol=1e-9)
    assert penalty.of_conjugate_arguments == R.L1() and penalty != R.FactoredTraceNorm(
        penalty.design
    )
    with pytest.raises(FrozenInstanceError):
        penalty.design = None


class Given:
    """Squared norms and their errors, as they are given."""

    def __init__(self, rough, precise):
        self.known = {False: rough, True: precise}

    def squared_norm(self, w, precise=False):
        return self.known[precise]


def test_the_norm_of_a_function():
    K = np.array([[2.0, 1.0], [1.0, 3.0]])
    penalty = SquaredKernelNorm(KernelMatrix(K))
    for a in (np.array([1.0, -1.0]), np.array([0.5, 0.25])):
        value = penalty.value(a)
        assert a @ K @ a / 2.0 <= value <= a @ K @ a / 2.0 * (1.0 + 1e-11)
    assert penalty.value(np.zeros(2)) == 0.0
    # an error above 1e-11 of the value asks for precise products
    for rough, expected in (
        ((2.0, 2e-11), 2.0 + 2e-11), ((2.0, 2.1e-11), 5.0), ((-2.0, 1.0), 5.0)
    ):  # fmt: skip
        found = SquaredKernelNorm(Given(rough, (4.5, 0.5))).value(np.ones(2))
        assert found == 0.5 * expected * (1.0 + EPSILON)
    assert SquaredKernelNorm(Given((-2.0, 1.0), (-2.0, 1.0))).value(np.ones(2)) == 0.0
    with pytest.raises(FrozenInstanceError):
        penalty.kernel = None
    assert_array_equal(penalty.prox(np.array([3.0]), 0.5), [2.0])
