"""Settings of the selection of methods (`skpd.solvers.rules`)."""


class SelectionSettings:
    """Settings of the selection, with costs in the units of `skpd.designs.newton_cost`."""

    # Rows for each variable above which a Newton step costs less than passes of dual descent
    many_rows: int = 2000
    # The same for the squared hinge loss, whose few Newton steps are exact on such data
    rows_of_squared_hinge: int = 4
    # and where one class is rare, as that of one against the rest: the objective of the best
    # constant and its product with the mean square of a row over n times the ridge up to which,
    # with up to so many rows for each variable, 10 and 50 classes take half the time
    rare_class: float = 0.5
    steepness_of_rare: float = 10.0
    rows_of_rare_class: int = 100
    # The cost of a Newton step on all rows and features up to which data count as small, 0.5 ms
    small_step: float = 4e5
    # The most steps of L-BFGS that may be expected, for several outputs and for sparse tables; and
    # from the solution for another alpha, for one output with so many rows for each variable and
    # entries of X at least
    gradients: int = 150
    gradients_from_near: int = 4
    rows_of_gradients: int = 2
    entries_of_gradients: int = 500_000
    # The cost of a run of Newton steps above which gradient methods are tried first, 10 s
    long_run: float = 1e10
    # The same for penalties of singular values, 0.25 s: a step has a decomposition of as many
    # columns as the penalty has coefficients. 14 fits of losses with kinks take 0.55 of the time.
    long_singular_run: float = 2e8
    # The largest cost of methods that may stall, as a share of that of the interior-point method:
    # without a start, and with one, from which they usually need less
    trial_share: float = 0.5
    warm_trial_share: float = 1.0
    # Dual descent takes either few passes or hundreds. It may take the time of this many Newton
    # steps on all rows and features, about that of the method of multipliers, so that both
    # together take at most twice as long.
    descent_steps: float = 6.0
    # Squared l2 penalties on wide tables: the features for each row and the entries from which on,
    # and the most rows up to which, a table of the row space is worth its time
    features_per_row: float = 2.0
    least_wide_table: int = 15_000
    most_rows_of_gram: int = 2000
    # The ridge, relative to the sum of the mean squares of the features, below which rounding
    # errors of systems are 1e-5 of the coefficients; and the entries of tables up to which
    # singular vectors avoid them, some seconds
    least_ridge: float = 1e-11
    largest_precise_table: float = 1e7
    # The least pivot of the Gram matrix of the rows, relative to the largest
    least_pivot: float = 1e-5
    # The entries of X for all classes up to which Newton steps come first with intercepts, as they
    # take milliseconds
    small_classes: int = 20_000
    # Problems that the interior-point method leaves unsolved are mostly limited by rounding
    # errors. The last method may take this many times its cost, plus a second for small problems.
    last_share: float = 4.0
    last_cost: float = 1e9
    # Several outputs: the largest cost of the method of multipliers, in runs of the interior-point
    # method with systems of the features. Its usual cost is that of one or two, unless it stalls.
    most_runs: float = 2.0
    # The same for losses with kinks, where Newton steps stall more often, with at most so many
    # rows for each feature: 84 fits of the loss of Crammer and Singer and of absolute losses to
    # ten tables take 0.76 of the time in the geometric mean. With 2,500 rows for each feature two
    # fits would take 1.6 and 5.7 times as long.
    runs_of_kinks: float = 0.3
    rows_of_kinks: float = 100.0
    # The same on wide data, where these systems are of the rows: for smooth losses, and for losses
    # with kinks, of which only problems with few features left take a small share of a run
    row_runs_of_smooth: float = 1.0
    row_runs_of_kinks: float = 0.2
    # Quantiles that may not cross: the rows for each feature between which the interior-point
    # method comes first, as Newton steps on the few rows that cross are not exact. With more rows,
    # or fewer that hardly hold quantiles apart, the method of multipliers is faster.
    rows_of_cones: tuple[float, float] = (0.5, 8.0)

    def trial_budget(self, cost: float, warm: bool) -> float:
        """The largest cost of a trial before an interior-point method of the given cost."""
        return (self.warm_trial_share if warm else self.trial_share) * cost

    def last_budget(self, cost: float) -> float:
        """The largest cost of the last method after an interior-point method of that cost."""
        return self.last_share * cost + self.last_cost


SETTINGS = SelectionSettings()
