"""Accelerated gradient methods by estimate functions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._typing import Array
from .geometry import Entropic, Euclidean
from .settings import GRADIENTS


@dataclass
class Composite:
    """A composite objective J = f + Psi.

    Attributes
    ----------
    smooth : callable
        Returns g, its gradient and the dual point from the product z = A x, where
        f(x) = g(A x) + lambda1 ||x||^2 / 2.
    matvec, rmatvec : callable
        Products with A and its transpose.
    psi : callable
    geometry : Euclidean or Entropic
    lipschitz : float
        An upper bound on L, or the start of the search for L if it is adaptive.
    in_loss, in_penalty : float
        lambda1 and lambda2.
    adaptive : bool
    n_gradients : int
        The number of gradients of f so far.
    """

    smooth: Callable[[Array], tuple[float, Array, Array]]
    matvec: Callable[[Array], Array]
    rmatvec: Callable[[Array], Array]
    psi: Callable[[Array], float]
    geometry: Euclidean | Entropic
    lipschitz: float
    in_loss: float = 0.0
    in_penalty: float = 0.0
    adaptive: bool = True
    n_gradients: int = 0

    def at(self, x: Array, z: Array) -> "Evaluation":
        value, rows, theta = self.smooth(z)
        f = value + 0.5 * self.in_loss * float(x @ x) if self.in_loss else value
        return Evaluation(x, z, f, f + self.psi(x), rows, theta)

    def gradient(self, at: "Evaluation") -> Array:
        """The gradient of f, which costs a product with the transpose of A."""
        self.n_gradients += 1
        gradient = self.rmatvec(at.rows)
        return gradient + self.in_loss * at.x if self.in_loss else gradient

    def between(self, here: "Evaluation", other: Array, z: Array, part: float) -> "Evaluation":
        """The evaluation at (1 - part) x + part other, where z is the product of A and other."""
        return self.at(
            part * other + (1.0 - part) * here.x,
            part * z + (1.0 - part) * here.z,
        )

    def divergence(self, x: Array, y: Array) -> float:
        d = self.geometry
        return d.value(x) - d.value(y) - float(d.gradient(y) @ (x - y))

    def admits(self, L: float, new: "Evaluation", u: "Evaluation", gradient: Array) -> bool:
        """Whether f(x) <= f(u) + f'(u).(x - u) + (L / 2) ||x - u||^2, as the proofs require."""
        step = new.x - u.x
        model = u.f + float(gradient @ step) + 0.5 * L * self.geometry.squared_norm(step)
        return not self.adaptive or new.f <= model + GRADIENTS.rounding * abs(u.f)

    def bounded(self, L: float) -> float:
        """L within the bounds for which steps are finite, which they would not be at lambda1."""
        return max(L, (1.0 + 1e-8) * self.in_loss, 1e-12 * self.lipschitz)

    def decreased(self, L: float) -> float:
        """The L with which the search of the next iteration begins."""
        return L / GRADIENTS.curvature_decrease if self.adaptive else L


class Evaluation(NamedTuple):
    """The values f and J at x, the gradient of g at z = A x, and the dual point."""

    x: Array
    z: Array
    f: float
    objective: float
    rows: Array
    theta: Array


class AcceleratedIterate(NamedTuple):
    """An iterate x_k with its product, the averaged dual point and the bound of the theorems.

    By Theorems 6, 10, 14 and 18, J(x_k) - J(x) <= bound * Delta(x, x_0) for every x, and the gap
    at ``theta`` is at most bound * max Delta(., x_0). ``slope`` is the gradient of f without its
    strong convexity, averaged as theta is. ``latest`` are the dual point of the last gradient, and
    its slope.
    """

    x: Array
    z: Array
    theta: Array
    slope: Array
    bound: float
    lipschitz: float
    latest: tuple[Array, Array]


