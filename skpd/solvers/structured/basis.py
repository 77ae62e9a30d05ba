"""Orthonormal bases of a growing sequence of vectors."""

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array

__all__ = ["GrownBasis"]

# A vector whose remainder is below this times its norm is in the span of the others
NOTHING = 64.0 * EPSILON


class GrownBasis:
    """An orthonormal basis that is extended by a direction when a vector is not in its span.

    Parameters
    ----------
    size : int
        The length of the vectors.
    """

    def __init__(self, size: int) -> None:
        self._room, self._count = np.zeros((16, size)), 0

    def __len__(self) -> int:
        return self._count

    @property
    def directions(self) -> Array:
        """The basis, of shape (len(self), size)."""
        return self._room[: self._count]

    def coordinates(self, vector: Array) -> Array:
        """The coordinates of a vector, after extending the basis by a direction if necessary.

        Gram-Schmidt orthogonalisation is done twice, so that directions are orthogonal up to
        rounding.
        """
        found, rest = np.zeros(len(self)), vector
        for _ in range(2):
            part = self.directions @ rest
            found, rest = found + part, rest - part @ self.directions
        length = float(np.linalg.norm(rest))
        if len(self) == len(vector) or length <= NOTHING * float(np.linalg.norm(vector)):
            return found
        if self._count == len(self._room):
            self._room = np.vstack([self._room, np.zeros_like(self._room)])
        self._room[self._count] = rest / length
        self._count += 1
        return np.append(found, length)
