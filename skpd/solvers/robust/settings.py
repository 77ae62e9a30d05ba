"""The tuned numbers of the methods for the robust SVM: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = [
    "INCREMENTAL", "SELECTION", "SETTINGS", "WORKING_SET", "IncrementalSettings",
    "MultiplierSettings", "SelectionSettings", "WorkingSetSettings",
]  # fmt: skip


@dataclass(frozen=True)
class SelectionSettings:
    """Numbers by which methods are chosen."""

    # Rows for each variable from which on a sample tells much of them; with fewer, as many Newton
    # steps on fewer rows cost what the interior-point method's cost on all
    many_rows: int = 40
    # The cost of a run of the interior-point method from which on others are worth trying, in the
    # units of `skpd.designs.newton_cost`: 0.1 s
    least_cost: float = 1e8
    # Features from which on those that stay at zero are left out
    many_columns: int = 1000


@dataclass(frozen=True)
class WorkingSetSettings:
    """Numbers of the working sets of features for norm 1."""

    # Features to begin with, and times as many as were in the last set at most
    first_columns: int = 200
    growth: int = 2
    # Relative gap to which the first set is solved; to which the next one is, as a share of the
    # last gap; and any at most, as a share of that asked for
    first_tol: float = 0.03
    tol_factor: float = 0.1
    least_tol: float = 0.3
    # A feature violates its limit if it is not this share below: solutions are inexact.
    violation_margin: float = 1e-6
    # Of a set solved to the last accuracy: the share of the gap before, above which more sets
    # are not likely to help
    progress: float = 0.5


@dataclass(frozen=True)
class MultiplierSettings:
    """What was tuned on generated data of 50,000 to 1,000,000 rows. None has a part in a proof."""

    # The first sigma, in units of the inverse of the scale of predictions: envelopes are then as
    # wide as that, and Newton steps from anywhere find curvature.
    first_sigma: float = 1.0
    # The same from a dual point that is near a solution, as a multiple of the first
    warm_factor: float = 5.0
    # The first multiplier of a flip, as a share of epsilon / kappa: in the middle of what it may
    # be
    first_flip: float = 0.5
    # Sigma is multiplied by this after a round of few Newton steps: 3 to 10 take the same time;
    # and divided by this after a round of many, which is less so that both do not take turns.
    sigma_growth: float = 5.0
    sigma_shrink: float = 2.0
    few_steps: int = 3
    many_steps: int = 6
    # Share of the gap that the residual has where a round ends: the next sigma raises it anyway
    residual_share: float = 0.8

    # Rows of a sample for each unknown: its model is then right to a seventh
    sample_rows: int = 40
    # Times as many rows at which a sample is worth its while
    sample_worth: float = 3.0
    # Relative gap on a sample: what its rows say of the others is not more exact
    sample_gap: float = 0.05

    # Share of the rows with curvature from which on there is nothing to gain, as where a model
    # little better than a constant has most margins at the kinks
    curved_share: float = 0.5
    # Share of the rows that stay where the others are left out, at least twice those that bend
    kept_share: float = 0.25
    # The gap at which all rows are looked at again, as a share of that when they were left out
    thaw_gap: float = 0.1
    # Share of the rows up to which products with a copy of them save its time
    copied_share: float = 0.5

    # Curvature that every unknown has beside its own, as a share of that if all rows bent: keeps
    # steps finite where none does
    regularisation: float = 1e-7
    # Of Newton steps by conjugate gradients: rows leave and enter the curved part anyway
    linear_accuracy: float = 0.03
    # The time of a multiplication with a factor, in units of that in a product with X: its numbers
    # come from main memory
    factor_slowness: float = 4.0
    # Share of the slope at the start of a line search that may be left at its end
    line_search_slope: float = 0.5
    # Evaluations of a line search at most: slopes are piecewise linear, and most take one
    line_search_steps: int = 12
    # The share of the interval that regula falsi cuts off at least, at either end
    least_cut: float = 0.1
    # Rounding of a norm, as a share of it: where lam is the norm of w
    norm_rounding: float = 1e-12

    # Newton steps without the gap falling to this share of the least, after which it ends
    # unfinished
    patience: int = 25
    progress: float = 0.9
    # Newton steps between certificates at least, which also let callbacks see the run
    check_every: int = 20
    # Where the gap seemed small enough and its certificate was not: the next goal for it, as a
    # share of the last
    goal_factor: float = 0.5


@dataclass(frozen=True)
class IncrementalSettings:
    """Numbers of the incremental methods that their paper leaves open."""

    # The first step for a row of a mini-batch, in units of the inverse of a typical squared
    # subgradient, in which kappa^2 counts for at most so many times the squares of X
    first_step: float = 0.5
    kappa_limit: float = 10.0
    # gamma for a row of a mini-batch at most, in units of the inverse of the ridge
    ridge_gamma: float = 5.0
    # The last step of a cycle, as a share of the first, is the tolerance, and at least this;
    # where the next cycle begins, as a share of the first step
    least_step: float = 1e-12
    cycle_start: float = 0.1
    # Epochs at a report, as a multiple of those at the report before
    report_factor: float = 1.2


SELECTION = SelectionSettings()
WORKING_SET = WorkingSetSettings()
SETTINGS = MultiplierSettings()
INCREMENTAL = IncrementalSettings()
