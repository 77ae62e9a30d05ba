"""The first-order baselines of Yang et al.: gradient descent, FOBOS and dual averaging.

All three take a subgradient of the loss an iteration, with steps in proportion to 1 / sqrt(t).
Gradient descent takes a subgradient of the penalty too, FOBOS (Duchi and Singer, 2009) and RDA
(Xiao, 2009) its prox. As in the paper the first step is the best of several powers of 2, here
times the inverse norm of the first subgradient, by the objective after a number of iterations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np


@dataclass
class Composite:
    """A loss of w with its subgradient, and a penalty with a subgradient and a prox."""

    start: object
    loss: Callable
    loss_slope: Callable
    penalty: Callable
    prox: Callable  # of w and a step
    penalty_slope: Callable | None = None  # for gradient descent

    def objective(self, w):
        return float(self.loss(w) + self.penalty(w))


def gradient_descent(problem, first):
    w, t = problem.start, 0
    while True:
        t += 1
        w = w - first / np.sqrt(t) * (problem.loss_slope(w) + problem.penalty_slope(w))
        yield w


def fobos(problem, first):
    w, t = problem.start, 0
    while True:
        t += 1
        step = first / np.sqrt(t)
        w = problem.prox(w - step * problem.loss_slope(w), step)
        yield w


def dual_averaging(problem, first):
    w, total, t = problem.start, np.zeros_like(problem.start), 0
    while True:
        t += 1
        total = total + problem.loss_slope(w)
        step = first * np.sqrt(t)
        w = problem.prox(-step * total / t, step)
        yield w


METHODS = {"gradient descent": gradient_descent, "FOBOS": fobos, "RDA": dual_averaging}


def tuned(problem, name, n_iter, n_tried, exponents=range(-10, 11)):
    """The least objective up to each iteration, with the first step that is best after n_tried."""
    unit = 1.0 / float(np.linalg.norm(problem.loss_slope(problem.start)))

    def objectives(exponent, count):
        iterates = islice(METHODS[name](problem, 2.0**exponent * unit), count)
        return np.fmin.accumulate([problem.objective(w) for w in iterates])

    best = min(exponents, key=lambda exponent: objectives(exponent, n_tried)[-1])
    return objectives(best, n_iter)
