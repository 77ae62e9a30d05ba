"""Types used in signatures."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint
from scipy.sparse import sparray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
Interval = tuple[float, float]
Numbers = Array | float  # one for each entry, or the same for all
Scales = tuple[float, ...]
Sum = tuple[float, float]  # a value and a bound on its rounding error
Table = np.ndarray | sparray

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike

    Matrix: TypeAlias = np.ndarray | sp.sparray | sp.spmatrix
    MatrixLike: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix
    Constraints = LinearConstraint | Sequence[LinearConstraint] | None
    SolverOptions = dict[str, bool | float | str | None]
    # of features, in a format of `skpd.penalties.GroupL2`
    Groups = Literal["auto"] | int | ArrayLike | dict | Callable | None
    # weights or bounds, for features in their order, by name or by a function of the names
    PerFeature = ArrayLike | Bounds | dict | Callable | None
else:

    class ArrayLike:
        """A stand-in for `numpy.typing.ArrayLike`, which type checkers use in its place.

        It keeps signatures in help pages short, where the union of six types would be printed,
        as do the other types here.
        """

    ArrayLike.__module__ = "numpy.typing"
    Matrix = MatrixLike = ArrayLike
    Constraints, SolverOptions = LinearConstraint | list | tuple | None, dict
    PerFeature = ArrayLike | dict | None  # or a function, which would make signatures too long
    Groups = int | PerFeature

ClassWeight = dict | Literal["balanced"] | None
Metadata = dict[str, ArrayLike]  # what a method takes beside X and y, such as sample_weight
# the values of fitted attributes by name
Attributes = dict[str, np.ndarray | float | list | None]
PerRow = ArrayLike | None  # a number for each row, or the default
