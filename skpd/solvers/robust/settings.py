"""The settings of the methods for the robust SVM, each with its unit and its reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SelectionSettings:
    """Settings of the selection of methods."""

    # Rows of a sample for each variable, whose model has a relative error of about 1 / 7; with
    # fewer rows, the method of multipliers costs as much as the interior-point method
    many_rows: int = 40
    # The cost of a run of the interior-point method above which other methods are tried first, in
    # the units of `skpd.designs.newton_cost`: below 0.03 s a trial costs more than it saves
    least_cost: float = 1.5e8


@dataclass(frozen=True)
class IncrementalSettings:
    """Settings of the incremental methods that their paper does not specify."""

    # The first step for a row of a mini-batch, in units of the inverse of a typical squared
    # subgradient, in which kappa^2 is limited to a multiple of the squares of X; and its limit in
    # units of that over the number of rows. With 49,990 rows, 2,000 epochs end 2e-5 above the
    # optimum, and 2e-3 with the first number alone. The steps of the authors' experiments are 75
    # to 310 such units.
    first_step: float = 0.5
    first_step_of_rows: float = 200.0
    kappa_limit: float = 10.0
    # The ratio of the steps of two epochs, the rows of a mini-batch, and the share of the first
    # step below which those of the hybrid method are proximal. On a1a shares from 0.2 to 0.005 end
    # at the same objective, and take 0.9 to 0.7 of the time of proximal updates alone.
    ratio: float = 0.98
    batch_size: int = 4
    switch: float = 0.02
    # The largest gamma for a row of a mini-batch, in units of the inverse of the ridge
    ridge_gamma: float = 5.0
    # The last step of a cycle, as a share of the first, is the tolerance, and at least this; and
    # the first step of the next cycle, as a share of the first one
    least_step: float = 1e-12
    cycle_start: float = 0.1


SELECTION = SelectionSettings()
INCREMENTAL = IncrementalSettings()
