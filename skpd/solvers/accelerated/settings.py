"""The tuned numbers of accelerated gradients: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["GRADIENTS", "SETTINGS", "AcceleratedSettings", "GradientSettings"]


@dataclass(frozen=True)
class AcceleratedSettings:
    """Numbers of the estimate functions and their search. None has a part in a proof."""

    # The search for L

    # gamma_u and gamma_d: L times the first where it is rejected, over the second with every step
    lipschitz_growth: float = 2.0
    lipschitz_decay: float = 1.05
    # gamma_d with a search in a span, where a rejected L costs no gradient
    search_decay: float = 1.5
    # Values of L tried with u_{k+1} = x_k, before Algorithms 2 and 4 take their step
    most_searches: int = 4
    # L at least, as a share of the first one, and a at most, where runs go on at the optimum
    least_lipschitz: float = 1e-12
    largest_weight: float = 1e100
    # L over lambda1 at least: at 1 the steps would be infinite
    least_over_convexity: float = 1.0 + 1e-8
    # L of the entropic prox begins at this share of its bound, which few data reach
    first_entropic_share: float = 1.0 / 16.0
    # Rounding of objectives and models, as a share of these
    objective_rounding: float = 1e-13

    # The lowest point in a span, by Newton steps

    newton_steps: int = 4
    # They end where a step promises less than this share of the decrease so far, or is rounding
    newton_progress: float = 1e-2
    decrease_rounding: float = 1e-15
    # A step is cut to this share, so often at most, until the objective falls by this share of
    # what the slope promises.
    backtrack_factor: float = 0.25
    most_backtracks: int = 6
    sufficient_decrease: float = 1e-4
    # Eigenvalues of the scaled Hessian above this: moves that are nearly the same are one
    least_eigenvalue: float = 1e-10
    # The step of the prox for a slope of Psi, in units of 1 / L: so short that Psi is linear on it
    slope_step: float = 1e-5
    # Relative error of a product with A at which it is made anew
    product_drift: float = 1e-9
    # Iterations that find nothing lower, until a new start
    stalled_searches: int = 3

    # Smoothing of kinks

    # The level at last, as a share of what costs the gap asked for, and how it falls if that is
    # not enough
    last_level: float = 0.5
    last_level_factor: float = 0.25
    # The first level of the homotopy, as a share of what costs the gap at the start, and by what
    # it is divided from one level to the next
    first_level: float = 0.1
    level_factor: float = 4.0
    # The gap at which a level but the last ends, in units of what its smoothing costs
    level_gap: float = 2.0
    # The tolerance for which there is a level, at least
    least_tol: float = 1e-12
    # Data-dependent smoothing: iterations of the power method for the first singular vector, and
    # the least weight of a row, as a share of the mean, so that its loss is smoothed at all
    power_steps: int = 6
    least_square: float = 0.1
    # The change of the intercept in differences of the dual point, in units of the scale of
    # predictions
    difference_step: float = 1e-6
    # Where the best intercept is looked for: within this of the last one, in the same units, then
    # farther, up to the other; and its accuracy
    first_bracket: float = 1e-3
    largest_bracket: float = 1e12
    intercept_accuracy: float = 1e-15

    # The start of the entropic prox: this share of the weight is spread over all variables, which
    # could not leave 0 else
    entropic_spread: float = 0.1

    # When to ask for a certificate

    # Where the estimated gap is this share of that asked for; else after so many gradients, or a
    # part of those so far
    near_goal: float = 0.9
    check_every: int = 10
    check_share: int = 4
    # Gradients after which the averaged dual points are compared with the latest again
    compare_every: int = 10


SETTINGS = AcceleratedSettings()


@dataclass(frozen=True)
class GradientSettings:
    """Numbers of accelerated proximal gradients. None has a part in a proof."""

    # What the estimate of the curvature is multiplied by before a step, and where that was too
    # long: it follows the curvature down within some twenty steps
    curvature_decrease: float = 0.95
    curvature_increase: float = 1.5
    # Rounding error of the mean loss, as a share of it
    objective_rounding: float = 1e-14
    # Iterations between estimates of the gap, which may cost a decomposition, and certificates
    estimate_every: int = 5
    check_every: int = 100
    # After a certificate that was not good enough, wait for this share of all iterations
    check_share: int = 20
    # Passes over X for all outputs that a Gram matrix may cost, which runs of fifty or more save
    gram_passes: float = 50.0
    # Iterations without a tenth off the gap after which the method gives up
    patience: int = 2000
    progress: float = 0.9
    # What an iteration costs, in multiplications of dense vectors: for an entry of X, and however
    # small X is
    step_cost: float = 4.0
    step_overhead: float = 2e5


GRADIENTS = GradientSettings()
