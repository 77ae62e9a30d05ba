"""The tuned numbers of boosting: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["SETTINGS", "BoostingSettings"]


@dataclass(frozen=True)
class BoostingSettings:
    """Numbers of column generation and its restricted problems. None has a part in a proof."""

    # Hypotheses that are added in a round, the best of so many features: each costs a row of the
    # restricted problem, and a round without them a solution of it.
    columns_per_round: int = 10
    # Restricted problems are solved to this share of the gap over all hypotheses, so that the next
    # hypothesis is found at a good distribution and no work is lost on the others,
    restricted_share: float = 0.25
    # and to this share of the tolerance at last.
    last_share: float = 0.25
    # Gradients for one restricted problem at most,
    most_gradients: int = 10_000
    # and those after which SLSQP is tried: it takes as long as some hundreds, for few hypotheses,
    first_gradients: int = 500
    # with so many quadratic programmes; some 50 are needed.
    most_programmes: int = 200
    # Gradients between two looks at the gap, each of which costs about one more
    check_every: int = 5
    # A start is mixed with the uniform mixture by this share: the entropic prox never leaves 0.
    spread: float = 1e-3
    # Without entropy accelerated gradients take one that costs this share of the tolerance.
    smoothing_share: float = 0.25
    # L begins at this share of its bound 1 / entropy, which few data reach.
    first_lipschitz_share: float = 1.0 / 16.0
    # The least tolerance that smoothing is made for: rounding over an entropy for less would show.
    least_tol: float = 1e-7
    # Tolerances of HiGHS, the least that it takes
    programme_tol: float = 1e-10


SETTINGS = BoostingSettings()
