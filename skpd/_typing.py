"""Types used in signatures."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Interval = tuple[float, float]
Numbers = Array | float  # one for each entry, or the same for all
Scales = tuple[float, ...]
Sum = tuple[float, float]  # a value and a bound on its rounding error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
else:

    class ArrayLike:
        """A stand-in for `numpy.typing.ArrayLike`, which type checkers use in its place.

        It keeps signatures in help pages short, where the union of six types would be printed.
        """

    ArrayLike.__module__ = "numpy.typing"
