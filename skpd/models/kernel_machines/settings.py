"""The settings of pair descent, each with its unit and its reason."""


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


PAIRS = PairSettings()
