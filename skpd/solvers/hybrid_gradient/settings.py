"""The settings of the primal-dual proximal methods, each with its unit and its reason."""


class RestartSettings:
    """Settings of the restarted primal-dual hybrid gradient, which no proof depends on."""

    # Restarts. The first three numbers are those of Applegate et al. (2021).

    # The gap at a restart, as a share of that at the last one: without further condition, and if
    # the gap has started to increase
    sufficient_decrease: float = 0.2
    necessary_decrease: float = 0.8
    # Iterations since the last restart, as a share of all, at which there is another, so that an
    # unsuitable primal weight is changed
    longest_stretch: float = 0.36
    # The fixed cost of an iteration, in multiplications of dense vectors
    step_overhead: float = 5e4

    # Certificates, which cost a few iterations

    # The iteration of the first certificate, and the most iterations between two, which is reduced
    # at the beginning for small problems
    first_check: int = 10
    check_every: int = 40


SETTINGS = RestartSettings()
