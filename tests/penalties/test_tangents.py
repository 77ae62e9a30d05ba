"""Directions in which penalties are differentiable: there all subgradients agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.certificates import PENALTIES
from skpd.penalties import L1, Box, ElasticNetBall, L1Ball, LInf, TotalVariation


@pytest.mark.parametrize("penalty", [*PENALTIES, TotalVariation()], ids=str)
def test_subgradients_agree_along_smooth_directions(penalty, rng):
    """Of w = prox(z) the residual z - w is a subgradient: any, as z is."""
    penalty = penalty.bind(6)
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
        (TotalVariation(), [1.0, 1.0, 3.0], [[1, 1, 0], [0, 0, 1]]),
    ],
    ids=str,
)
def test_smooth_directions_are_the_tangents(penalty, w, directions):
    found, _ = penalty.smooth_directions(np.array(w))
    both = np.vstack([found.T, directions])
    assert found.shape[1] == len(directions) == np.linalg.matrix_rank(both)
