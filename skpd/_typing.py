"""Types that the signatures share."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "ArrayLike", "Indices"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
else:

    class ArrayLike:
        """What type checkers know as `numpy.typing.ArrayLike`.

        Help pages print a signature with that union of six types written out, each time it occurs.
        """

    ArrayLike.__module__ = "numpy.typing"
