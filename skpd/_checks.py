"""Checks of data and of the parameters of losses and penalties, and of declared properties."""

from collections.abc import Callable, Iterator
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from ._typing import ArrayLike, Mask, Numbers

ACCURACY = 1e-9  # allowed error of sums, relative to the sizes of their terms


def shown(value: Any) -> str:
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
    owner: object,
    name: str,
    *,
    above: float = -inf,
    below: float = inf,
    minimum: float = -inf,
    maximum: float = inf,
) -> None:
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
    what: str, values: Any, *, minimum: float, maximum: float = inf, finite: bool = True
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
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    valid = array.ndim <= 1 and bool(np.all((array >= minimum) & (array <= maximum)))
    if valid and (not finite or np.isfinite(array).all()):
        return array if array.ndim else float(array)
    kind = "finite numbers" if finite else "numbers"
    raise ValueError(f"{what} must be {kind} from {minimum} to {maximum}, got {shown(values)}.")


def require_everywhere(
    owner: object,
    what: str,
    holds: Mask | bool,
    left: Numbers,
    right: Numbers,
    **points: ArrayLike,
) -> None:
    """Require that a property holds at all tested points.

    Parameters
    ----------
    owner : object
        The loss or penalty.
    what : str
        The description of the property and of the two numbers that it compares.
    holds : ndarray of bool of shape (n_points,)
    left, right : ndarray of shape (n_points,)
        The two numbers, at each point.
    **points : ndarray of shape (n_points, ...)
        The points, by the names of their parts.

    Raises
    ------
    AssertionError
        If the property does not hold. The message contains the property, the first point where it
        fails and both numbers.
    """
    holds = np.atleast_1d(holds)
    if holds.all():
        return
    first = int(np.argmin(holds))
    at = ", ".join(f"{name}={np.atleast_1d(x)[first].tolist()}" for name, x in points.items())
    sides = [np.broadcast_to(side, holds.shape)[first] for side in (left, right)]
    raise AssertionError(
        f"{type(owner).__name__} fails the test of its {what}, at {at}: "
        f"{sides[0]:.12g} against {sides[1]:.12g}."
    )


class PropertyTests:
    """The base class of tests of what an object declares, at random points.

    Each public method that a class defines is a test of one or a few properties.
    """

    def __init__(self, owner: Any) -> None:
        self.owner, self.rng = owner, np.random.default_rng(0)

    def tests(self) -> Iterator[Callable[[], None]]:
        """The tests, in the order in which they are defined."""
        return (getattr(self, name) for name in vars(type(self)) if not name.startswith("_"))

    def points(self, **points: Any) -> dict[str, Any]:
        """The points, each as a row."""
        return {name: [point] for name, point in points.items()}

    def require(
        self, what: str, holds: Mask | bool, left: Numbers, right: Numbers, **points: ArrayLike
    ) -> None:
        require_everywhere(self.owner, what, holds, left, right, **self.points(**points))

    def require_at_most(
        self, what: str, left: Numbers, right: Numbers, size: Numbers = 0.0, **points: ArrayLike
    ) -> None:
        """Require that left is at most right, up to rounding errors of terms of a given size."""
        self.require(what, left <= right + ACCURACY * (1.0 + size), left, right, **points)

    def require_at_least(
        self, what: str, left: Numbers, right: Numbers, size: Numbers = 0.0, **points: ArrayLike
    ) -> None:
        """Require that left is at least right, up to rounding errors of terms of a given size."""
        self.require(what, left >= right - ACCURACY * (1.0 + size), left, right, **points)

    @np.errstate(invalid="ignore")
    def require_equal(
        self, what: str, left: Numbers, right: Numbers, size: Numbers, **points: ArrayLike
    ) -> None:
        """Require equality up to rounding errors of terms of a given size."""
        is_equal = (left == right) | (np.abs(left - right) <= ACCURACY * (1.0 + size))
        self.require(what, is_equal, left, right, **points)
