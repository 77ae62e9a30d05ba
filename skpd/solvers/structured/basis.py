"""Orthonormal bases of vectors that come one after the other."""

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array

__all__ = ["GrownBasis"]

# Of the length of a vector: what is left of it in the space of the others is then rounding
NOTHING = 64.0 * EPSILON


class GrownBasis:
    """An orthonormal basis that gets another direction where a vector needs one.

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
        """Those of a vector, which is in the space of the basis from now on.

        By Gram and Schmidt, twice, after which the directions are orthogonal to rounding.
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
