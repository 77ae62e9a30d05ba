"""The settings of accelerated gradients, each with its unit and its reason."""

from ..certificate_schedule import ScheduleSettings


class AcceleratedSettings:
    """Settings of the estimate functions and their search, which no proof depends on."""

    # The first L of the entropic prox, as a share of its bound, which is rarely attained
    first_entropic_share: float = 1.0 / 16.0

    # Smoothing of kinks

    # The last level, as a share of the one whose effect is the requested gap
    last_level: float = 0.5
    # The first level of the homotopy, as a share of the one whose effect is the gap at the start,
    # and the divisor from one level to the next
    first_level: float = 0.1
    level_factor: float = 4.0
    # The gap at which a level except the last ends, in units of the effect of its smoothing
    level_gap: float = 2.0
    # The least tolerance for which a level is computed
    least_tol: float = 1e-12
    # Data-dependent smoothing: iterations of the power method for the first singular vector, and
    # the least weight of a row, as a share of the mean
    power_steps: int = 6
    least_square: float = 0.1


SETTINGS = AcceleratedSettings()


class GradientSettings:
    """Settings of accelerated proximal gradients, which no proof depends on."""

    # Divisor of the estimated curvature L before a step, and factor after a step that was too long
    # (gamma_d and gamma_u of Zhang, Saha and Vishwanathan); the estimate follows a decreasing
    # curvature within some twenty steps
    curvature_decrease: float = 1.05
    curvature_increase: float = 2.0
    # Relative rounding error of objectives and mean losses, and the least difference that is
    # significant, in units of that error
    rounding: float = 1e-14
    measurable: float = 100.0
    # The largest cost of a Gram matrix, in passes over X for all outputs
    gram_passes: float = 50.0
    # The cost of an iteration in multiplications of dense vectors: fixed, and for each entry of X
    step_overhead: float = 2e5
    step_cost: float = 4.0
    # Iterations between estimates of the gap, which cost a decomposition or some products
    estimate_every: int = 5


GRADIENTS = GradientSettings()

# Certificates become rarer, so that a run that ends early has one; after one that was not good
# enough in spite of the estimate, the next one waits
SCHEDULE = ScheduleSettings(every=50, share=0.5, wait=0.1, patience=2000)
# Published methods do not end unfinished
PUBLISHED = ScheduleSettings(every=50, share=0.5, wait=0.1)


class QuasiNewtonSettings:
    """Settings of L-BFGS, which no proof depends on."""

    # Pairs of steps and gradients that are kept: with 20 or 40, fits take as many steps
    memory: int = 10
    # The second derivative of a loss for the units of the variables, that of logistic losses at 0:
    # in the units of the data, a gamma model of words takes eight times as many steps
    curvature: float = 0.25

    # The line search ends where the objective has decreased by this share of what the slope says
    # and the slope is at most this share of that at the start. Until then it takes so many steps,
    # shorter ones or this times longer.
    decrease: float = 1e-4
    slope_share: float = 0.9
    searches: int = 20
    longer: float = 3.0
    # Relative rounding error of an objective
    rounding: float = 1e-15
    # Scores of this size have exponentials whose sums and quotients do not overflow
    largest_exponent: float = 300.0

    # Newton steps of the intercepts end where the sums of the dual point are below this at the
    # start, this share of the gap after a step, and this share of it before a certificate: with
    # sums of a tenth of the gap, 200 classes take twice the steps
    first_sums: float = 1e-3
    share_of_sums: float = 1e-4
    last_sums: float = 1e-4
    steps_of_intercepts: int = 4
    # The ridge of their matrix, relative to its largest entry, as coupled losses have a direction
    # without curvature
    ridge_of_intercepts: float = 1e-12

    # The rows of the first steps are one in so many, at least so many times the outputs for each
    # of them and as many as variables, and at most so many steps until the gap is a share of the
    # best constant's objective: 10,000 rows of 10 and 50 classes take 7 to 13 products in place
    # of 13 to 19
    sample: int = 10
    rows_of_output: int = 20
    sample_steps: int = 60
    sample_gap: float = 3e-2

    # The steps from whose gaps the number that is left is estimated
    window: int = 12
    # The relative difference of coefficients that count as the same, as models are rounded
    same_coefficient: float = 1e-6


QUASI_NEWTON = QuasiNewtonSettings()
