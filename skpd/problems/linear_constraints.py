"""Linear constraints on coefficients, their slack for rounding errors, and their multipliers.

Let mu be multipliers of ``lower <= C w <= upper``, positive at an upper and negative at a lower
bound. Every w that satisfies the constraints has ::

    mu.(C w) <= sigma(mu) = sum_k max(upper_k mu_k, lower_k mu_k)

Rounded coefficients w seldom satisfy an equality exactly. So a constraint may be violated by
``slack |C_k|.|w|``, a bound on the rounding errors of its own terms. All such w have ::

    (C'mu).w <= sigma(mu) + slack (|C|'|mu|).|w|

The last term has the form of an error of C'mu. As certificates include errors of such products,
they hold for models that satisfy the constraints exactly and for those that need the slack.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array, vstack
from scipy.sparse.linalg import lsqr

from .._floats import EPSILON
from .._typing import Array, Indices, Numbers
from ..certificates.interface import NOTHING, Sum

ROUNDS = 30  # most rounds of corrections: one may violate a constraint that another satisfied
TARGET = 0.25  # distance of corrected constraints inside their bounds, times the slack
INFEASIBLE = 2  # the status of `linprog` for infeasible constraints


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """The constraints lower <= C w <= upper.

    Parameters
    ----------
    matrix : csr_array of shape (n_constraints, n_features)
        The matrix C.
    lower, upper : ndarray of shape (n_constraints,)
        Bounds with lower <= upper; -inf and inf where there is none.
    exponents : ndarray of int of shape (n_constraints,) or int, default=0
        The exponents of the powers of 2 by which rows and bounds were divided (`with_unit_rows`).
    model : ndarray of shape (n_features,), default=None
        Feasible coefficients, used where none are found near given ones.
    """

    matrix: csr_array
    lower: Array
    upper: Array
    exponents: Indices | int = 0
    model: Array | None = None

    @np.errstate(over="ignore", under="ignore")
    def with_unit_rows(self) -> "LinearConstraints":
        """The constraints scaled so that the largest entry of each row is in [1/2, 1).

        Rows and bounds are divided by powers of 2. The constraints are returned unchanged if that
        would not be exact.
        """
        powers = np.frexp(self.sizes.max(axis=1).toarray().ravel())[1]
        each = np.repeat(powers, np.diff(self.matrix.indptr)), powers, powers
        unscaled = self.matrix.data, self.lower, self.upper
        data, lower, upper = scaled = list(map(np.ldexp, unscaled, map(np.negative, each)))
        if any(map(np.any, map(np.not_equal, map(np.ldexp, scaled, each), unscaled))):
            return self  # the scaling would underflow or overflow
        matrix = csr_array((data, self.matrix.indices, self.matrix.indptr), self.matrix.shape)
        return replace(self, matrix=matrix, lower=lower, upper=upper, exponents=powers)

    def with_zero_column(self) -> "LinearConstraints":
        """The constraints on one more coefficient, which they do not involve."""
        matrix = self.matrix.copy()
        matrix.resize(len(self), matrix.shape[1] + 1)
        model = None if self.model is None else np.append(self.model, 0.0)
        return replace(self, matrix=matrix, model=model)

    def __len__(self) -> int:
        return len(self.lower)

    @cached_property
    def sizes(self) -> csr_array:
        """The matrix |C| of absolute values."""
        return abs(self.matrix)

    @cached_property
    def slack(self) -> float:
        """The allowed violation of a constraint over |C_k|.|w|: twice its rounding error."""
        longest = int(np.max(np.diff(self.matrix.indptr), initial=0))
        return (4.0 * longest + 16.0) * EPSILON

    @property
    def allow_zero(self) -> bool:
        """Whether w = 0 is feasible."""
        return bool(np.all(self.lower <= 0.0) and np.all(self.upper >= 0.0))

    def hold(self, coef: Array) -> bool:
        """Whether coefficients satisfy the constraints up to the slack, with rounding errors."""
        sums, slack = self.matrix @ coef, 0.5 * self.slack * (self.sizes @ np.abs(coef))
        return bool(np.all(sums >= self.lower - slack) and np.all(sums <= self.upper + slack))

    # Multipliers

    def multipliers(self, mu: Array) -> Array:
        """The projection of mu onto valid multipliers, which are 0 where a bound is infinite."""
        low = np.where(np.isfinite(self.lower), -np.inf, 0.0)
        high = np.where(np.isfinite(self.upper), np.inf, 0.0)
        return np.clip(np.where(np.isfinite(mu), mu, 0.0), low, high)

    def support(self, mu: Array) -> Sum:
        """The value sigma(mu) and a bound on its rounding error."""
        if not np.any(mu):
            return NOTHING
        bounds = np.where(mu > 0.0, self.upper, np.where(mu < 0.0, self.lower, 0.0))
        terms = bounds * mu
        size = float(np.sum(np.abs(terms)))
        return float(np.sum(terms)), (8.0 + len(self)) * EPSILON * size

    def products(self, mu: Array) -> tuple[Array, Array]:
        """The products C'mu, with an error that includes rounding and the slack of models."""
        share = self.slack + 2.0 * len(self) * EPSILON
        return self.matrix.T @ mu, share * (self.sizes.T @ np.abs(mu))

    # Models

    def restored(self, coef: Array) -> Array:
        """Feasible coefficients near the given ones, which are returned if none are found.

        Coefficients of 0 stay 0 where that is possible.
        """
        if self.hold(coef):
            return coef
        sizes = np.abs(coef)
        for scale in (sizes / (np.max(sizes, initial=0.0) or 1.0), np.ones_like(coef)):
            corrected = self._corrected(coef, scale)
            if self.hold(corrected):
                return corrected
        return coef

    def _corrected(self, coef: Array, scale: Array) -> Array:
        """The coefficients after least-norm corrections of all violated constraints together.

        The norm is that of the changes divided by ``scale``.
        """
        for _ in range(ROUNDS):
            sums, margin = self.matrix @ coef, TARGET * self.slack * (self.sizes @ np.abs(coef))
            margin = np.minimum(margin, 0.5 * (self.upper - self.lower))
            missing = np.clip(sums, self.lower + margin, self.upper - margin) - sums
            violated = np.flatnonzero((sums < self.lower) | (sums > self.upper))
            if not len(violated):
                break
            rows = self.matrix[violated] @ diags_array(np.sqrt(scale))
            unit = float(np.max(np.abs(missing))) or 1.0  # squares could underflow otherwise
            change = lsqr(rows, missing[violated] / unit, atol=EPSILON, btol=EPSILON)[0]
            coef = coef + np.sqrt(scale) * (unit * change)
        return coef

    def with_model(self, lower: Numbers, upper: Numbers) -> "LinearConstraints":
        """The constraints with a feasible model between the given bounds as ``model``.

        The attribute is None if the model found is not feasible because of rounding.

        Raises
        ------
        ValueError
            If a linear programme finds the constraints infeasible.
        """
        n_features = self.matrix.shape[1]
        bounds = np.column_stack([np.broadcast_to(x, n_features) for x in (lower, upper)])
        above, below = np.isfinite(self.upper), np.isfinite(self.lower)
        limits = np.concatenate([self.upper[above], -self.lower[below]])
        exponent = np.frexp(np.max(np.abs(limits)))[1]  # HiGHS takes 1e20 for infinite
        with np.errstate(over="ignore", under="ignore"):
            bounds, limits = np.ldexp(bounds, -exponent), np.ldexp(limits, -exponent)
        rows = vstack([self.matrix[above], -self.matrix[below]])
        programme = linprog(np.zeros(n_features), A_ub=rows, b_ub=limits, bounds=bounds)
        if programme.status == INFEASIBLE:
            raise ValueError(
                "constraints cannot be obeyed: no coefficients, within the bounds that the "
                f"penalty sets, have lb <= A @ coef <= ub for all {len(self)} rows."
            )
        model = programme.x
        if model is not None:
            model = np.clip(np.ldexp(model, exponent), lower, upper)
            model = np.clip(self.restored(model), lower, upper)
        return replace(self, model=model if model is not None and self.hold(model) else None)
