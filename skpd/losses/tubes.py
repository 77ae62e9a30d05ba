"""Epsilon-insensitive losses, which are 0 for residuals of at most epsilon."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from .._immutable_base import number
from .._typing import Array, Interval
from .maxima_over_multipliers import Multipliers
from .residual import QuadraticResidual


@dataclass(frozen=True)
class EpsilonInsensitive(QuadraticResidual):
    """Epsilon-insensitive loss, ``phi(r) = max(0, |r| - epsilon)``.

    ``phi*(u) = epsilon |u|`` on [-1, 1].

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube without loss, in units of y, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=1.0).value(np.zeros(2), np.array([-3.0, 0.5]))
    array([2., 0.])
    """

    epsilon: float = number(0.1, minimum=0.0)
    linear_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[Interval] = (-1.0, 1.0)

    def multipliers(self, y: Array) -> Multipliers:
        offsets = np.outer(y, [-1.0, 1.0]) - self.epsilon
        return Multipliers(np.tile([1.0, -1.0], (len(y), 1)), offsets)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(QuadraticResidual):
    """Squared epsilon-insensitive loss, ``phi(r) = max(0, |r| - epsilon)^2``.

    ``phi*(u) = epsilon |u| + u^2 / 4``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube without loss, in units of y, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(epsilon=1.0).value(np.zeros(2), np.array([-3.0, 0.5]))
    array([4., 0.])
    """

    epsilon: float = number(0.1, minimum=0.0)
    conjugate_domain: ClassVar[Interval] = (-inf, inf)
    linear_tails: ClassVar[bool] = False
    _conjugate_curvature: ClassVar[float] = 0.5

    def _phi(self, t: Array) -> Array:
        return np.square(self._beyond(t))  # also for infinite residuals
