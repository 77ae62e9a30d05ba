"""The tuned numbers of methods whose iterates are factors: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["SETTINGS", "LowRankSettings"]


@dataclass(frozen=True)
class LowRankSettings:
    """Numbers of the methods for matrices of low rank. None has a part in a proof."""

    # Partial decompositions

    # Singular vectors beside those that are kept: what is next to come in is followed as well
    extra_vectors: int = 8
    first_rank: int = 4
    # Sweeps of subspace iteration from where the last decomposition ended, and from random vectors
    warm_sweeps: int = 1
    cold_sweeps: int = 4

    # The shorter side of a matrix of coefficients from which on they cost less than whole ones
    least_side: int = 100

    # Accelerated proximal gradients

    # What the estimate of the curvature is multiplied by before a step, and where that was too
    # long: it follows the curvature down within some twenty steps
    curvature_decrease: float = 0.95
    curvature_increase: float = 1.5
    # Rounding error of the mean loss, as a share of it, and what is measured in spite of it, in
    # units of that
    rounding: float = 1e-14
    measurable: float = 100.0
    # Iterations between estimates of the gap, which cost some Lanczos steps
    estimate_every: int = 5
    lanczos_steps: int = 16
    # Steps of free numbers towards their best values in an iteration, for losses that are no
    # parabolas
    free_steps: int = 2
    # Residual of the linear systems of these steps, as a share of what it is at first
    free_accuracy: float = 1e-5

    # The hybrid gradient

    # Entries of a whole matrix, up to which it is held whole for its restarts: 32 MB
    dense_entries: float = 4e6

    # Iterations after which the primal weight moves, the first time; it does so each time that the
    # iterations have doubled, by at most this factor
    first_balance: int = 20
    most_balance: float = 4.0
    # Iterations between estimates of the gap
    hybrid_estimate_every: int = 10

    # A certificate is computed where the estimated gap is this share of that asked for; else when
    # the iterations have grown by this factor, so that a run that ends early has one
    near_goal: float = 0.9
    # After a certificate that was not good enough although it seemed so, wait for this share of
    # all iterations
    check_share: float = 0.1
    check_growth: float = 1.5
    first_check: int = 50
    # A sum of products that has lost all but four digits to cancellation is computed otherwise
    cancelled: float = 1e-12
    # Singular values below this share of the largest are rounding, where averages are compressed
    negligible: float = 1e-12


SETTINGS = LowRankSettings()
