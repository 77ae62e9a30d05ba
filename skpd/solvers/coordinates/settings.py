"""The settings of coordinate descent, each with its unit and its reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DualSettings:
    """Settings of dual coordinate descent."""

    # Passes over X before a certificate, which costs about as much as a few passes
    passes: int = 50
    # Passes over X after which Newton steps are expected to be faster, if they are possible
    most_passes: int = 500
    # The cost of an entry of X in a pass, in multiplications of dense vectors
    step_cost: float = 4.0


@dataclass(frozen=True)
class PairSettings:
    """Settings of pair descent on an RKHS kernel matrix."""

    # Steps at a certificate, as a multiple of those at the last one; a certificate costs a few
    # products with K
    check_factor: float = 2.0
    # Multiplications of a step for each row, for the comparison with a Cholesky factor, which
    # takes a sixth of the cube of the number of rows
    step_cost: float = 24.0
    # The largest cost of the method, relative to a factor, and the least limit of steps
    factors: float = 2.0
    least_steps: float = 2e4

    def most_steps(self, n_rows: int) -> float:
        """The number of steps after which methods that need a factor of K may be faster."""
        return max(self.factors * n_rows**2 / (6.0 * self.step_cost), self.least_steps)


@dataclass(frozen=True)
class ClassSettings:
    """Settings of dual descent for the loss of Crammer and Singer."""

    # Costs in the units of `skpd.designs.newton_cost`: of an entry of X for each class, dense and
    # sparse, and the additional cost of an update of a row
    dense_cost: float = 0.5
    sparse_cost: float = 1.5
    visit_overhead: float = 100.0
    # The expected cost of the method of multipliers: its number of Newton steps, and the cost of a
    # step in addition to products and factors
    newton_steps: float = 40.0
    newton_overhead: float = 2e6
    # The share of that cost after which the progress of the descent is judged
    trial_share: float = 0.1


CLASSES = ClassSettings()
DUAL = DualSettings()
PAIRS = PairSettings()
