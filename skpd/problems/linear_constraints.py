"""Linear constraints on coefficients: which models obey them, and what their multipliers prove.

Multipliers mu of ``lower <= C w <= upper``, positive at an upper and negative at a lower bound,
prove for every w that obeys them ::

    mu.(C w) <= sigma(mu) = sum_k max(upper_k mu_k, lower_k mu_k)

No w obeys an equality exactly once its coefficients are rounded. So a row may miss its bounds by
``slack |C_k|.|w|``, what the rounding of its own terms amounts to. For all such w ::

    (C'mu).w <= sigma(mu) + slack (|C|'|mu|).|w|

and the second part is the same as an error of C'mu: certificates, which allow for errors of these
products anyway, hold for the models that obey the constraints exactly and for those with slack.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array, vstack
from scipy.sparse.linalg import lsqr

from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import NOTHING, Sum

__all__ = ["LinearConstraints"]

ROUNDS = 30  # of corrections at most: one may break what another has mended
TARGET = 0.25  # of the slack: how far inside its bounds a corrected row is to be
INFEASIBLE = 2  # the status of `linprog` for constraints that cannot all be met


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """lower <= C w <= upper.

    Parameters
    ----------
    matrix : csr_array of shape (n_constraints, n_features)
        C.
    lower, upper : ndarray of shape (n_constraints,)
        With lower <= upper, -inf and inf for none.
    exponents : ndarray of int of shape (n_constraints,) or int, default=0
        Those of the powers of 2 that rows and bounds were divided by (`with_unit_rows`).
    model : ndarray of shape (n_features,), default=None
        Coefficients that obey them, for where none are found near others.
    """

    matrix: csr_array
    lower: Array
    upper: Array
    exponents: Any = 0
    model: Any = None

    @np.errstate(over="ignore", under="ignore")
    def with_unit_rows(self) -> "LinearConstraints":
        """The same, with the largest number of each row in [1/2, 1), if that is exact."""
        powers = np.frexp(self.sizes.max(axis=1).toarray().ravel())[1]
        each = np.repeat(powers, np.diff(self.matrix.indptr)), powers, powers
        given = self.matrix.data, self.lower, self.upper
        data, lower, upper = scaled = [np.ldexp(x, -k) for x, k in zip(given, each, strict=True)]
        if any(np.any(np.ldexp(x, k) != y) for x, k, y in zip(scaled, each, given, strict=True)):
            return self  # digits would be lost
        matrix = csr_array((data, self.matrix.indices, self.matrix.indptr), self.matrix.shape)
        return replace(self, matrix=matrix, lower=lower, upper=upper, exponents=powers)

    def __len__(self) -> int:
        return len(self.lower)

    @cached_property
    def sizes(self) -> csr_array:
        """|C|."""
        return abs(self.matrix)

    @cached_property
    def slack(self) -> float:
        """What a row may miss its bounds by, in units of |C_k|.|w|: twice its rounding error."""
        longest = int(np.max(np.diff(self.matrix.indptr), initial=0))
        return (4.0 * longest + 16.0) * EPSILON

    @property
    def allow_zero(self) -> bool:
        """Whether w = 0 obeys them."""
        return bool(np.all(self.lower <= 0.0) and np.all(self.upper >= 0.0))

    def hold(self, coef: Array) -> bool:
        """Whether coefficients obey them, rounding errors of this sum within the slack."""
        sums, room = self.matrix @ coef, 0.5 * self.slack * (self.sizes @ np.abs(coef))
        return bool(np.all(sums >= self.lower - room) and np.all(sums <= self.upper + room))

    # Multipliers

    def multipliers(self, mu: Array) -> Array:
        """Those nearest to mu that are 0 where there is no bound of their sign."""
        low = np.where(np.isfinite(self.lower), -np.inf, 0.0)
        high = np.where(np.isfinite(self.upper), np.inf, 0.0)
        clipped: Array = np.clip(np.where(np.isfinite(mu), mu, 0.0), low, high)
        return clipped

    def support(self, mu: Array) -> Sum:
        """sigma(mu), and a bound on its rounding error."""
        if not np.any(mu):
            return NOTHING
        bounds = np.where(mu > 0.0, self.upper, np.where(mu < 0.0, self.lower, 0.0))
        terms = bounds * mu
        size = float(np.sum(np.abs(terms)))
        return float(np.sum(terms)), (8.0 + len(self)) * EPSILON * size

    def products(self, mu: Array) -> tuple[Array, Array]:
        """C'mu with an error for its rounding and for the slack of the models."""
        share = self.slack + 2.0 * len(self) * EPSILON
        return self.matrix.T @ mu, share * (self.sizes.T @ np.abs(mu))

    # Models

    def restored(self, coef: Array) -> Array:
        """Coefficients near these that obey them, or the same ones where none are found.

        Those that are 0 stay 0 where that is possible.
        """
        if self.hold(coef):
            return coef
        sizes = np.abs(coef)
        for scale in (sizes / (np.max(sizes, initial=0.0) or 1.0), np.ones_like(coef)):
            found = self._corrected(coef, scale)
            if self.hold(found):
                return found
        return coef

    def _corrected(self, coef: Array, scale: Array) -> Array:
        """By least changes, in units of ``scale``, of all rows that miss their bounds at once."""
        for _ in range(ROUNDS):
            sums, room = self.matrix @ coef, TARGET * self.slack * (self.sizes @ np.abs(coef))
            room = np.minimum(room, 0.5 * (self.upper - self.lower))
            missing = np.clip(sums, self.lower + room, self.upper - room) - sums
            some = np.flatnonzero((sums < self.lower) | (sums > self.upper))
            if not len(some):
                break
            rows = self.matrix[some] @ diags_array(np.sqrt(scale))
            unit = float(np.max(np.abs(missing))) or 1.0  # squares of less may underflow
            change = lsqr(rows, missing[some] / unit, atol=EPSILON, btol=EPSILON)[0]
            coef = coef + np.sqrt(scale) * (unit * change)
        return coef

    def with_model(self, lower: Any, upper: Any) -> "LinearConstraints":
        """The same with a model between such bounds, if rounding lets it obey them.

        Raises
        ------
        ValueError
            If a linear programme says that there is none.
        """
        n_features = self.matrix.shape[1]
        bounds = np.column_stack([np.broadcast_to(x, n_features) for x in (lower, upper)])
        above, below = np.isfinite(self.upper), np.isfinite(self.lower)
        limits = np.concatenate([self.upper[above], -self.lower[below]])
        exponent = np.frexp(np.max(np.abs(limits)))[1]  # HiGHS takes 1e20 for infinite
        with np.errstate(over="ignore", under="ignore"):
            bounds, limits = np.ldexp(bounds, -exponent), np.ldexp(limits, -exponent)
        found = linprog(
            np.zeros(n_features),
            A_ub=vstack([self.matrix[above], -self.matrix[below]]),
            b_ub=limits,
            bounds=bounds,
        )
        if found.status == INFEASIBLE:
            raise ValueError(
                "constraints cannot be obeyed: no coefficients, within the bounds that the "
                f"penalty sets, have lb <= A @ coef <= ub for all {len(self)} rows."
            )
        model = found.x
        if model is not None:
            model = np.clip(np.ldexp(model, exponent), lower, upper)
            model = np.clip(self.restored(model), lower, upper)
        return replace(self, model=model if model is not None and self.hold(model) else None)
