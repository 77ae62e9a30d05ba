"""The trace norm as a semidefinite cone.

    ||W||_* = min over A, B of (tr A + tr B) / 2  with  S = [[A, W], [W', B]] positive semidefinite

(Fazel, Hindi and Boyd, 2001). For a ||W||_* the multiplier is Z = [[a I, -V], [-V', a I]] / 2 with
||V|| <= a. As its diagonal blocks are constant, A and B are eliminated from a Newton step. The
scaling is that of Nesterov and Todd (1997), by a matrix G with
G' Z G = G^-1 S G^-T = diag(lambda).
"""

from math import inf, sqrt

import numpy as np
from scipy.linalg import solve_triangular

from ..._typing import Array
from .systems import NewtonSystem
from .terms import Pairs


class _Scaling:
    """The Nesterov-Todd scaling of a slack S and a multiplier Z (Todd, Toh and Tutuncu, 1998)."""

    def __init__(self, slack: Array, dual: Array) -> None:
        left, right = np.linalg.cholesky(slack), np.linalg.cholesky(dual)
        _, self.values, rotation = np.linalg.svd(right.T @ left)
        self.matrix = (left @ rotation.T) / np.sqrt(self.values)

    def of_dual(self, change: Array) -> Array:
        """The scaled multiplier G' change G."""
        return self.matrix.T @ change @ self.matrix

    def of_slack(self, scaled: Array) -> Array:
        """The slack G scaled G' of a scaled matrix."""
        return self.matrix @ scaled @ self.matrix.T

    def centering(self, mu: float | None, predictor: tuple[Array, Array] | None) -> Array:
        """The sum of the scaled steps of slack and multiplier that gives a Jordan product of mu.

        Without a mu the product does not change. ``predictor`` has the scaled steps of slack and
        multiplier in the predictor.
        """
        values = self.values
        if mu is None:
            return np.zeros((len(values), len(values)))
        product = np.diag(mu - values * values)
        if predictor is not None:
            second = predictor[0] @ predictor[1]
            product -= 0.5 * (second + second.T)
        return 2.0 * product / (values + values[:, np.newaxis])

    def largest_step(self, scaled: Array) -> float:
        """The largest t with diag(lambda) + t scaled positive semidefinite."""
        root = np.sqrt(self.values)
        min_eigenvalue = float(np.linalg.eigvalsh(scaled / root / root[:, np.newaxis])[0])
        return -1.0 / min_eigenvalue if min_eigenvalue < 0.0 else inf


