"""Penalties of four coefficients, and suprema that follow from their conjugates."""

import numpy as np

from skpd import penalties as R
from skpd.penalties.increasing_functions import PowerOfNorm

N = 4
PAIRS, UNEQUAL, BOUNDS = [[3, 0], [1, 2]], [[1], [3, 0, 2]], R.FreeFeatures(
    np.array([2]), np.array([-0.5]), np.array([2.0])
)  # fmt: skip
NORMS = [
    R.L1(),
    R.L2Norm(),
    R.LInf(),
    R.NonNegativeL1(),
    R.GroupL2(PAIRS),
    R.GroupL2(UNEQUAL, weights=[0.5, 0.0]),
    R.SparseGroup(UNEQUAL, l1_ratio=0.3),
    R.SparseGroup(UNEQUAL, weights=[0.0, 0.5], l1_ratio=0.3),
    R.SparseGroup(UNEQUAL, weights=[0.0, 2.0], l1_ratio=0.0),
    R.NonNegativeGroupL2(PAIRS),
    R.NonNegativeGroupL2(UNEQUAL, weights=[0.5, 0.0]),
    R.GroupLInf(UNEQUAL),
    R.GroupLInf(PAIRS, weights=[0.5, 0.0]),
    R.WeightedL1([0.5, 0.0, 2.0, 1.0]),
    R.Separable([0.5, 0.0, 2.0, 1.0], 0.0, [0.0, -1.0, -np.inf, 0.0]),
    R.Separable([0.5, 0.0, 2.0, 1.0], 0.0, -np.inf, [0.0, np.inf, np.inf, 0.0]),
    R.Separable(
        [0.5, 0.0, 2.0, 0.0], 0.0, [0.0, 0.0, -np.inf, -np.inf], [0.0, 0.0, np.inf, np.inf]
    ),
    R.NormEpigraph(1),
    R.NormEpigraph(2),
    R.NormEpigraph(np.inf),
    R.NormEpigraph(1, free_features=BOUNDS),
]
CHAINED = [
    R.TotalVariation(),
    R.FusedLasso(0.4),
]
TIGHT = [  # whose bounds are the suprema
    R.Spectral(R.L1(), 2),
    R.Spectral(R.L2Norm(), 2),
    R.Spectral(R.LInf(), 2),
    R.L1Ball(1.5),
    R.Box(-0.5, 2.0),
    R.Box(0.0, 1.0),
    R.Box(-1.5, 0.0),
    R.ElasticNetBall(1.5, 0.3),
    R.GroupL1Squared(UNEQUAL),
    R.SquaredGroupL2(UNEQUAL),
    R.FunctionOfNorm(R.L1(), PowerOfNorm(1.5, 0.5)),
    R.FunctionOfNorm(R.GroupL2(PAIRS), PowerOfNorm(3.0)),
    R.FunctionOfNorm(R.NonNegativeL1()),
    R.Separable([0.5, 0.0, 2.0, 0.0], [0.0, 1.0, 0.5, 0.0]),
    R.Separable([0.0, 0.5, 2.0, 0.0], 0.5, [-0.5, -0.1, 0.0, 0.0], [1.0, 3.0, 2.0, np.inf]),
    R.Separable(1.0, 0.0, -1.0, [0.5, 1.0, 2.0, np.inf]),
    R.Separable(0.0, [0.5, 1.0, 2.0, 3.0]),
    R.Separable(0.0, [0.5, 1.0, 2.0, 3.0], [-0.5, -np.inf, -np.inf, -3.0]),
]
LOOSE = [
    R.SquaredL2(),
    R.ElasticNet(0.3),
    R.ElasticNet(0.9),
    R.SquaredL2OnL1Ball(2.0, 0.3),
    R.GroupElasticNet(PAIRS, l1_ratio=0.3),
    R.GroupElasticNet(UNEQUAL, weights=[0.5, 2.0], l1_ratio=0.9),
    R.Spectral(R.SquaredL2(), 2),
    R.Spectral(R.SquaredL2OnL1Ball(2.0, 0.3), 2),
    R.NormEpigraph(1, weight=0.5),
    R.NormEpigraph(2, weight=2.0),
    R.NormEpigraph(np.inf, weight=0.5, free_features=BOUNDS),
]
NORMS, CHAINED, TIGHT, LOOSE = (
    [penalty.for_n_features(N) for penalty in some] for some in (NORMS, CHAINED, TIGHT, LOOSE)
)
EVERY = NORMS + CHAINED + TIGHT + LOOSE


def coefficients(penalty, rng, scale=1.0):
    """Random coefficients at which a penalty is finite."""
    return penalty.feasible(scale * rng.normal(size=N))


def least(function, most, steps=150):
    """The least value of a convex function on [0, most], which may be inf at small numbers."""
    low, high, best = 0.0, most, min(function(0.0), function(most))
    for _ in range(steps):
        a, b = low + (high - low) / 3.0, high - (high - low) / 3.0
        at_a, at_b = function(a), function(b)
        best = min(best, at_a, at_b)
        low, high = (low, b) if at_a < at_b else (a, high)
    return best
