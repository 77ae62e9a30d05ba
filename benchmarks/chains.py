"""Random fields and max-margin networks on chains: certified, and beside CRFsuite.

task
    A generated tagging task of 2,000 sequences. `ChainCRF` and python-crfsuite (if it is
    installed) minimise the same objective: c2 = alpha n / 2, all features and transitions, no
    boundary features, and feature.minfreq far below 0, as CRFsuite else drops features whose
    values sum to less than 0. Times are those of the fits alone; how far CRFsuite is from the
    optimum is said by our lower bound. `ChainM3N` is fitted to 1e-4.
campaign
    Random small problems with all labelings enumerated, beside Clarabel: how far the objective is
    from the optimum, and how far a lower bound is above it, relative to the model 0.
"""

import itertools
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.helpers.campaigns import solved, unit_of
from skpd import ChainCRF, ChainM3N
from skpd.designs import Design
from skpd.models.sequences.design import ChainsDesign
from skpd.models.sequences.losses import ChainLogLoss
from tests.oracles.optima import optimal_value

PARTS = ("task", "campaign")


def tagging_task(n=2000, n_labels=6, n_features=30, seed=0):
    """Sequences of 5 to 24 tokens, whose labels depend on the features and on the label before."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n_features, n_labels))
    transitions = 2.0 * rng.standard_normal((n_labels, n_labels))
    X, y = [], []
    for length in rng.integers(5, 25, size=n):
        tokens = rng.standard_normal((length, n_features))
        scores = tokens @ weights + 3.0 * rng.standard_normal((length, n_labels))
        labels = [int(np.argmax(scores[0]))]
        for score in scores[1:]:
            labels.append(int(np.argmax(score + transitions[labels[-1]])))
        X.append(tokens)
        y.append(np.array(labels))
    return X, y


def by_crfsuite(X, y, alpha, tolerance):
    """Seconds, and the coefficients in the order of `ChainsDesign`."""
    import pycrfsuite

    n_features, n_labels = X[0].shape[1], 1 + max(int(labels.max()) for labels in y)
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for tokens, labels in zip(X, y, strict=True):
        items = [{str(j): float(v) for j, v in enumerate(row)} for row in tokens]
        trainer.append(pycrfsuite.ItemSequence(items), [str(k) for k in labels])
    trainer.set_params({
        "c1": 0.0, "c2": 0.5 * alpha * len(X), "feature.minfreq": -1e9,
        "feature.possible_states": True, "feature.possible_transitions": True,
        "epsilon": tolerance, "delta": tolerance, "max_iterations": 5000,
    })  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        start = time.perf_counter()
        trainer.train(path)
        seconds = time.perf_counter() - start
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        info = tagger.info()
    coef = np.zeros(n_features * n_labels + n_labels**2)
    for (feature, label), weight in info.state_features.items():
        coef[int(feature) * n_labels + int(label)] = weight
    for (before, after), weight in info.transitions.items():
        coef[n_features * n_labels + int(before) * n_labels + int(after)] = weight
    return seconds, coef


def task(alpha=1e-3):
    X, y = tagging_task()
    n_labels = 1 + max(int(labels.max()) for labels in y)
    lengths = np.array(list(map(len, X)))
    print(f"{len(X)} sequences, {lengths.sum()} tokens, {n_labels} labels")
    ours = ChainCRF(alpha, tol=1e-6)
    start = time.perf_counter()
    ours.fit(X, y)
    seconds = time.perf_counter() - start
    found = ours.certificate_
    print(f"ChainCRF: {seconds:.2f} s, {ours.n_iter_} iterations, {found}")
    design = ChainsDesign(Design(np.vstack(X)), n_labels)
    loss = ChainLogLoss(np.concatenate(y), lengths, n_labels)
    try:
        for tolerance in (1e-5, 1e-7, 1e-9):
            peer, coef = by_crfsuite(X, y, alpha, tolerance)
            value = loss.value(design.matvec(coef))[0] + 0.5 * alpha * float(coef @ coef)
            print(
                f"CRFsuite, epsilon and delta {tolerance:.0e}: {peer:.2f} s, objective "
                f"{value:.9f}, {(value - found.dual) / unit_of(found):.1e} above our bound, "
                f"{peer / seconds:.2f} times"
            )
    except ImportError:
        print("python-crfsuite is not installed")
    for at in (1e-2, 1e-3):
        start = time.perf_counter()
        network = ChainM3N(at, tol=1e-4).fit(X, y)
        print(
            f"ChainM3N, alpha {at:.0e}: {time.perf_counter() - start:.1f} s, "
            f"{network.n_iter_} iterations, {network.certificate_}"
        )


def random_problem(rng):
    n, n_labels, d = int(rng.integers(1, 6)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    scale = 10.0 ** rng.uniform(-1, 1)
    X = [scale * rng.standard_normal((int(rng.integers(1, 5)), d)) for _ in range(n)]
    y = [rng.integers(n_labels, size=len(tokens)) for tokens in X]
    y[0][:1] = 0
    y = [*y, np.arange(n_labels)]
    X = [*X, rng.standard_normal((n_labels, d))]
    return X, y, n_labels, 10.0 ** rng.uniform(-2, 0)


def optimum(X, y, n_labels, alpha, penalty, is_soft):
    """By Clarabel, with a row for every labeling of every sequence."""
    import cvxpy as cp

    d = X[0].shape[1]
    W, T = cp.Variable((d, n_labels)), cp.Variable((n_labels, n_labels))
    losses = []
    for tokens, labels in zip(X, y, strict=True):
        every = np.array(list(itertools.product(range(n_labels), repeat=len(tokens))))
        features, moves = [], []
        for other in every:
            at = np.zeros((len(tokens), n_labels))
            at[np.arange(len(tokens)), other] += 1.0
            at[np.arange(len(tokens)), labels] -= 1.0
            features.append((tokens.T @ at).ravel())
            change = np.zeros((n_labels, n_labels))
            np.add.at(change, (other[:-1], other[1:]), 1.0)
            np.add.at(change, (labels[:-1], labels[1:]), -1.0)
            moves.append(change.ravel())
        scores = np.array(features) @ cp.vec(W, order="C") + np.array(moves) @ cp.vec(T, order="C")
        wrong = np.sum(every != labels, axis=1)
        losses.append(cp.log_sum_exp(scores) if is_soft else cp.max(scores + wrong))
    if penalty == "l2":
        size = 0.5 * (cp.sum_squares(W) + cp.sum_squares(T))
    elif penalty == "l1":
        size = cp.sum(cp.abs(W)) + cp.sum(cp.abs(T))
    else:
        size = np.sqrt(n_labels) * (cp.sum(cp.norm(W, 2, axis=1)) + cp.sum(cp.norm(T, 2, axis=1)))
    objective = cp.Minimize(sum(losses) / len(X) + alpha * size)
    return optimal_value(cp.Problem(objective))


def campaign(n_problems, seed):
    rng = np.random.default_rng(seed)
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    furthest, excess, n_solved, unsolved = 0.0, -np.inf, 0, []

    def draw(k):
        X, y, n_labels, alpha = random_problem(rng)
        kind, penalty = (ChainCRF, ChainM3N)[k % 2], str(rng.choice(["l2", "l1", "group"]))
        value = optimum(X, y, n_labels, alpha, penalty, kind is ChainCRF)
        return X, y, kind(alpha, penalty=penalty, tol=1e-9), value

    for X, y, model, value in solved(n_problems, draw):
        for max_iter in (2, 10, 3000):
            found = model.set_params(max_iter=max_iter).fit(X, y).certificate_
            excess = max(excess, (found.dual - value) / unit_of(found))
        n_solved += model.converged_
        if not model.converged_:
            unsolved.append(f"{model} {model.relative_gap_:.0e}")
        furthest = max(furthest, (found.primal - value) / unit_of(found))
    print(
        f"{n_problems} problems: {n_solved} reach 1e-9, objective at most {furthest:.1e} above "
        f"the independent optimum, bounds at most {excess:.1e} above it; others: {unsolved}"
    )


OPTIONS = {
    "--parts": {"nargs": "+", "choices": PARTS, "default": PARTS},
    "--problems": 200,
    "--seed": 0,
}


def main(options):
    if "task" in options.parts:
        task()
    if "campaign" in options.parts:
        campaign(options.problems, options.seed)
