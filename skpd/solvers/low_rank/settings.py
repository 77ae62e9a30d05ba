"""The settings of methods whose iterates are factors, each with its unit and its reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LowRankSettings:
    """Settings of the methods for matrices of low rank, which no proof depends on."""

    # Partial decompositions

    # Singular vectors in addition to those that are kept, which may be needed next
    extra_vectors: int = 8
    first_rank: int = 4
    # Sweeps of subspace iteration from the last decomposition, and from random vectors
    warm_sweeps: int = 1
    cold_sweeps: int = 4

    # The shorter side of a matrix above which partial decompositions cost less than full ones
    least_side: int = 100

    # Accelerated proximal gradients

    # Factor of the estimated curvature before a step, and after a step that was too long; the
    # estimate follows a decreasing curvature within some twenty steps
    curvature_decrease: float = 0.95
    curvature_increase: float = 1.5
    # Relative rounding error of the mean loss, and the least difference that is significant, in
    # units of that error
    rounding: float = 1e-14
    measurable: float = 100.0
    # Iterations between estimates of the gap, which cost some Lanczos steps
    estimate_every: int = 5
    lanczos_steps: int = 16
    # Steps of the free numbers towards their best values in an iteration, for losses that are not
    # quadratic
    free_steps: int = 2
    # Relative residual of the linear systems of these steps
    free_accuracy: float = 1e-5

    # The hybrid gradient

    # The most entries of a matrix that is stored as an array for restarts, 32 MB
    dense_entries: float = 4e6

    # Iterations after which the primal weight changes for the first time; it changes whenever the
    # number of iterations has doubled, by at most a factor
    first_balance: int = 20
    most_balance: float = 4.0
    # Iterations between estimates of the gap
    hybrid_estimate_every: int = 10

    # A certificate is computed if the estimated gap is this share of the requested one; otherwise
    # when the number of iterations has grown by a factor, so that a run that ends early has one
    near_goal: float = 0.9
    # After a certificate that was not good enough in spite of the estimate, the next one waits for
    # this share of all iterations
    check_share: float = 0.1
    check_growth: float = 1.5
    first_check: int = 50
    # A sum of products below this share of its terms is recomputed to avoid cancellation
    cancelled: float = 1e-12
    # Singular values below this share of the largest count as 0 when averages are compressed
    negligible: float = 1e-12


SETTINGS = LowRankSettings()