class TraceNorm(Pairs[Array]):
    """The term a ||W||_*, where the rows of W are the first coefficients, one after the other.

    It is also the constraint ||W||_* <= radius, as (tr A + tr B) / 2 = radius. The multiplier tau
    of this equation takes the place of the weight a, and is an unknown of the Newton system. Its
    change adds tau / 2 times the identity to the change of Z, so that J has the additional column
    G'G / 2, and R the additional column (q, rho).

    Parameters
    ----------
    shape : tuple of int
        The shape of W.
    weight : float
        The weight a, or the initial tau.
    share : float
        The products on the central path, in units of mu.
    size : float
        The initial diagonal entries of A and B; the initial W is 0.
    tau_index : int, default=None
        The index of tau among the unknowns.
    radius : float, default=0.0
    """

    scaled_steps: tuple[Array, Array]

    def __init__(
        self, shape: tuple[int, int], weight: float, share: float, size: float,
        tau_index: int | None = None, radius: float = 0.0,
    ) -> None:  # fmt: skip
        self.shape, self.share, self.tau_index, self.radius = shape, share, tau_index, radius
        order = sum(shape)
        self.slack, self.dual = size * np.eye(order), 0.5 * weight * np.eye(order)
        self.degree = share * order
        first, last = np.triu_indices(order)
        self.pairs = first, last
        # off-diagonal entries of a symmetric matrix count twice in its Frobenius norm
        self.counts = np.where(first == last, 1.0, sqrt(2.0))
        self.coef = np.zeros(shape[0] * shape[1])
        self.n_zeros = 0

    def _off_diagonal_block(self, matrix: Array) -> Array:
        """The off-diagonal block of a matrix, as coefficients."""
        d = self.shape[0]
        return np.ravel(matrix[:d, d:])

    def _symmetric(self, coef: Array) -> Array:
        """The symmetric matrix with the given off-diagonal block, and diagonal blocks of 0."""
        d, matrix = self.shape[0], np.zeros(self.slack.shape)
        matrix[:d, d:] = coef.reshape(self.shape)
        matrix[d:, :d] = matrix[:d, d:].T
        return matrix

    def _add_adjoint(self, dual: Array, out: Array) -> None:
        out[: len(self.coef)] -= 2.0 * self._off_diagonal_block(dual)

    def add_gradient(self, out: Array) -> None:
        super().add_gradient(out)
        if self.tau_index is not None:
            out[self.tau_index] += 0.5 * float(np.trace(self.slack)) - self.radius

    def _product(self, slack: Array, dual: Array) -> float:
        return float(np.ravel(slack) @ np.ravel(dual))

    def _largest_step(self, x: Array, step: Array) -> float:
        return self.scaling.largest_step(step)

    def factorise(self, system: NewtonSystem) -> None:
        """Add the curvature 2 M^-1 to the system.

        If N is the change of the off-diagonal block of Z, the change of W is c - M N, where M N is
        the block of G (G' [[0, N], [N', 0]] G) G'. So M = J'J / 2 for the linear map J from N to
        G' [[0, N], [N', 0]] G. Only the factor R of J = Q R is formed, as the condition number of
        M is the square of that of J.
        """
        self.scaling = _Scaling(self.slack, self.dual)
        self.root = np.asarray(np.linalg.qr(self._scaled_changes().T, mode="r"))
        inverse = self._of_root(np.eye(len(self.coef)), "T")
        system.penalty_rows = 2.0 * inverse
        n, tau = len(self.coef), self.tau_index
        if tau is not None:
            self.of_tau = 2.0 * self._of_root(self.root[:n, n], "N")  # the derivative of -2 N
            system.border(tau)[:n] += self.of_tau
            system.add_corner(tau, tau, -(self.root[n, n] ** 2))

    def _scaled_changes(self) -> Array:
        """The transpose of J, with a row for each entry of N, and one for tau."""
        d, G = self.shape[0], self.scaling.matrix
        first, last = self.pairs
        above, below = G[:d], G[d:]
        table = np.einsum("ja,ka->jka", above[:, first], below[:, last])
        table += np.einsum("ja,ka->jka", above[:, last], below[:, first])
        rows = (table * self.counts).reshape(len(self.coef), -1)
        if self.tau_index is None:
            return rows
        return np.vstack([rows, 0.5 * (G.T @ G)[self.pairs] * self.counts])

    def _inverse(self, coef: Array) -> Array:
        """The product M^-1 coef."""
        return 2.0 * self._of_root(self._of_root(coef, "T"), "N")

    def _of_root(self, right: Array, form: str) -> Array:
        """The product R^-1 right, or with form "T" the product with the inverse transpose."""
        n = len(self.coef)
        root = self.root[:n, :n]
        return solve_triangular(root, right, trans=form, check_finite=False)

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        mu = None if mu is None else self.share * mu
        self.centering = self.scaling.centering(mu, self.scaled_steps if corrected else None)
        # the rounding error of the off-diagonal block of S, which should be W
        off = self.coef - self._off_diagonal_block(self.slack)
        self.fixed_dual_step = self.scaling.of_slack(self.centering)  # of S, for a fixed Z
        self.constant = self._off_diagonal_block(self.fixed_dual_step) - off
        out[: len(self.coef)] -= 2.0 * self._inverse(self.constant)
        if self.tau_index is not None:
            change = 0.5 * float(np.trace(self.fixed_dual_step))
            out[self.tau_index] += change - float(self.of_tau @ self.constant)

    def set_step(self, dx: Array) -> None:
        self.coef_step = dx[: len(self.coef)]
        self.dual_step = self._symmetric(self._inverse(self.constant - self.coef_step))
        if self.tau_index is not None:
            identity, tau_step = np.eye(len(self.dual)), float(dx[self.tau_index])
            self.dual_step += 0.5 * tau_step * (identity - self._symmetric(self.of_tau))
        scaled_dual = self.scaling.of_dual(self.dual_step)
        self.scaled_steps = self.centering - scaled_dual, scaled_dual
        slack = self.scaling.of_slack(self.scaled_steps[0])
        self.slack_step = 0.5 * (slack + slack.T)

    def largest_steps(self) -> tuple[float, float]:
        primal, dual = map(self.scaling.largest_step, self.scaled_steps)
        return primal, dual

    def predict_kinks(self) -> None:
        """Count the singular values that converge to 0 (see `Term.predict_kinks`).

        The multiplier of the singular value of u and v is (u, v)' Z (u, v).
        """
        u, values, v = np.linalg.svd(self.coef.reshape(self.shape), full_matrices=False)
        both = np.concatenate([u, v.T])
        change = np.einsum("ji,jk,ik->i", u, self.coef_step.reshape(self.shape), v)
        kept = np.einsum("ji,jk,ki->i", both, self.dual, both)
        growth = np.einsum("ji,jk,ki->i", both, self.dual_step, both)
        self.n_zeros = int(np.count_nonzero(change * kept < growth * values))

    def move_onto_kinks(self, x: Array) -> None:
        coef = x[: len(self.coef)]
        u, values, v = np.linalg.svd(coef.reshape(self.shape), full_matrices=False)
        values[len(values) - self.n_zeros :] = 0.0
        coef[:] = np.ravel((u * values) @ v)

    def move(self, primal: float, dual: float) -> None:
        self.coef = self.coef + primal * self.coef_step
        super().move(primal, dual)
