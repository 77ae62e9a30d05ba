"""The settings of the methods for the robust SVM, each with its unit and its reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SelectionSettings:
    """Settings of the selection of methods."""

    # Rows for each variable above which a sample is representative; with fewer rows, the method of
    # multipliers costs as much as the interior-point method
    many_rows: int = 40
    # The cost of a run of the interior-point method above which other methods are tried first, in
    # the units of `skpd.designs.newton_cost`, 0.1 s
    least_cost: float = 1e8
    # The number of features above which working sets are used
    many_columns: int = 1000


@dataclass(frozen=True)
class WorkingSetSettings:
    """Settings of the working sets of features for norm 1."""

    # The number of features of the first set, and the largest ratio of successive sets
    first_columns: int = 200
    growth: int = 2
    # Relative gap to which the first set is solved; that of the next ones, as a share of the last
    # gap; and the least one, as a share of the requested gap
    first_tol: float = 0.03
    tol_factor: float = 0.1
    least_tol: float = 0.3
    # Relative margin of limits, as solutions are inexact
    violation_margin: float = 1e-6
    # For a set solved to the last accuracy: the ratio of the gap to the last one, above which
    # further sets are not expected to help
    progress: float = 0.5


@dataclass(frozen=True)
class MultiplierSettings:
    """Settings of the method of multipliers, which no proof depends on.

    They were tuned on generated data of 50,000 to 1,000,000 rows.
    """

    # The first sigma, in units of the inverse of the scale of predictions, so that the quadratic
    # pieces of the envelopes are wide enough for Newton steps from any start.
    first_sigma: float = 1.0
    # The first sigma from a dual point near a solution, as a multiple of first_sigma
    warm_factor: float = 5.0
    # The first multiplier of a flip, as a share of epsilon / kappa, in the middle of its range
    first_flip: float = 0.5
    # Factor of sigma after a round of few Newton steps (3 to 10 take the same time), and its
    # divisor after a round of many, which is smaller so that they do not alternate.
    sigma_growth: float = 5.0
    sigma_shrink: float = 2.0
    few_steps: int = 3
    many_steps: int = 6
    # Share of the residual in the gap at which a round ends, as the next sigma increases it
    residual_share: float = 0.8

    # Rows of a sample for each unknown, whose model has a relative error of about 1 / 7
    sample_rows: int = 40
    # A sample is used if there are at least this times as many rows in total
    sample_worth: float = 3.0
    # Relative gap on a sample, about that of its exact solution on all rows
    sample_gap: float = 0.05

    # Share of rows with curvature above which the method has no advantage, as for models hardly
    # better than a constant, with most margins at the kinks
    curved_share: float = 0.5
    # Share of the rows that remain when others are left out, at least twice those with curvature
    kept_share: float = 0.25
    # The gap at which all rows return, as a share of that when they were left out
    thaw_gap: float = 0.1
    # Share of the rows up to which products with a copy of these rows are faster
    copied_share: float = 0.5

    # Curvature added to every unknown, as a share of that if all rows had curvature, so that steps
    # are finite if none has
    regularisation: float = 1e-7
    # Relative residual of conjugate gradients, as the set of rows with curvature changes anyway
    linear_accuracy: float = 0.03
    # The time of a multiplication with a factor, relative to one in a product with X, as a factor
    # is read from main memory
    factor_slowness: float = 4.0
    # Share of the initial slope at which a line search ends
    line_search_slope: float = 0.5
    # The most evaluations of a line search; most need one, as slopes are piecewise linear
    line_search_steps: int = 12
    # The least share of the interval by which regula falsi reduces it, at either end
    least_cut: float = 0.1
    # Relative rounding error of a norm, up to which lam counts as the norm of w
    norm_rounding: float = 1e-12

    # Newton steps without progress after which the method ends unfinished (`Patience`)
    patience: int = 25
    # The least number of Newton steps between certificates, at which callbacks are called
    check_every: int = 20


@dataclass(frozen=True)
class IncrementalSettings:
    """Settings of the incremental methods that their paper does not specify."""

    # The first step for a row of a mini-batch, in units of the inverse of a typical squared
    # subgradient, in which kappa^2 is limited to a multiple of the squares of X
    first_step: float = 0.5
    kappa_limit: float = 10.0
    # The largest gamma for a row of a mini-batch, in units of the inverse of the ridge
    ridge_gamma: float = 5.0
    # The last step of a cycle, as a share of the first, is the tolerance, and at least this; and
    # the first step of the next cycle, as a share of the first one
    least_step: float = 1e-12
    cycle_start: float = 0.1


SELECTION = SelectionSettings()
WORKING_SET = WorkingSetSettings()
SETTINGS = MultiplierSettings()
INCREMENTAL = IncrementalSettings()
