"""The iterates of the compiled methods, which a monitor keeps instead of judging them."""

import numpy as np

from skpd.solvers import SolverContext, methods_of


class Trace:
    """A monitor that keeps the iterates, of a goal that none of them meets."""

    done, n_iter, tol, primal, dual, goal = False, 0, 0.0, np.inf, 0.0, 0.0

    def __init__(self):
        self.points = {}

    def check(self, n_iter, point):
        self.points[n_iter] = point
        return 1.0

    def goal_at(self, primal, dual):
        return self.goal


def iterates(problem, solver, n, *, seed=0, start=None, **options):
    """The points of n iterations, or epochs, by their numbers."""
    trace = Trace()
    methods_of(problem)[solver].run(
        SolverContext(problem, trace, start, n, np.random.RandomState(seed)), **options
    )
    return trace.points
