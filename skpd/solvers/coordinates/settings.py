"""The tuned numbers of coordinate descent: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["CLASSES", "DUAL", "PAIRS", "PRIMAL", "DualSettings", "PairSettings", "PrimalSettings"]


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
class PairSettings:
    """Numbers of pair descent on a kernel matrix."""

    # The gap at which it ends, as a share of that asked for, and its factor where the certificate
    # wants more
    share: float = 0.9
    next_share: float = 0.3
    # Entries of K between two looks at Ctrl-C: a fraction of a second
    pause_entries: float = 2e7
    # Steps at a certificate over those at the one before: a certificate takes a few products with
    # all of K, each as long as hundreds of steps for 5,000 rows
    check_factor: float = 2.0
    # Multiplications that a step takes for each row, to compare it with a Cholesky factor, which
    # takes a sixth of the cube of the number of rows
    step_cost: float = 24.0
    # What it may take over the cost of a factor, and the steps that it has for few rows
    factors: float = 2.0
    least_steps: float = 2e4

    def most_steps(self, n_rows: int) -> float:
        """The steps at which methods that need a factor of K may be faster."""
        return max(self.factors * n_rows**2 / (6.0 * self.step_cost), self.least_steps)


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
PAIRS = PairSettings()
PRIMAL = PrimalSettings()
