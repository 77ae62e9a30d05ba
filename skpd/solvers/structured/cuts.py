"""Lower bounds on a structured loss, as maxima of planes that mixtures of labelings define.

For every mixture of labelings theta_k with the mean loss e_k ::

    L(A w + b) >= e_k + g_k.w + s_k b,   g_k = A' diag(c) theta_k,   s_k = sum_i c_i theta_ki

"""

from typing import Any

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array
from ...certificates.repairs import least_linear
from ...problems import Problem
from .settings import SETTINGS

# A vector whose remainder is below this times its norm is in the span of the others
NOTHING = 64.0 * EPSILON


class Cuts:
    """Planes below a structured loss.

    The first plane is that of the true labeling, L >= 0.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    mixtures : list of Mixture
    losses : ndarray of shape (n_cuts,)
        The mean losses e_k.
    slopes : ndarray of shape (n_cuts, n_variables)
        The slopes g_k, followed by s_k if there is an intercept.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_variables = problem.n_coefficients + problem.fit_intercept
        self.mixtures: list[Any] = [problem.loss.truth]
        self.losses = np.zeros(1)
        self._room = np.zeros((16, self.n_variables))
        self._unused = np.zeros(1, dtype=np.int64)
        self._basis = _GrownBasis(problem.n_coefficients)
        self._coordinates: list[Array] = []  # coordinates of slopes

    def __len__(self) -> int:
        return len(self.mixtures)

    @property
    def slopes(self) -> Array:
        return self._room[: len(self)]

    def in_basis(self) -> tuple[Array, Array]:
        """The coordinates of the slopes in an orthonormal basis of their span, and the basis.

        The slope of an intercept remains the last coordinate.
        """
        d = self.problem.n_coefficients
        if len(self._basis) > SETTINGS.idle_directions * len(self):
            self._basis, self._coordinates = _GrownBasis(d), []
        new = self.slopes[len(self._coordinates) :, :d]
        self._coordinates += [self._basis.coordinates(slope) for slope in new]
        table = np.zeros((len(self), len(self._basis)))
        for row, coordinates in zip(table, self._coordinates, strict=True):
            row[: len(coordinates)] = coordinates
        return np.hstack([table, self.slopes[:, d:]]), self._basis.directions

    def add(self, mixture: Any) -> None:
        problem, k = self.problem, len(self)
        if k == len(self._room):
            self._room = np.vstack([self._room, np.zeros_like(self._room)])
        weighted = problem.loss.weights * mixture.theta
        self._room[k, : problem.n_coefficients] = problem.design.rmatvec(weighted)
        if problem.fit_intercept:
            self._room[k, -1] = float(np.sum(weighted))
        self.mixtures.append(mixture)
        self.losses = np.append(self.losses, mixture.mean_loss)
        self._unused = np.append(self._unused, 0)

    def forget(self, shares: Array, patience: int) -> None:
        """Drop planes without a share in ``patience`` successive dual points; keep the first."""
        self._unused = np.where(shares > 0.0, 0, self._unused + 1)
        self._unused[0] = 0
        kept = np.flatnonzero(self._unused <= patience)
        if len(kept) == len(self):
            return
        self._room[: len(kept)] = self._room[kept]
        self.mixtures = [self.mixtures[k] for k in kept]
        known = len(self._coordinates)
        self._coordinates = [self._coordinates[k] for k in kept if k < known]
        self.losses, self._unused = self.losses[kept], self._unused[kept]

    def mixed(self, shares: Array) -> Any:
        """The mixture of the mixtures of all planes with the given shares."""
        return self.problem.loss.mixed(shares, self.mixtures)

    def bound(self, shares: Array, upper: float) -> float:
        """The estimated lower bound of a mixture of the planes, which proves nothing.

        ``upper`` is the objective value of a model.
        """
        problem = self.problem
        slope, value = shares @ self.slopes, float(shares @ self.losses)
        v = -slope[: problem.n_coefficients]
        if problem.fit_intercept:
            value += least_linear((float(slope[-1]), 0.0), problem.free_intervals(upper)[0])
        penalty, alpha = problem.penalty, problem.alpha
        best = value - penalty.bounded_conjugate(v, alpha, upper / alpha)
        if penalty.is_norm:
            norm = penalty.largest_alpha(v)
            best = max(best, min(1.0, alpha / norm) * value if norm > 0.0 else value)
        return best


class _GrownBasis:
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
