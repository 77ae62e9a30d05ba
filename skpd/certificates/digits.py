"""Numbers for people to read: no digit that is not proven."""

from decimal import Context, Decimal
from fractions import Fraction
from math import isfinite

__all__ = ["proven_digits", "rounded"]


def proven_digits(low: float, high: float, most: int = 6) -> str:
    """The digits of a number that an interval which holds it fixes.

    The number that is printed is within one unit of its last digit of every value of the interval,
    and it has as many digits as that allows: so both ends, rounded to them, differ from it by no
    more than one in the last one. It is the multiple of that unit which is nearest to the middle.

    Parameters
    ----------
    low, high : float
        The ends, as ``certificate.dual`` and ``certificate.primal`` for the least objective value,
        or a row of ``certificate.coefficient_bounds`` for a coefficient.
    most : int, default=6
        Significant digits at most.

    Returns
    -------
    digits : str
        With an exponent where the last digit stands before the point: "1.3E+3" for 1300 of which
        the first two digits are proven. "?" where an end is not finite.

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
    while first == last and place < 0 and digits % 10 == 0:  # exact: no more than there are
        digits, place = digits // 10, place + 1
    return str(Decimal(digits).scaleb(place)) if digits else "0"


def rounded(value: float, digits: int, rounding: str) -> str:
    """A number in so many digits, rounded to the side on which it is no better than it is."""
    if not isfinite(value):
        return str(value)
    return f"{Context(prec=digits, rounding=rounding).create_decimal(value).normalize():g}"
