"""The baselines of Yang et al.: gradient descent, FOBOS, RDA and accelerated gradients.

The first three take a subgradient of the loss an iteration, with steps in proportion to
1 / sqrt(t). Gradient descent takes a subgradient of the penalty too, FOBOS (Duchi and Singer,
2009) and RDA (Xiao, 2009) its prox. Accelerated gradients with the prox (Beck and Teboulle, 2009)
are those of a smoothed loss, whose level and step fall as 1 / t. As in the paper the first step is
the best of several powers of 2, here times the inverse norm of the first subgradient, by the
objective after a number of iterations.
"""

from itertools import islice

import numpy as np
import scipy.sparse.linalg as sla


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


def largest_singular_value(Z):
    return float(sla.svds(Z.astype(float), k=1, return_singular_vectors=False)[0])


def accelerated_gradients(problem, first):
    # the loss smoothed at a level has a gradient of Lipschitz constant curvature / level
    curvature = largest_singular_value(problem.Z) ** 2 / len(problem.offsets)
    w, w_previous, t = problem.start, problem.start, 0
    while True:
        t += 1
        step = first / t
        ahead = w + (t - 1.0) / (t + 2.0) * (w - w_previous)
        slope = problem.loss_slope(ahead, step * curvature)
        w_previous, w = w, problem.prox(ahead - step * slope, step)
        yield w


METHODS = {
    "gradient descent": gradient_descent,
    "FOBOS": fobos,
    "RDA": dual_averaging,
    "accelerated gradients": accelerated_gradients,
}


def tuned(problem, name, n_iter, n_tried, exponents=range(-10, 11)):
    """The least objective up to each iteration, with the first step that is best after n_tried."""
    unit = 1.0 / float(np.linalg.norm(problem.loss_slope(problem.start)))

    def objectives(exponent, count):
        iterates = islice(METHODS[name](problem, 2.0**exponent * unit), count)
        return np.fmin.accumulate([problem.objective(w) for w in iterates])

    best = min(exponents, key=lambda exponent: objectives(exponent, n_tried)[-1])
    return objectives(best, n_iter)
