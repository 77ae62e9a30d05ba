"""Gradients that the accelerated methods need with L found on the way, over those with L given.

The paper's data, alpha = 1e-3, no intercept: to a relative gap of 1e-3 for the hinge,
smoothed on the way, and of 1e-4 for smooth losses. L is found with each point looked for in the
span of the last ones, or at the points of Algorithms 2 and 4 ("published"), or given as the
largest eigenvalue. Every evaluation of the gradient counts, those of rejected steps and of the
search for the first L included; and, beside it, every product with X or its transpose that the fit
makes, those of the gaps, of the certificates and of the power method for L included.
"""

import argparse

import numpy as np

from benchmarks.helpers.data import load
from benchmarks.products import BOUNDED, COMPENSATED, PLAIN, counted, total
from skpd.designs import Design
from skpd.losses import Hinge, Logistic, SmoothedHinge
from skpd.penalties import L1, ElasticNet, SquaredL2
from skpd.problems import linear_problem
from skpd.solvers import solve

MODELS = (
    ("hinge, squared l2", Hinge(), SquaredL2(), 1e-3),
    ("hinge, l1", Hinge(), L1(), 1e-3),
    ("smoothed hinge, squared l2", SmoothedHinge(), SquaredL2(), 1e-4),
    ("logistic, elastic net", Logistic(), ElasticNet(0.5), 1e-4),
)


def needed(problem, tol, **options):
    """Gradients, and products."""
    with counted() as calls:
        found = solve(
            problem, "agm", tol=tol, max_iter=50_000,
            random_state=np.random.RandomState(0), **options,
        )  # fmt: skip
    counts = np.array([found.n_iter, total(calls, (*PLAIN, *BOUNDED, *COMPENSATED))])
    return counts if found.converged else np.full(2, np.nan)


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks agm", description=__doc__)
    parser.add_argument("--data", nargs="+", default=["a1a", "a9a"], choices=["a1a", "a9a"])
    options = parser.parse_args(arguments)
    print("| data | model | memory | gradients: found | published | given | found / given | "
          "products: found | published | given | found / given |")  # fmt: skip
    print("| " + " | ".join(["---"] * 11) + " |")
    for name in options.data:
        X, y = load(name)
        design, weights = Design(X), np.full(len(y), 1.0 / len(y))
        for label, loss, penalty, tol in MODELS:
            problem = linear_problem(design, y, weights, loss, penalty, 1e-3, False)
            for memory in ("infinite", "one"):
                counts = np.array([
                    needed(problem, tol, memory=memory, **steps)
                    for steps in ({"search": True}, {}, {"adaptive": False})
                ]).T  # fmt: skip
                cells = [
                    f"{found:g} | {published:g} | {given:g} | {found / given:.2f}"
                    for found, published, given in counts
                ]
                print(f"| {name} | {label} | {memory} | {' | '.join(cells)} |", flush=True)
