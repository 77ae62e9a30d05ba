"""The tuned numbers of matrix completion: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["SETTINGS", "CompletionSettings"]


@dataclass(frozen=True)
class CompletionSettings:
    """Numbers of the methods for a `CompletionProblem`. None has a part in a proof."""

    # Partial decompositions

    # Singular vectors beside those that are kept: what is next to come in is followed as well
    extra_vectors: int = 8
    first_rank: int = 4
    # Sweeps of subspace iteration from where the last decomposition ended, and from random vectors
    warm_sweeps: int = 1
    cold_sweeps: int = 4

    # Accelerated proximal gradients

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
    # Singular values below this share of the largest are rounding, where averages are compressed
    negligible: float = 1e-12


SETTINGS = CompletionSettings()
