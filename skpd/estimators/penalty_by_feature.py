"""The penalty of an estimator with the weights and the bounds of its features."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import Bounds

from .._checks import shown
from .._typing import ArrayLike
from ..penalties import Penalty, Structure, for_features
from ..penalties.weighted import unpenalised

Ends: TypeAlias = Bounds | Sequence | np.ndarray | None


def penalty_by_feature(
    penalty: Penalty, weights: ArrayLike | None, bounds: Ends,
    alpha: float = 1.0, n_outputs: int = 1,
) -> Penalty:  # fmt: skip
    """A penalty with the weights and bounds of features in ``penalty_weights`` and ``bounds``.

    With an alpha of 0 no feature is penalised, as with weights of 0. The coefficients of all
    outputs for the first feature come first, then those for the next.

    Raises
    ------
    ValueError
        If the penalty is not one of single coefficients, or the weights or bounds are invalid.
    """
    if alpha == 0.0:
        if penalty.structure is not Structure.SEPARABLE:
            raise ValueError(
                "alpha=0, no penalty, needs a penalty of single coefficients, such as 'l1' or "
                f"'l2', got {shown(penalty)}."
            )
    elif weights is None and bounds is None:
        return penalty
    parts = (_for_outputs(numbers, n_outputs) for numbers in (weights, *ends_of(bounds)))
    penalty = for_features(penalty, *parts)
    return penalty if alpha > 0.0 else unpenalised(penalty)


def ends_of(bounds: Ends) -> tuple[Any, Any]:
    """The lower and the upper bounds of coefficients in the parameter ``bounds``.

    Raises
    ------
    ValueError
        If they are no pair.
    """
    if isinstance(bounds, Bounds):
        # SciPy makes arrays of one number out of numbers
        lower, upper = (x.item() if np.size(x) == 1 else x for x in (bounds.lb, bounds.ub))
        return lower, upper
    if bounds is None:
        return -np.inf, np.inf
    if not isinstance(bounds, tuple | list | np.ndarray) or len(bounds) != 2:
        raise ValueError(
            "bounds must be a pair (lower, upper), each a number or an array, or an object of "
            f"scipy.optimize.Bounds, got {shown(bounds)}. A list with a pair for each feature "
            "is turned into one by list(zip(*bounds))."
        )
    ends = zip(bounds, (-np.inf, np.inf), strict=True)
    lower, upper = (end if bound is None else bound for bound, end in ends)
    return lower, upper


def with_zero(bounds: Ends) -> tuple[Ends, Bounds | None]:
    """Bounds of a penalty, which allow 0, and the bounds as constraints if they exclude it."""
    try:
        lower, upper = (np.asarray(end, dtype=np.float64) for end in ends_of(bounds))
    except (TypeError, ValueError):
        return bounds, None  # the penalty says what is wrong with them
    if not (np.any(lower > 0.0) or np.any(upper < 0.0)):
        return bounds, None
    differ = lower.ndim > 0 and upper.ndim > 0 and lower.shape != upper.shape
    if differ or np.any(lower > upper):
        raise ValueError(f"bounds need as many lower as upper ones, lower <= upper, got {bounds}.")
    return (np.minimum(lower, 0.0)[()], np.maximum(upper, 0.0)[()]), Bounds(lower, upper)


def _for_outputs(numbers: Any, n_outputs: int) -> Any:
    """One number for all features as it is, or a number for each coefficient of each feature."""
    return numbers if n_outputs == 1 or np.ndim(numbers) == 0 else np.repeat(numbers, n_outputs)
