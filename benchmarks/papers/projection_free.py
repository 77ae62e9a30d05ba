"""What primal-dual block Frank-Wolfe is compared with, on the package's compiled products.

Over the l1 ball, for the smoothed hinge (mu = 1) with a squared l2 norm, and over the trace-norm
ball, for squared loss: accelerated projected gradient, SVRG with projections, stochastic
Frank-Wolfe (SFW), stochastic conditional gradient sliding (SCGS, Lan and Zhou) and its
variance-reduced kind (STORC, Hazan and Luo). Frank-Wolfe is for the l1 ball, block Frank-Wolfe
(Allen-Zhu et al.) for the trace norm. Each yields its iterate; a ball counts the entries of the
data that were visited.
"""

from functools import cached_property

import numpy as np
from scipy.sparse.linalg import svds

from skpd import kernels
from skpd.designs import Design, spectral_norm_bound


class Ball:
    """minimise over ||x||_1 <= radius   mean_i phi(y_i a_i.x) + (mu / 2) ||x||^2."""

    batch = 64  # rows of a mini-batch of SVRG

    def __init__(self, design, y, mu, radius):
        self.design, self.y, self.mu, self.radius = design, y, mu, radius
        self.n, self.d = design.shape
        self.shape = self.d
        self.entries = 0.0
        self.n_entries = design.matrix.n_entries
        self.largest = float(np.max(design.row_norms())) ** 2  # R

    @cached_property
    def smoothness(self):
        """A bound on that of the mean loss with the ridge, by products that count."""
        shape, random_state = (self.n, self.d), np.random.RandomState(0)
        norm = spectral_norm_bound(self.matvec, self.rmatvec, shape, random_state)
        return norm**2 / self.n + self.mu

    @property
    def batch_step(self):
        """A step for mini-batches, without products for the smoothness."""
        return min(self.batch, 16) / (4.0 * (self.largest + self.mu))

    def loss(self, z):
        slack = np.maximum(1.0 - self.y * z, 0.0)
        return float(np.mean(np.where(slack < 1.0, 0.5 * slack**2, slack - 0.5)))

    def derivative(self, z, y):
        return -y * np.clip(1.0 - y * z, 0.0, 1.0)

    def objective(self, x):
        return self.loss(self.design.matvec(x)) + 0.5 * self.mu * float(x @ x)

    def matvec(self, x):
        self.entries += self.n_entries
        return self.design.matvec(x)

    def rmatvec(self, rows):
        self.entries += self.n_entries
        return self.design.rmatvec(rows)

    def gradient(self, x):
        return self.rmatvec(self.derivative(self.matvec(x), self.y) / self.n) + self.mu * x

    def project(self, x):
        return kernels.project_l1_ball(np.ascontiguousarray(x), self.radius)

    def vertex(self, g):
        """argmin of g.v over the ball."""
        j = int(np.argmax(np.abs(g)))
        v = np.zeros(self.d)
        v[j] = -np.sign(g[j]) * self.radius
        return v

    def some_rows(self, rows):
        """A mini-batch with its products, and what one of them costs."""
        some = self.design.rows(rows)
        return some.matvec, some.rmatvec, some.matrix.n_entries

    def batch_gradient(self, x, rows, minus=None):
        """The mean gradient of some rows' losses at x, minus that at another point."""
        matvec, rmatvec, size = self.some_rows(rows)
        y = self.y[rows]
        slope = self.derivative(matvec(x), y)
        self.entries += 2 * size
        if minus is not None:
            slope = slope - self.derivative(matvec(minus), y)
            self.entries += size
        return rmatvec(slope / len(rows))


class TraceBall(Ball):
    """minimise over ||W||_* <= radius   ||X W - Y||^2 / (2 n) + (mu / 2) ||W||^2."""

    batch = 256  # a projection costs more than a batch

    def __init__(self, X, Y, mu, radius):
        super().__init__(Design(X), Y, mu, radius)
        self.X, self.shape = X, (self.d, Y.shape[1])

    @cached_property
    def smoothness(self):
        return np.linalg.norm(self.X, 2) ** 2 / self.n + self.mu

    @property
    def batch_step(self):
        return 1.0 / (4.0 * (self.smoothness + self.largest / self.batch))

    def objective(self, W):
        squares = float(np.sum((self.X @ W - self.y) ** 2))
        return 0.5 * squares / self.n + 0.5 * self.mu * float(np.sum(W * W))

    def derivative(self, z, y):
        return z - y

    def matvec(self, W):
        return self.X @ W

    def rmatvec(self, rows):
        return self.X.T @ rows

    def project(self, W):
        U, sigma, V = np.linalg.svd(W, full_matrices=False)
        return (U * kernels.project_l1_ball(np.ascontiguousarray(sigma), self.radius)) @ V

    def vertex(self, g):
        u, _, v = svds(g, k=1, random_state=0)
        return -self.radius * u @ v

    def some_rows(self, rows):
        some = self.X[rows]
        return some.__matmul__, some.T.__matmul__, some.size


