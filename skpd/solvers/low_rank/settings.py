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

    # Lanczos steps for an estimate of the gap
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
    # number of iterations has doubled
    first_balance: int = 20
    # Singular values below this share of the largest, and sums of products below this share of
    # their terms, are rounding errors
    negligible: float = 1e-12


SETTINGS = LowRankSettings()