def infinite_memory(composite: Composite, x: Array) -> Iterator[AcceleratedIterate]:
    """The iterates of AGM-EF with infinite memory, Algorithms 1 and 2."""
    c, d = composite, composite.geometry
    in_loss, in_penalty = c.in_loss, c.in_penalty
    both, here = in_loss + in_penalty, c.at(x, c.matvec(x))
    z, product, L = here.x, here.z, c.lipschitz
    total = 0.0  # A_k
    dual = d.gradient(x)
    constant = float(dual @ x) - d.value(x)
    theta, slope = np.zeros_like(here.theta), np.zeros_like(x)
    while True:
        while True:
            L = c.bounded(L)
            p, q = L - in_loss, 1.0 + 2.0 * both * total
            a = (q + np.sqrt(q * q + 4.0 * p * total * (1.0 + both * total))) / (2.0 * p)
            a = min(float(a), 1e100)  # for runs that continue at the optimum
            after = total + a
            t1, t2 = 1.0 + both * total, in_loss * a
            t3 = in_penalty * a * total / after
            u = c.between(here, z, product, a * t1 / ((t1 + t2 + t3) * after - t2 * a))
            gradient = c.gradient(u)
            descent = in_loss * d.gradient(u.x) - gradient
            new_dual = dual + a * descent
            new_constant = constant + a * (u.f + float(descent @ u.x) - in_loss * d.value(u.x))
            new_z = d.minimise(new_dual, 1.0 + in_loss * after, after)
            new_product = c.matvec(new_z)
            new = c.between(here, new_z, new_product, a / after)
            model = (
                new_constant + (1.0 + in_loss * after) * d.value(new_z)
                - float(new_dual @ new_z) + after * c.psi(new_z)
            )  # fmt: skip
            slack = GRADIENTS.rounding * after * (abs(new.objective) + abs(u.f))
            if c.admits(L, new, u, gradient) or after * new.objective <= model + slack:
                break
            L *= GRADIENTS.curvature_increase
        total, dual, constant = after, new_dual, new_constant
        here, z, product = new, new_z, new_product
        share = a / total
        theta = (1.0 - share) * theta + share * u.theta  # positive numbers stay precise
        slope = slope - share * (descent + slope)
        yield AcceleratedIterate(here.x, here.z, theta, slope, 1.0 / total, L, (u.theta, -descent))
        L = c.decreased(L)


def one_memory(composite: Composite, x: Array) -> Iterator[AcceleratedIterate]:
    """The iterates of AGM-EF with a memory of one, Algorithms 3 and 4."""
    c, d = composite, composite.geometry
    in_loss, in_penalty = c.in_loss, c.in_penalty
    u = c.at(x, c.matvec(x))
    gradient, L = c.gradient(u), c.lipschitz
    while True:  # x_0 = z_0
        z = d.minimise(L * d.gradient(x) - gradient, L, 1.0)
        here = c.at(z, c.matvec(z))
        if c.admits(L, here, u, gradient):
            break
        L *= GRADIENTS.curvature_increase
    product = here.z
    theta, slope = latest = u.theta, gradient - in_loss * d.gradient(x)
    level = u.f + float(gradient @ (z - x)) + L * c.divergence(z, x) + c.psi(z)  # min q_k
    curvature, bound, scale = L + in_penalty, 1.0, L - in_loss
    while True:
        yield AcceleratedIterate(here.x, here.z, theta, slope, bound * scale, L, latest)
        L = c.decreased(L)
        while True:
            L = c.bounded(L)
            # (1 - a)(c + lambda2 a) + lambda1 a = L a^2
            p, q = L + in_penalty, curvature - in_penalty - in_loss
            a = 2.0 * curvature / (q + np.sqrt(q * q + 4.0 * p * curvature))
            a = min(float(a), 1.0)
            t1, t2, t3 = (1.0 - a) * curvature, in_loss * a, in_penalty * a * (1.0 - a)
            u = c.between(here, z, product, t1 * a / (t1 + t2 + t3 - t2 * a))
            gradient = c.gradient(u)
            dual = t1 * d.gradient(z) + t2 * d.gradient(u.x) - a * gradient
            new_z = d.minimise(dual, t1 + t2, a)
            new_product = c.matvec(new_z)
            new = c.between(here, new_z, new_product, a)
            new_level = (
                (1.0 - a) * level + t1 * c.divergence(new_z, z) + t2 * c.divergence(new_z, u.x)
                + a * (u.f + float(gradient @ (new_z - u.x)) + c.psi(new_z))
            )  # fmt: skip
            slack = GRADIENTS.rounding * (abs(new.objective) + abs(u.f))
            if c.admits(L, new, u, gradient) or new.objective <= new_level + slack:
                break
            L *= GRADIENTS.curvature_increase
        curvature, level = (1.0 - a) * curvature + (in_loss + in_penalty) * a, new_level
        here, z, product = new, new_z, new_product
        bound *= 1.0 - a
        latest = u.theta, gradient - in_loss * d.gradient(u.x)
        theta, slope = (1.0 - a) * theta + a * latest[0], slope + a * (latest[1] - slope)
