"""What primal-dual block Frank-Wolfe is compared with, on the package's compiled products.

Over the l1 ball, for the smoothed hinge (mu = 1) with a squared l2 norm: Frank-Wolfe, accelerated
projected gradient, SVRG, stochastic conditional gradient sliding (SCGS, Lan and Zhou) and its
variance-reduced kind (STORC, Hazan and Luo). Over the trace-norm ball, for squared loss: block
Frank-Wolfe (Allen-Zhu et al.) and accelerated projected gradient. Each yields its iterate and
the entries of the data that it has visited so far.
"""

import numpy as np

from skpd import kernels
from skpd.designs import spectral_norm_bound


class Ball:
    """minimise over ||x||_1 <= radius   mean_i phi(y_i a_i.x) + (mu / 2) ||x||^2."""

    def __init__(self, design, y, mu, radius):
        self.design, self.y, self.mu, self.radius = design, y, mu, radius
        self.n, self.d = design.shape
        self.entries = 0.0
        self.n_entries = design.matrix.n_entries
        self.largest = float(np.max(design.row_norms())) ** 2  # R

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
        """A mini-batch, and what it costs."""
        some = self.design.rows(rows)
        return some, some.matrix.n_entries

    def batch_gradient(self, x, rows, minus=None):
        """The mean gradient of some rows' losses at x, minus that at another point."""
        some, size = self.some_rows(rows)
        y = self.y[rows]
        slope = self.derivative(some.matvec(x), y)
        self.entries += 2 * size
        if minus is not None:
            slope = slope - self.derivative(some.matvec(minus), y)
            self.entries += size
        return some.rmatvec(slope / len(rows))


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


def accelerated_projected_gradient(ball, rng, bound="spectral"):
    """Nesterov's constant momentum for strong convexity.

    L is estimated by pairs of products, which count; or it is the bound R of the theory.
    """
    if bound == "spectral":
        shape, random_state = (ball.n, ball.d), np.random.RandomState(0)
        norm = spectral_norm_bound(ball.matvec, ball.rmatvec, shape, random_state)
        L = norm**2 / ball.n + ball.mu
    else:
        L = ball.largest + ball.mu
    root = np.sqrt(ball.mu / L)
    momentum = (1 - root) / (1 + root)
    x = v = np.zeros(ball.d)
    while True:
        new = ball.project(v - ball.gradient(v) / L)
        v, x = new + momentum * (new - x), new
        yield x


def svrg(ball, rng, batch=64):
    """Projected, with mini-batches and epochs of two passes."""
    snapshot = np.zeros(ball.d)
    step = 1.0 / (4.0 * (ball.largest + ball.mu))
    while True:
        full = ball.gradient(snapshot)
        x = snapshot
        for _ in range(2 * ball.n // batch):
            rows = rng.integers(ball.n, size=batch)
            g = ball.batch_gradient(x, rows, minus=snapshot) + full + ball.mu * (x - snapshot)
            x = ball.project(x - step * min(batch, 16) * g)
            yield x
        snapshot = x


def _slide(ball, g, start, beta, accuracy, most=50):
    """Conditional gradients on g.u + (beta / 2) ||u - start||^2 (Lan and Zhou)."""
    u = start
    for _ in range(most):
        slope = g + beta * (u - start)
        v = ball.vertex(slope)
        gap = float(slope @ (u - v))
        if gap <= accuracy:
            break
        u = u + min(1.0, gap / (beta * float((u - v) @ (u - v)))) * (v - u)
    return u


def scgs(ball, rng):
    L = ball.largest + ball.mu
    x = y = np.zeros(ball.d)
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
    L = ball.largest + ball.mu
    snapshot, length = np.zeros(ball.d), 16
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


BASELINES = {
    "Frank-Wolfe": frank_wolfe,
    "accelerated PG": accelerated_projected_gradient,
    "SVRG": svrg,
    "SCGS": scgs,
    "STORC": storc,
}


class TraceBall:
    """minimise over ||W||_* <= radius   ||X W - Y||^2 / (2 n) + (mu / 2) ||W||^2."""

    def __init__(self, X, Y, mu, radius):
        self.X, self.Y, self.mu, self.radius = X, Y, mu, radius
        self.n, self.d, self.c = *X.shape, Y.shape[1]
        self.L = np.linalg.norm(X, 2) ** 2 / self.n + mu

    def objective(self, W):
        return 0.5 * np.sum((self.X @ W - self.Y) ** 2) / self.n + 0.5 * self.mu * np.sum(W * W)

    def gradient(self, W):
        return self.X.T @ (self.X @ W - self.Y) / self.n + self.mu * W

    def project(self, W, rank=None):
        """Projection, onto the matrices of at most a rank too."""
        U, sigma, V = np.linalg.svd(W, full_matrices=False)
        sigma = kernels.project_l1_ball(np.ascontiguousarray(sigma[:rank]), self.radius)
        return (U[:, : len(sigma)] * sigma) @ V[: len(sigma)]


def trace_accelerated(ball, rank):
    root = np.sqrt(ball.mu / ball.L)
    momentum = (1 - root) / (1 + root)
    W = V = np.zeros((ball.d, ball.c))
    while True:
        new = ball.project(V - ball.gradient(V) / ball.L)
        V, W = new + momentum * (new - W), new
        yield W


def trace_block_frank_wolfe(ball, rank):
    """Steps of the true rank with a partial SVD and exact line search."""
    from scipy.sparse.linalg import svds

    W = np.zeros((ball.d, ball.c))
    eta = 0.5
    while True:
        g = ball.gradient(W)
        centre = W - g / (eta * ball.L)
        U, sigma, V = svds(centre, k=rank, random_state=0)
        sigma = kernels.project_l1_ball(np.ascontiguousarray(sigma), ball.radius)
        direction = (U * sigma) @ V - W
        along = ball.X @ direction
        curvature = np.sum(along**2) / ball.n + ball.mu * np.sum(direction**2)
        step = min(1.0, -float(np.sum(g * direction)) / curvature)
        W = W + step * direction
        yield W


TRACE_BASELINES = {
    "block Frank-Wolfe": trace_block_frank_wolfe,
    "accelerated PG": trace_accelerated,
}
