"""The tuned numbers of coordinate descent: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["CLASSES", "DUAL", "PRIMAL", "DualSettings", "PrimalSettings"]


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


@dataclass(frozen=True)
class ClassSettings:
    """Numbers of dual descent for the loss of Crammer and Singer."""

    # Passes over X up to the first certificate, and by how many times as many up to each of the
    # next: certificates cost about as much as passes, and tell how it goes
    first_run: float = 50.0
    run_factor: float = 1.5
    # Products of entries of X with coefficients between two looks at Ctrl-C at most: half a second
    pause_work: float = 2e8
    # The gap at which it ends, as a share of that asked for, and its factor where the certificate
    # wants more
    last_share: float = 0.9
    last_factor: float = 0.5

    # Costs in the units of `skpd.designs.newton_cost`: of an entry of X for each class, dense and
    # sparse, and of a visit of a row beside these
    dense_cost: float = 0.5
    sparse_cost: float = 1.5
    visit_overhead: float = 100.0
    # What is expected of the method of multipliers: its Newton steps, and what each takes beside
    # products and factors
    newton_steps: float = 40.0
    newton_overhead: float = 2e6
    # The share of its cost that the descent may take before it is judged
    trial_share: float = 0.1


CLASSES = ClassSettings()
DUAL = DualSettings()
PRIMAL = PrimalSettings()
