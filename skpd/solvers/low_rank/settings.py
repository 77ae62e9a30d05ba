"""The settings of methods whose iterates are factors, each with its unit and its reason."""

from dataclasses import replace

from ..accelerated.settings import SCHEDULE as OF_GRADIENTS


class LowRankSettings:
    """Settings of the methods for matrices of low rank, which no proof depends on."""

    # Partial decompositions

    # Singular vectors in addition to those that are kept, which may be needed next
    extra_vectors: int = 8
    first_rank: int = 4
    # Sweeps of subspace iteration from the last decomposition, and from random vectors
    warm_sweeps: int = 1
    cold_sweeps: int = 4

    # The shorter side of a matrix above which partial decompositions cost less than full ones, and
    # methods that need fewer of them are worth their overhead
    least_side: int = 100

    # Lanczos steps for an estimate of the gap
    lanczos_steps: int = 16
    # Steps of the free numbers towards their best values in an iteration, for losses that are not
    # quadratic
    free_steps: int = 2
    # Relative residual of the linear systems of these steps
    free_accuracy: float = 1e-5

    # Alternating multipliers

    # The step of M in units of the inverse curvature, of which 4/3 is the largest known to
    # converge (He, Ma and Yuan, 2020); with 1 there are a quarter more iterations
    linear_step: float = 1.33
    # Iterations until sigma changes for the first time; it does whenever their number has doubled
    first_balance: int = 10
    # The largest sum of a group in a fit of the free numbers, in units of the change of the
    # multipliers: with 0.03 there may be twice as many iterations
    free_share: float = 1e-2
    # The relative residual of its linear systems
    newton_accuracy: float = 1e-2

    # Rounding

    # Singular values below this share of the largest, and sums of products below this share of
    # their terms, are rounding errors
    negligible: float = 1e-12


SETTINGS = LowRankSettings()

# A certificate costs as much as ten iterations of alternating multipliers
SCHEDULE = replace(OF_GRADIENTS, every=100)
