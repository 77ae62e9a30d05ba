"""Checks of the numbers that losses and penalties hold."""

from math import inf
from numbers import Real

__all__ = ["check_number"]


def check_number(
    owner: object,
    name: str,
    *,
    above: float = -inf,
    below: float = inf,
    least: float = -inf,
    most: float = inf,
) -> None:
    """Check that an attribute is a number in (above, below) and in [least, most].

    Raises
    ------
    ValueError
        Otherwise; it names the attribute, its owner, what it got and what is allowed.
    """
    value = getattr(owner, name)
    if isinstance(value, Real) and above < float(value) < below and least <= float(value) <= most:
        return
    low = f"[{least}" if least > above else f"({above}"
    high = f"{most}]" if most < below else f"{below})"
    raise ValueError(
        f"{name} of {type(owner).__name__} must be a number in {low}, {high}, got {value!r}."
    )
