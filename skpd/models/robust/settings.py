"""The settings of the methods for the robust SVM, each with its unit and its reason."""

from ...solvers.certificate_schedule import ScheduleSettings


class SelectionSettings:
    """Settings of the selection of methods."""

    # Rows of a sample for each variable, whose model has a relative error of about 1 / 7; with
    # fewer rows, the method of multipliers costs as much as the interior-point method
    many_rows: int = 40
    # The cost of a run of the interior-point method above which other methods are tried first, in
    # the units of `skpd.designs.newton_cost`: below 0.03 s a trial costs more than it saves
    least_cost: float = 1.5e8


class MultiplierSettings:
    """Settings of the method of multipliers, which no proof depends on.

    They were tuned on generated data of 50,000 to 1,000,000 rows.
    """

    # Factor of sigma after a round of few Newton steps (3 to 10 take the same time), and for a
    # start near a solution; and its divisor after a round of many, which is smaller so that they
    # do not alternate. The first sigma is the inverse of the scale of predictions, so that the
    # quadratic pieces of the envelopes are wide enough for Newton steps from any start.
    sigma_growth: float = 4.0
    sigma_shrink: float = 2.0
    few_steps: int = 9
    many_steps: int = 12
    # Share of the residual in the gap at which a round ends, as the next sigma increases it
    residual_share: float = 0.8
    # Share of the gap that is the goal below which the part due to the envelopes is sufficient
    last_share: float = 0.8
    # Steps without progress after which the method ends; a round takes 4 to 30
    patience: int = 40

    # A sample is used if there are at least this times as many rows in total
    sample_worth: float = 3.0
    # Relative gap on a sample, about that of its exact solution on all rows
    sample_gap: float = 0.05

    # Share of rows with curvature above which the method has no advantage, as for models hardly
    # better than a constant, with most margins at the kinks
    curved_share: float = 0.6
    # Share of the rows that remain when others are left out, at least twice those with curvature
    kept_share: float = 0.15
    # The gap at which all rows return, as a share of that when they were left out
    restore_gap: float = 0.1

    # Curvature added to the intercept and lam, as a share of that if all rows had curvature, so
    # that steps are finite if none has; and to every coefficient, so that steps are short where
    # fewer rows have curvature than there are coefficients
    regularisation: float = 1e-8
    damping: float = 1e-5
    # The most faces that are tried for a step; most steps need one or two
    most_faces: int = 6
    # The squared relative residual at which conjugate gradients stop. They may cost as much as
    # forming and factorising the matrix, which is what is done where that is less than this number
    # of products.
    linear_accuracy: float = 2.5e-3
    fewest_products: float = 100.0
    # Share of the initial slope at which a line search ends
    line_search_slope: float = 0.5
    # The most evaluations of a line search; most need one, as slopes are piecewise linear
    line_search_steps: int = 12
    # The length of a step below which the damping of the next step is multiplied by its growth, as
    # a feature of few rows with curvature takes all of it; its divisor after a longer step. Fits
    # take 0.8 of the time that they took with a smaller sigma instead.
    least_length: float = 0.05
    damping_growth: float = 1000.0
    damping_decay: float = 100.0
    # The least share of the interval by which regula falsi reduces it, at either end
    least_cut: float = 0.1
    # Relative rounding error of a norm, up to which lam counts as the norm of w
    norm_rounding: float = 1e-12


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
    # The change of a multiplier, in [0, 1], in a sweep below which a mini-batch's update ends. On
    # a1a with 8 to 128 rows 1e-2 takes 1.2 to 3 sweeps, 1e-4 up to 44, and as many epochs.
    prox_tol: float = 1e-2
    # The largest gamma for a row of a mini-batch, in units of the inverse of the ridge
    ridge_gamma: float = 5.0
    # The first step of the next cycle, as a share of the first one
    cycle_start: float = 0.1


# Certificates return to all rows, which takes as long as some Newton steps: with one in every 20
# steps fits of 100,000 rows take a tenth longer.
SCHEDULE = ScheduleSettings(every=40)
SELECTION = SelectionSettings()
SETTINGS = MultiplierSettings()
INCREMENTAL = IncrementalSettings()
