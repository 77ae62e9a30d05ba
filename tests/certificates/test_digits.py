"""Numbers for people: the digits that an interval fixes."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skpd.certificates import proven_digits

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    "low, high, digits",
    [
        (0.11583, 0.11591, "0.1159"),  # 0.11587 in the middle, 0.00004 from either end
        (0.49995, 0.50005, "0.5000"),
        (0.2, 0.6, "0"),
        (0.9, 1.3, "1"),
        (1234.0, 1290.0, "1.3E+3"),  # 1.2E+3 is 90 from 1290, a unit is 100
        (-1290.0, -1234.0, "-1.3E+3"),
        (999.96, 1000.04, "1000.0"),
        (3e-7, 3.1e-7, "3.0E-7"),
        (-0.001, 0.002, "0"),
        (0.0, 0.0, "0"),
        (0.0, 2.0, "1"),  # one unit from either end
        (0.0, 1.0, "0"),  # the even one of two digits that are as near
        (1.0, 1.0, "1"),
        (11.0, 11.0, "11"),
        (-0.25, -0.25, "-0.25"),
        (120.0, 120.0, "120"),
        (1 / 3, 1 / 3, "0.333333"),
        (123456789.0, 123456789.0, "1.23457E+8"),
        (0.0, np.inf, "?"),
        (np.nan, 1.0, "?"),
    ],
)
def test_digits_by_hand(low, high, digits):
    assert proven_digits(low, high) == digits


def test_an_interval_the_wrong_way_round_is_refused():
    with pytest.raises(ValueError, match="low must be at most high"):
        proven_digits(1.0, 0.0)


@given(low=FINITE, high=FINITE, near=st.booleans(), most=st.integers(1, 17))
def test_every_value_is_within_one_unit_of_the_last_digit(low, high, near, most):
    """And with another digit some value would not be, unless there are as many as asked for."""
    high = low * (1.0 + 1e-7) if near else high
    low, high = min(low, high), max(low, high)
    assume(np.isfinite([low, high]).all())
    shown = proven_digits(low, high, most)
    mantissa, _, exponent = shown.partition("E")
    digits = mantissa.lstrip("-").replace(".", "").lstrip("0")
    assert len(digits) <= most + 1  # one more where the number rounds to a power of ten
    first, last = Fraction(low), Fraction(high)
    if shown == "0":  # the first digit, or as not even that is proven
        size = max(abs(low), abs(high))
        unit = Fraction(10) ** Decimal(size).adjusted()
        digit = round((first + last) / 2 / unit) * unit
        assert digit == 0 or max(last - digit, digit - first) > unit
        return
    unit = Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    value = Fraction(shown)
    assert max(last - value, value - first) <= unit
    if len(digits) < most and first != last:
        finer = round((first + last) / 2 / (unit / 10)) * unit / 10
        assert max(last - finer, finer - first) > unit / 10
