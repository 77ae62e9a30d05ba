"""What the campaigns of random problems beside independent solvers share."""

import contextlib

import numpy as np

from tests.oracles.optima import NotSolved


def solved(count, draw):
    """What ``draw`` makes of the numbers below count, each anew until its optimum is found."""
    for number in range(count):
        found = None
        while found is None:
            with contextlib.suppress(NotSolved):
                found = draw(number)
        yield found


def unit_of(certificate):
    """What the relative gap of a certificate is a share of, or 1 where it does not say."""
    known = 0.0 < certificate.relative_gap < np.inf
    return certificate.dual + certificate.gap / certificate.relative_gap if known else 1.0


def heading(name, columns):
    """The first line of a table of what `counts` has of each name."""
    return f"{name:22}" + "".join(f"{column:>14}" for column in columns)


def counts(name, tally, columns):
    """A line of the table: numbers of problems, and sizes with two digits."""
    values = [tally[column] for column in columns]
    cells = (f"{value:14{'' if isinstance(value, int) else '.1e'}}" for value in values)
    return f"{name:22}" + "".join(cells)
