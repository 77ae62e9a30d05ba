"""The settings of boosting, each with its unit and its reason."""


class BoostingSettings:
    """Settings of column generation and its restricted problems, which no proof depends on."""

    # Hypotheses that are added in a round, the best ones of as many features. More of them reduce
    # the number of rounds, but the systems of restricted problems have a row for each, and models
    # have more hypotheses.
    columns_per_round: int = 20
    # Restricted problems are solved to this share of the gap over all hypotheses, which suffices
    # to find the next hypothesis, and at the end to this share of the tolerance. The entropy that
    # accelerated gradients add has at most the effect of this share of the tolerance.
    share: float = 0.25
    # The most gradients for one restricted problem
    most_gradients: int = 10_000
    # Gradients between two computations of the gap, each of which costs about as much as one
    check_every: int = 5
    # A start is mixed with the uniform mixture by this share, as 0 stays 0 with the entropic prox.
    spread: float = 1e-3
    # The first L, as a share of its bound 1 / entropy, which is rarely attained
    first_lipschitz_share: float = 1.0 / 16.0
    # The least tolerance for which an entropy is added, as smaller ones increase rounding errors
    least_tol: float = 1e-7
    # The least slacks at the start of the interior-point method, which have the scale of edges, 1
    first_slack: float = 0.1
    # Tolerances of HiGHS, the least that it takes
    programme_tol: float = 1e-10


SETTINGS = BoostingSettings()
