"""Numbers as text with no more digits than their bounds prove (`proven_digits`)."""

from decimal import Context, Decimal
from fractions import Fraction
from math import isfinite


def proven_digits(low: float, high: float, most: int = 6) -> str:
    """The significant digits of a number that are determined by an interval that contains it.

    The result has the largest number of digits such that it differs from every value of the
    interval by at most one unit of its last digit. It is the multiple of that unit that is nearest
    to the middle of the interval.

    Parameters
    ----------
    low, high : float
        The ends of the interval, such as ``certificate.dual`` and ``certificate.primal`` for the
        least objective value, or a row of ``certificate.coefficient_bounds`` for a coefficient.
    most : int, default=6
        The largest number of significant digits.

    Returns
    -------
    digits : str
        The number, with an exponent where its last digit stands before the decimal point: "1.3E+3"
        is 1300 with two proven digits. "?" where an end is not finite.

    Raises
    ------
    ValueError
        If ``low`` is above ``high``.

    Examples
    --------
    >>> from skpd.certificates import proven_digits
    >>> proven_digits(0.11583, 0.11591)
    '0.1159'
    >>> proven_digits(0.2, 0.6)
    '0'
    >>> proven_digits(-0.25, -0.25)
    '-0.25'
    """
    if not (isfinite(low) and isfinite(high)):
        return "?"
    if low > high:
        raise ValueError(f"low must be at most high, got {low!r} and {high!r}.")
    first, last = Fraction(low), Fraction(high)
    size = max(abs(first), abs(last))
    if size == 0:
        return "0"
    place = Decimal(float(size)).adjusted() - most + 1
    while True:
        unit = Fraction(10) ** place
        digits = round((first + last) / (2 * unit))
        if max(last - digits * unit, digits * unit - first) <= unit:
            break
        place += 1
    while first == last and place < 0 and digits % 10 == 0:  # an exact number: no trailing zeros
        digits, place = digits // 10, place + 1
    return str(Decimal(digits).scaleb(place)) if digits else "0"


def rounded(value: float, digits: int, rounding: str) -> str:
    """A number as text with ``digits`` significant digits, rounded in the given direction."""
    if not isfinite(value):
        return str(value)
    return f"{Context(prec=digits, rounding=rounding).create_decimal(value).normalize():g}"
