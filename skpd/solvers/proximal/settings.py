"""The tuned numbers of the primal-dual proximal methods: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["REPORTS", "SETTINGS", "ReportSettings", "RestartSettings"]


@dataclass(frozen=True)
class ReportSettings:
    """When the published methods ask for a certificate, which costs a few iterations."""

    # Iterations at a report, as a multiple of those at the report before, and at least so many
    # between two
    report_factor: float = 1.1
    report_every: int = 10


@dataclass(frozen=True)
class RestartSettings:
    """Numbers of the restarted primal-dual hybrid gradient. None has a part in a proof."""

    # When to restart. The first three are those of Applegate et al. (2021).

    # The gap, as a share of that at the last restart: so much less is worth a restart by itself,
    # and this much less where the gap has begun to grow.
    sufficient_decrease: float = 0.2
    necessary_decrease: float = 0.8
    # Iterations since the last restart, as a share of all of them, at which there is another:
    # without it a bad primal weight would stay for good.
    longest_stretch: float = 0.36
    # A distance travelled that is at most this share of the other one may be rounding, and says
    # nothing of the primal weight.
    distance_rounding: float = 1e-10

    # When to ask for a certificate, which costs a few iterations

    # The iteration of the first one, those between two at most, and fewer while there have been
    # fewer: small problems are done by then.
    first_check: int = 10
    check_every: int = 40

    # Iterations without progress, at least, after which it ends unfinished (`Monitor.watch`)
    patience: int = 2000

    # The robust SVM's step is shorter than its bound by this, so that rounding leaves it below.
    step_margin: float = 1e-9

    # What an iteration costs, in multiplications of dense vectors: for an entry of X, and however
    # small X is
    step_cost: float = 4.0
    step_overhead: float = 5e4


REPORTS = ReportSettings()
SETTINGS = RestartSettings()
