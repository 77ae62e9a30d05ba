"""Checks of data and of the parameters of losses and penalties, and of declared properties."""

from collections.abc import Callable, Iterable
from math import inf, isfinite
from numbers import Real
from typing import Any

import numpy as np

from ._typing import ArrayLike, Mask, Numbers

ACCURACY = 1e-9  # allowed error of sums, relative to the sizes of their terms


def shown(value: object) -> str:
    """The representation of a value in messages, shortened and without NumPy's number types."""
    with np.printoptions(legacy="1.25", threshold=20):
        text = " ".join(repr(value).split())
    return text if len(text) <= 160 else f"{text[:80]} ... {text[-20:]}"


def require_unmasked(name: str, values: ArrayLike | None) -> None:
    """Raise a ValueError for values that a masked array hides, as conversions would show them."""
    if np.ma.is_masked(values):
        n_masked = np.ma.count_masked(values)
        raise ValueError(f"{name} must have no masked values, got {n_masked}: fill them in.")


def require_same_samples(pipeline: Any, instead: str) -> None:
    """Raise a ValueError for a pipeline in which a step resamples, as of imbalanced-learn."""
    for name, step in pipeline.steps:
        if hasattr(step, "fit_resample"):
            raise ValueError(
                f"estimator must keep the samples, but its step {name!r} resamples: {instead}."
            )


def check_number(
    owner: object, name: str, *, above: float = -inf, below: float = inf, minimum: float = -inf,
    maximum: float = inf,
) -> None:  # fmt: skip
    """Check that an attribute is a number in (above, below) and in [minimum, maximum].

    Raises
    ------
    ValueError
        If it is not. The message contains the attribute, its owner, its value and the allowed
        range.
    """
    x = getattr(owner, name)
    if isinstance(x, Real) and above < float(x) < below and minimum <= float(x) <= maximum:
        return
    low = f"[{minimum}" if minimum > above else f"({above}"
    high = f"{maximum}]" if maximum < below else f"{below})"
    raise ValueError(
        f"{name} of {type(owner).__name__} must be a number in {low}, {high}, got {shown(x)}."
    )


def check_array(
    what: str, values: ArrayLike, *, minimum: float, maximum: float = inf, finite: bool = True
) -> Any:
    """Validate a number or a vector with entries in [minimum, maximum], and return it as float64.

    Parameters
    ----------
    what : str
        The name of the values in the error message.
    values : float or array-like of shape (n,)
    minimum, maximum : float
    finite : bool, default=True
        Whether the values must be finite.

    Raises
    ------
    ValueError
        If a value is not allowed. The message contains the name, the values and the allowed range.
    """
    # without the calls of NumPy, which small fits would notice
    if type(values) is float and minimum <= values <= maximum and (not finite or isfinite(values)):
        return values
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    valid = array.ndim <= 1 and bool(np.all((array >= minimum) & (array <= maximum)))
    if valid and (not finite or np.isfinite(array).all()):
        return array if array.ndim else float(array)
    kind = "finite numbers" if finite else "numbers"
    raise ValueError(f"{what} must be {kind} from {minimum} to {maximum}, got {shown(values)}.")


# a description of the property and of the two numbers, the first of these, how they compare, the
# second, the tolerance, and the points, as arrays with an entry for each of several comparisons
Property = tuple[str, Numbers, str, Numbers, Numbers, dict[str, Any]]


def rounding_of(sizes: Numbers) -> Numbers:
    """The tolerance for sums of terms of these sizes."""
    return ACCURACY * (1.0 + sizes)


RELATIONS: dict[str, Callable[[Any, Any, Any], Mask]] = {  # of two numbers, up to a tolerance
    "<": lambda a, b, _: a < b,
    ">": lambda a, b, _: a > b,
    "<=": lambda a, b, tolerance: a <= b + tolerance,
    ">=": lambda a, b, tolerance: (a == b) | (a >= b - tolerance),
    "=": lambda a, b, tolerance: (a == b) | (np.abs(a - b) <= tolerance),
}


def require(owner: object, properties: Iterable[Property]) -> None:
    """Require that a loss or penalty has properties, each at all tested points.

    Raises
    ------
    AssertionError
        If one does not hold. The message contains the property, the first point where it fails and
        both numbers.
    """
    for what, left, relation, right, tolerance, points in properties:
        with np.errstate(invalid="ignore"):  # of infinite numbers
            holds = np.atleast_1d(RELATIONS[relation](left, right, tolerance))
        if not holds.all():
            first, several = int(np.argmin(holds)), holds.size > 1
            point = {name: x[first] if several else x for name, x in points.items()}
            at = ", ".join(f"{name}={np.asarray(x).tolist()}" for name, x in point.items())
            a, b = (np.broadcast_to(side, holds.shape)[first] for side in (left, right))
            raise AssertionError(
                f"{type(owner).__name__} fails the test of its {what}, at {at}: "
                f"{a:.12g} against {b:.12g}."
            )
