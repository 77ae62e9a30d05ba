"""The selection of methods for problems whose rows are in blocks or in other processes."""

from ..penalties import Structure
from ..problems.shards.problem import ShardedProblem
from .frank_wolfe.l1_ball import MULTIPLIER_SEARCH, search_for_multiplier
from .newton.multipliers import method_of_multipliers
from .newton.settings import SETTINGS
from .select import MULTIPLIERS, Choice, select

__all__ = ["select_for_shards"]


@select.register
def select_for_shards(problem: ShardedProblem, warm: bool = False) -> list[Choice]:
    """The method of multipliers, which needs few passes over the rows and uses only their sums.

    For an l1 ball, it solves a sequence of penalised problems.

    Raises
    ------
    ValueError
        If the penalty is not a sum over features or groups, or if it does not set features to 0
        and there are too many features for Newton steps.
    """
    penalty = problem.penalty
    if penalty.structure is Structure.BALL:
        return [Choice(*MULTIPLIER_SEARCH, search_for_multiplier)]
    few_features = problem.n_features <= SETTINGS.largest_working_set
    if penalty.structure.in_parts and (few_features or not penalty.is_quadratic):
        return [Choice(*MULTIPLIERS, method_of_multipliers)]
    raise ValueError(
        "X in blocks or chunks needs a penalty of single features or of groups, and at most "
        f"{SETTINGS.largest_working_set} features if it leaves none of them at 0, got "
        f"{penalty!r} and {problem.n_features} features: other methods would read all rows "
        "thousands of times."
    )
