"""The form in which a loss enters conic programmes (`LinearPiece`)."""

from typing import Any, NamedTuple

from .._typing import Array


class LinearPiece(NamedTuple):
    """A term of a loss: max over lower <= u <= upper of u s - curvature u^2 / 2.

    Here s = sign (z - offset). ``sign`` and ``offset`` have a value for each row; ``lower`` is
    finite, ``upper`` may be inf.
    """

    sign: Array | float
    offset: Array
    lower: float
    upper: float
    curvature: float = 0.0


# the conic programme of `Loss.add_cones`
LossCones = Any
