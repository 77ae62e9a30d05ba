"""The settings of the primal-dual proximal methods, each with its unit and its reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReportSettings:
    """Settings of the certificates of published methods, which cost a few iterations each."""

    # Iterations at a report, as a multiple of those at the last report, and the least number
    # between two reports
    report_factor: float = 1.1
    report_every: int = 10


@dataclass(frozen=True)
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
    # A distance of at most this share of the other one may be a rounding error, and does not
    # change the primal weight
    distance_rounding: float = 1e-10

    # Certificates, which cost a few iterations

    # The iteration of the first certificate, and the most iterations between two, which is reduced
    # at the beginning for small problems
    first_check: int = 10
    check_every: int = 40

    # Iterations without progress, at least, after which it ends unfinished (`Monitor.watch`)
    patience: int = 2000

    # The robust SVM's step is shorter than its bound by this, so that rounding leaves it below.
    step_margin: float = 1e-9

    # The cost of an iteration, in multiplications of dense vectors: for each entry of X, and a
    # fixed part
    step_cost: float = 4.0
    step_overhead: float = 5e4


REPORTS = ReportSettings()
SETTINGS = RestartSettings()
