"""Directions in which penalties are differentiable: there all subgradients agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.certificates import PENALTIES
from skpd.penalties import (
    L1,
    Box,
    ElasticNet,
    ElasticNetBall,
    FusedLasso,
    GroupL2,
    L1Ball,
    L2Norm,
    LInf,
    Separable,
    SparseGroup,
    SquaredL2,
    SquaredL2OnL1Ball,
    TotalVariation,
)

MORE = [
    TotalVariation(),
    FusedLasso(0.3),
    GroupL2([[5, 0], [1, 3, 4], [2]], weights=[0.5, 0.0, 1.0]),
    SparseGroup([[5, 0], [1, 3, 4], [2]], weights=[0.5, 0.0, 1.0], l1_ratio=0.0),
    SparseGroup(2, l1_ratio=1.0),
    Separable([1.0, 0.0, 0.5, 0.0, 2.0, 1.0], [0.0, 1.0, 0.5, 0.0, 0.0, 0.0], -0.5, 0.7),
]


@pytest.mark.parametrize("penalty", [*PENALTIES, *MORE], ids=str)
def test_subgradients_agree_along_smooth_directions(penalty, rng):
    """Of w = prox(z) the residual z - w is a subgradient: any, as z is."""
    penalty = penalty.for_n_features(6)
    for scale in (0.1, 1.0, 10.0):
        for _ in range(20):
            z = scale * rng.normal(size=6)
            w = penalty.prox(z, 1.0)
            directions, subgradient = penalty.smooth_directions(w)
            sums = directions.T @ (z - w)
            assert_allclose(sums, directions.T @ subgradient, rtol=0.0, atol=1e-9 * scale)
            assert directions.shape[1] == np.linalg.matrix_rank(directions)


@pytest.mark.parametrize(
    "penalty, w, directions",
    [
        (L1(), [2.0, 0.0, -1.0], [[1, 0, 0], [0, 0, 1]]),
        (Box(-1.0, 1.0), [1.0, 0.0, -0.5], [[0, 1, 0], [0, 0, 1]]),
        (LInf(), [2.0, 0.5, -2.0], [[0, 1, 0], [1, 0, -1]]),
        (L1Ball(5.0), [2.0, 0.0, -1.0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        (L1Ball(3.0), [2.0, 0.0, -1.0], [[1, 0, 1]]),
        (ElasticNetBall(1.0, 0.5), [0.5, 0.0, -1.0], [[1, 0, 0.75]]),
        (ElasticNetBall(2.0, 0.5), [0.5, 0.0, -1.0], np.eye(3)),
        (TotalVariation(), [1.0, 1.0, 3.0], [[1, 1, 0], [0, 0, 1]]),
        (TotalVariation(), [0.0, 0.0, 0.0], [[1, 1, 1]]),
        (FusedLasso(0.5), [0.0, 2.0, 2.0], [[0, 1, 1]]),
        (FusedLasso(0.5), [0.0, 0.0, 2.0], [[0, 0, 1]]),
        (LInf(), [0.0, 0.0, 0.0], np.empty((0, 3))),
        (LInf(), [1.0, 1.0 - 2e-8, 0.5], [[1, 1, 0], [0, 0, 1]]),
        (LInf(), [1.0, 1.0 - 1.5e-7, 0.5], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        (L1Ball(1.0), [0.5, 0.0, 0.5 - 2e-8], [[1, 0, -1]]),
        (L1Ball(1.0), [0.5, 0.0, 0.5 - 1.5e-7], np.eye(3)),
        (L1Ball(3.0), [1.0, 0.0, 0.0], np.eye(3)),
        (L2Norm(), [0.0, 0.0], np.empty((0, 2))),
        (L2Norm(), [0.0, 0.1], np.eye(2)),
        (SquaredL2(), [0.0, 0.1], np.eye(2)),
        (ElasticNet(0.5), [0.0, 0.1], [[0, 1]]),
        (SquaredL2OnL1Ball(1.0), [0.5, 0.0], np.eye(2)),
        (Box(-1.0, 2.0), [-1.0, 2.0, 0.0, 1.5], np.eye(4)[2:]),
        (GroupL2([2, 2], [1.0, 0.0]), [0.0, 0.1, 0.0, 0.0], np.eye(4)[:2]),
        (SparseGroup([2, 2], l1_ratio=0.5), [0.0, 0.1, 0.0, 0.0], np.eye(4)[1:2]),
        (SparseGroup([2, 2], l1_ratio=0.0), [0.0, 0.1, 0.0, 0.0], np.eye(4)[:2]),
    ],
    ids=str,
)
def test_smooth_directions_are_the_tangents(penalty, w, directions):
    found, _ = penalty.for_n_features(len(w)).smooth_directions(np.array(w))
    both = np.vstack([found.T, directions])
    assert found.shape[1] == len(directions) == np.linalg.matrix_rank(both)


@pytest.mark.parametrize(
    ("penalty", "w", "gradient"),
    [
        (ElasticNet(0.25), [2.0, -1.0], [1.75, -1.0]),
        (GroupL2([2], [2.0]), [3.0, -4.0], [1.2, -1.6]),
        (SparseGroup([2], [2.0], 0.5), [3.0, -4.0], [0.5 + 0.6, -0.5 - 0.8]),
        (L2Norm(), [3.0, -4.0], [0.6, -0.8]),
        (LInf(), [3.0, -4.0], [0.0, -1.0]),
        (LInf(), [4.0, -4.0], [0.5, -0.5]),
        (TotalVariation(), [1.0, 3.0, 2.0], [-1.0, 2.0, -1.0]),
        (FusedLasso(0.25), [1.0, 3.0, 2.0], [0.25 - 0.75, 0.25 + 1.5, 0.25 - 0.75]),
        (SquaredL2OnL1Ball(9.0, 0.5), [3.0, -4.0], [1.5, -2.0]),
        (L1Ball(9.0), [3.0, -4.0], [0.0, 0.0]),
        (ElasticNetBall(90.0), [3.0, -4.0], [0.0, 0.0]),
        (Separable(0.5, [2.0, 1.0]), [3.0, -4.0], [6.5, -4.5]),
    ],
    ids=str,
)
def test_the_subgradient_is_the_gradient(penalty, w, gradient):
    _, found = penalty.for_n_features(len(w)).smooth_directions(np.array(w))
    assert_allclose(found, gradient)
