"""Gradients that the accelerated methods need with L found on the way, over those with L given.

The paper's data, alpha = 1e-3, no intercept: to a relative gap of 1e-3 for the hinge,
smoothed on the way, and of 1e-4 for smooth losses. Every evaluation of the gradient counts, those
of rejected steps and of the search for the first L included.
"""

import argparse

import numpy as np

from benchmarks.data import load
from skpd.design import Design
from skpd.losses import Hinge, Logistic, SmoothedHinge
from skpd.penalties import L1, ElasticNet, SquaredL2
from skpd.problem import Problem
from skpd.solvers import solve

MODELS = (
    ("hinge, squared l2", Hinge(), SquaredL2(), 1e-3),
    ("hinge, l1", Hinge(), L1(), 1e-3),
    ("smoothed hinge, squared l2", SmoothedHinge(), SquaredL2(), 1e-4),
    ("logistic, elastic net", Logistic(), ElasticNet(0.5), 1e-4),
)


def gradients(problem, tol, **options):
    found = solve(
        problem, "agm", tol=tol, max_iter=50_000, random_state=np.random.RandomState(0), **options
    )
    return found.n_iter if found.converged else np.nan


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks agm", description=__doc__)
    parser.add_argument("--data", nargs="+", default=["a1a", "a9a"], choices=["a1a", "a9a"])
    options = parser.parse_args(arguments)
    print("| data | model | memory | L found | L given | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in options.data:
        X, y = load(name)
        design, weights = Design(X), np.full(len(y), 1.0 / len(y))
        for label, loss, penalty, tol in MODELS:
            for memory in ("infinite", "one"):
                counts = [
                    gradients(
                        Problem(design, y, weights, loss, penalty, 1e-3, False), tol,
                        memory=memory, adaptive=adaptive,
                    )
                    for adaptive in (True, False)
                ]  # fmt: skip
                print(f"| {name} | {label} | {memory} | {counts[0]} | {counts[1]} | "
                      f"{counts[0] / counts[1]:.2f} |", flush=True)  # fmt: skip
