"""The tuned numbers of coordinate descent: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["DUAL", "PRIMAL", "DualSettings", "PrimalSettings"]


@dataclass(frozen=True)
class DualSettings:
    """Numbers of dual coordinate descent."""

    # Entries of X, and passes over it, between two looks at Ctrl-C at most: a fraction of a second
    pause_entries: float = 2e8
    pause_passes: int = 50
    # Passes over X, after which Newton steps are faster, where these are possible
    most_passes: int = 500
    # What an entry of X costs in a pass, in multiplications of dense vectors
    step_cost: float = 4.0


@dataclass(frozen=True)
class PrimalSettings:
    """Numbers of the random coordinate methods on the primal."""

    # Entries of X between two looks at Ctrl-C: a fraction of a second
    pause_entries: float = 1e8
    # Epochs at a report, as a multiple of those at the report before
    report_factor: float = 1.1


DUAL = DualSettings()
PRIMAL = PrimalSettings()