def frank_wolfe(ball, rng):
    """With exact line search along the direction, by bisection on its kept product."""
    x, z = np.zeros(ball.d), np.zeros(ball.n)
    while True:
        g = ball.rmatvec(ball.derivative(z, ball.y) / ball.n) + ball.mu * x
        direction = ball.vertex(g) - x
        along = ball.matvec(direction)
        low, high = 0.0, 1.0
        for _ in range(30):
            t = 0.5 * (low + high)
            slope = np.mean(ball.derivative(z + t * along, ball.y) * along)
            slope += ball.mu * float((x + t * direction) @ direction)
            low, high = (low, t) if slope > 0 else (t, high)
        x, z = x + low * direction, z + low * along
        yield x


def stochastic_frank_wolfe(ball, rng):
    """Frank-Wolfe with the gradient of as many rows as the square of the iteration."""
    x, k = np.zeros(ball.shape), 0
    while True:
        k += 1
        rows = rng.integers(ball.n, size=int(min(ball.n, (k + 1) ** 2)))
        vertex = ball.vertex(ball.batch_gradient(x, rows) + ball.mu * x)
        x = x + 2.0 / (k + 1) * (vertex - x)
        yield x


def accelerated_projected_gradient(ball, rng):
    """Nesterov's constant momentum for strong convexity."""
    root = np.sqrt(ball.mu / ball.smoothness)
    momentum = (1 - root) / (1 + root)
    x = v = np.zeros(ball.shape)
    while True:
        new = ball.project(v - ball.gradient(v) / ball.smoothness)
        v, x = new + momentum * (new - x), new
        yield x


def svrg(ball, rng):
    """Projected, with mini-batches and epochs of two passes."""
    snapshot, batch = np.zeros(ball.shape), ball.batch
    while True:
        full = ball.gradient(snapshot)
        x = snapshot
        for _ in range(2 * ball.n // batch):
            rows = rng.integers(ball.n, size=batch)
            g = ball.batch_gradient(x, rows, minus=snapshot) + full + ball.mu * (x - snapshot)
            x = ball.project(x - ball.batch_step * g)
            yield x
        snapshot = x


def _slide(ball, g, start, beta, accuracy, most=50):
    """Conditional gradients on g.u + (beta / 2) ||u - start||^2 (Lan and Zhou)."""
    u = start
    for _ in range(most):
        slope = g + beta * (u - start)
        towards = u - ball.vertex(slope)
        gap = float(np.vdot(slope, towards))
        if gap <= accuracy:
            break
        u = u - min(1.0, gap / (beta * float(np.vdot(towards, towards)))) * towards
    return u


def scgs(ball, rng):
    L = ball.smoothness
    x = y = np.zeros(ball.shape)
    k = 0
    while True:
        k += 1
        gamma, beta = 3.0 / (k + 2), 4.0 * L / (k + 2)
        at = (1 - gamma) * y + gamma * x
        rows = rng.integers(ball.n, size=int(min(ball.n, (k + 2) ** 2)))
        g = ball.batch_gradient(at, rows) + ball.mu * at
        x = _slide(ball, g, x, beta, L * ball.radius**2 / (k * (k + 1)) * 1e-2)
        y = (1 - gamma) * y + gamma * x
        yield y


def storc(ball, rng, batch=256):
    L = ball.smoothness + ball.largest / batch
    snapshot, length = np.zeros(ball.shape), 16
    while True:
        full = ball.gradient(snapshot)
        x = y = snapshot
        for k in range(1, length + 1):
            gamma, beta = 2.0 / (k + 1), 3.0 * L / k
            at = (1 - gamma) * y + gamma * x
            rows = rng.integers(ball.n, size=batch)
            g = ball.batch_gradient(at, rows, minus=snapshot) + full + ball.mu * (at - snapshot)
            x = _slide(ball, g, x, beta, L * ball.radius**2 / (k * length) * 1e-4)
            y = (1 - gamma) * y + gamma * x
            yield y
        snapshot = y


STOCHASTIC = {"SVRG": svrg, "SFW": stochastic_frank_wolfe, "SCGS": scgs, "STORC": storc}
BASELINES = {
    "Frank-Wolfe": frank_wolfe,
    "accelerated PG": accelerated_projected_gradient,
    **STOCHASTIC,
}


def block_frank_wolfe(rank):
    """Allen-Zhu et al.: steps of the true rank by a partial SVD, with exact line search."""

    def iterates(ball, rng):
        W, eta = np.zeros(ball.shape), 0.5
        while True:
            g = ball.gradient(W)
            U, sigma, V = svds(W - g / (eta * ball.smoothness), k=rank, random_state=0)
            sigma = kernels.project_l1_ball(np.ascontiguousarray(sigma), ball.radius)
            direction = (U * sigma) @ V - W
            curvature = float(np.sum(ball.matvec(direction) ** 2)) / ball.n
            curvature += ball.mu * float(np.sum(direction**2))
            W = W + min(1.0, -float(np.sum(g * direction)) / curvature) * direction
            yield W

    return iterates


def trace_baselines(rank):
    return {
        "block Frank-Wolfe": block_frank_wolfe(rank),
        "accelerated PG": accelerated_projected_gradient,
        **STOCHASTIC,
    }
