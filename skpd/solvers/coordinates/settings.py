"""The settings of coordinate descent, each with its unit and its reason."""


class DualSettings:
    """Settings of dual coordinate descent."""

    # Passes over X before a certificate, which costs about as much as a few passes
    passes: int = 50
    # Passes over X after which Newton steps are expected to be faster, if they are possible
    most_passes: int = 500
    # The ratio of mean and standard deviation above which features are centred beside an
    # intercept: with 2, 1,000 x 1,000 took ten times as many passes. X with more entries than the
    # second number (400 MB) is not copied for it.
    far: float = 1.0
    largest_copy: float = 5e7
    # The cost of an entry of X in a pass, in multiplications of dense vectors
    step_cost: float = 4.0


class PairSettings:
    """Settings of pair descent on an RKHS kernel matrix."""

    # Steps at the first certificate, unless the gap is small before, and at another as a multiple
    # of those at the last one. A certificate of 5000 rows takes as long as 5000 steps.
    first_check: float = 2e4
    check_factor: float = 2.0
    # Rows of K that are computed at a time. With 64 a value takes 1.8 times as long as in large
    # blocks; with 256, 3 to 8 % more rows were computed that are no support vectors.
    rows_at_once: int = 128
    # Multiplications of a step for each row, for the comparison with a Cholesky factor, which
    # takes a sixth of the cube of the number of rows
    step_cost: float = 24.0
    # The largest cost of the method, relative to a factor, and the least limit of steps
    factors: float = 2.0
    least_steps: float = 2e4

    def most_steps(self, n_rows: int) -> float:
        """The number of steps after which methods that need a factor of K may be faster."""
        return max(self.factors * n_rows**2 / (6.0 * self.step_cost), self.least_steps)


DUAL = DualSettings()
PAIRS = PairSettings()
