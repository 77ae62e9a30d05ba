"""Mini-batch IPPA and stochastic Pdprox: what two papers leave to the future.

The algorithms are transcribed here, with the random numbers of their `RandomState`, and share
nothing with the package but the data.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpd import DRSVMClassifier, MultiTaskPD, PdproxSVC, kernels
from skpd.designs import Design
from skpd.losses import EpsilonInsensitive, Hinge
from skpd.models.robust.problem import robust_problem
from skpd.penalties import L1
from skpd.problems import linear_problem
from tests.oracles.iterates import iterates
from tests.oracles.projections import onto_epigraph
from tests.oracles.reference import linear_programme
from tests.oracles.robust_reference import robust_linear_programme

DUAL = {1: np.inf, 2: 2, np.inf: 1}


def classes(rng, n, d):
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, :3].sum(axis=1) + rng.normal(size=n) > 0, 1.0, -1.0)


# The robust SVM (Li, Chen and So, 2020)


def onto_triangle(p, r):
    """The projection onto p, r >= 0 with p + r <= 1, for each row."""
    on_edge = np.clip((1 + p - r) / 2, 0, 1)
    p, r = np.maximum(p, 0), np.maximum(r, 0)
    return np.where(p + r <= 1, p, on_edge), np.where(p + r <= 1, r, 1 - on_edge)


@pytest.mark.parametrize("q", [1, 2, np.inf])
def test_updates_of_mini_batches_are_optimal(q):
    """The optimality conditions, with weights, a ridge, an intercept and certain labels."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        n, d = int(rng.integers(2, 7)), int(rng.integers(1, 6))
        X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=n)
        c, w0, lam0 = rng.dirichlet(np.ones(n)), rng.normal(size=d), rng.exponential()
        kappa, ridge = rng.choice([0.5, 2.0, np.inf]), rng.choice([0.0, 1.0])
        step, epsilon, one = 10.0 ** rng.uniform(-2, 1), 0.1, rng.random() < 0.5
        method = kernels.incremental(Design(X).matrix, y, c, q, epsilon, kappa, ridge, one)
        b0 = rng.normal() * one
        method.move(w0, lam0, b0)
        method.proximal_pass(np.arange(n), step, n, 1e-13)
        w, lam, b = method.w(), method.radius, method.intercept
        p, r = method.multipliers()
        k = kappa if np.isfinite(kappa) else 0.0
        pull = step * c * (p - r) * y
        g = (1 + step * ridge) * w - w0 - X.T @ pull
        slope = lam - lam0 + step * (epsilon - k * c @ r)
        assert np.linalg.norm(w, q) <= lam + 1e-9
        assert np.linalg.norm(g, DUAL[q]) <= slope + 1e-9
        assert abs(w @ g + lam * slope) <= 1e-8
        assert_allclose(b, b0 + one * np.sum(pull), atol=1e-9)
        assert np.all((p >= 0) & (r >= 0) & (p + r <= 1 + 1e-12))
        m = y * (X @ w + b)
        flipped = np.where(np.isfinite(kappa), 1 + m - k * lam, -1.0)
        largest = np.maximum(np.maximum(1 - m, flipped), 0)
        assert np.all(p * (largest - 1 + m) + r * (largest - flipped) <= 1e-7)
        assert np.all((1 - p - r) * largest <= 1e-7)


@pytest.mark.parametrize("q", [1, 2, np.inf])
def test_a_last_mini_batch_has_a_shorter_step(q, rng):
    """Equation (5) for ten rows in mini-batches of four."""
    X, y = classes(rng, 10, 4)
    epsilon, kappa, ridge, Z = 0.1, 1.0, 0.5, X * y[:, None]
    parameters = {"epsilon": epsilon, "kappa": kappa, "norm": q, "ridge": ridge}
    problem = robust_problem(Design(X), y, np.full(10, 0.1), fit_intercept=False, **parameters)
    w, lam = np.zeros(4), 0.0
    for k in range(1, 21):
        for first in (0, 4, 8):
            z = Z[first : first + 4]
            m, step = z @ w, 0.2 * 0.95 ** (k - 1) * len(z) / 4
            p = (1 - m > 0) & (1 - m >= 1 + m - kappa * lam)
            r = ~p & (1 + m - kappa * lam > 0)
            g = ridge * w - z.T @ (p * 1.0 - r) / len(z)
            slope = epsilon - kappa * np.mean(r)
            w, lam = onto_epigraph(q, w - step * g, lam - step * slope)
        options = {"scheme": "geometric", "first_step": 0.2, "ratio": 0.95, "batch_size": 4}
        assert_allclose(
            problem.project(iterates(problem, "isg", k, **options)[k].coef), w, rtol=0, atol=1e-9
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("norm", [1, np.inf])
def test_certificates_of_mini_batches_hold_the_optimum(norm, rng):
    X, y = classes(rng, 60, 5)
    weights = rng.random(60)
    known = {"epsilon": 0.1, "kappa": 0.5, "norm": norm, "fit_intercept": True}
    optimum = robust_linear_programme(X, y, weights / weights.sum(), **known)[0]
    model = DRSVMClassifier(
        **known, solver="ippa", tol=1e-4, max_iter=300,
        solver_options={"batch_size": 16, "shuffle": True},
    ).fit(X, y, sample_weight=weights)  # fmt: skip
    assert np.all(model.gap_history_["iterate_dual"] <= optimum + 1e-10)
    assert np.all(model.gap_history_["iterate_primal"] >= optimum - 1e-10)
    assert model.certificate_.dual <= optimum + 1e-10 <= model.certificate_.primal + 2e-10
    assert model.certificate_.relative_gap < 0.5
    with pytest.raises(ValueError, match=r"prox_tol'\] must be a float in the range \(0"):
        model.set_params(solver_options={"prox_tol": 0.0}).fit(X, y)


# Stochastic Pdprox, with the steps of Chambolle, Ehrhardt, Richtárik and Schönlieb (2018)


def saddle(name, X, y):
    """The loss, the slopes h_k of each row's predictions, the offsets, and the projection."""
    if name == "hinge":
        return Hinge(), -y[None], np.ones_like(y)[None], lambda a: np.clip(a, 0, 1)
    one = np.ones_like(y)
    return (
        EpsilonInsensitive(0.2), np.stack([one, -one]), np.stack([-y - 0.2, y - 0.2]),
        lambda a: np.stack(onto_triangle(*a)),
    )  # fmt: skip


def stochastic(h, offsets, project, X, lam, sizes, ratio, seed):
    """Iterates (w, theta) after each step, for blocks of a random partition of the rows."""
    n, d = X.shape
    random = np.random.RandomState(seed)
    order = random.permutation(n)
    blocks = np.split(order, np.cumsum(sizes)[:-1])
    for _ in blocks:  # the starts of norm estimates
        random.standard_normal(d)
    H = [np.hstack([(h_k[rows, None] * X[rows]).T for h_k in h]) / n for rows in blocks]
    m, norm = len(blocks), max(np.linalg.norm(block, 2) for block in H) * (1 + 1e-10)
    if ratio is None:
        tau = sigma = np.sqrt(1 / 2) / norm
    else:
        tau, sigma = 1 / (np.sqrt(ratio) * norm), np.sqrt(ratio) / norm
    w, a, extra, tau = np.zeros(d), np.zeros_like(h), np.zeros(d), tau / m
    while True:
        i = random.randint(m)
        moved = w - tau * (X.T @ np.sum(h * a, axis=0) / n + extra)
        w = np.sign(moved) * np.maximum(np.abs(moved) - tau * lam, 0)
        rows, before = blocks[i], a.copy()
        up = h[:, rows] * (X[rows] @ w) + offsets[:, rows]
        a[:, rows] = project(a[:, rows] + sigma * up / n)
        extra = m * H[i] @ (a - before)[:, rows].ravel()
        yield w, np.sum(h * a, axis=0)


@pytest.mark.parametrize("ratio", [None, 0.3])
@pytest.mark.parametrize("name", ["hinge", "epsilon-insensitive"])
@pytest.mark.parametrize("average", [True, False])
def test_stochastic_pdprox(average, name, ratio, rng):
    X, y = classes(rng, 26, 6)
    y = y if name == "hinge" else y + rng.normal(size=26)
    loss, h, offsets, project = saddle(name, X, y)
    problem = linear_problem(Design(X), y, np.full(26, 1 / 26), loss, L1(), 0.05, False)
    steps = stochastic(h, offsets, project, X, 0.05, (7, 7, 6, 6), ratio, 0)
    ws, thetas = [], []
    options = {"average": average, "step_ratio": ratio, "rows_per_step": 7}
    for t in range(1, 31):
        for _ in range(4):
            w, theta = next(steps)
            ws.append(w)
            thetas.append(theta)
        if average:
            w, theta = np.mean(ws, axis=0), np.mean(thetas, axis=0)
        found = iterates(problem, "pdprox-primal", t, **options)[t]
        assert_allclose(found.coef, w, rtol=0, atol=1e-9)
        assert_allclose(found.dual_coef, theta, rtol=0, atol=1e-9)


def test_certificates_of_stochastic_pdprox_hold_the_optimum(rng):
    X, y = classes(rng, 60, 5)
    weights = rng.random(60)
    weights[:9] = 0.0
    c = weights / weights.sum()
    optimum = linear_programme(X, y, c, Hinge(), L1(), 0.05, True)
    model = PdproxSVC(
        0.05, penalty="l1", solver="pdprox-primal", tol=1e-3, max_iter=3000, random_state=0,
        solver_options={"rows_per_step": 8, "average": False},
    ).fit(X, y, sample_weight=weights)  # fmt: skip
    assert model.converged_
    assert np.all(model.gap_history_["iterate_dual"] <= optimum + 1e-10)
    assert np.all(model.gap_history_["iterate_primal"] >= optimum - 1e-10)
    assert model.certificate_.dual <= optimum + 1e-10 <= model.certificate_.primal + 2e-10
    assert np.all(model.dual_coef_[0, :9] == 0)


def test_rows_that_cannot_be_sampled(rng):
    X, y = classes(rng, 20, 3)
    options = {"solver": "pdprox-primal", "solver_options": {"rows_per_step": 5}}
    message = "rows_per_step of solver 'pdprox-primal' must be None for several outputs or a noise"
    with pytest.raises(ValueError, match=message):
        MultiTaskPD(0.1, **options).fit(X, np.stack([y, -y], axis=1))
    with pytest.raises(ValueError, match=message):
        PdproxSVC(0.1, noise_budget=3, **options).fit(X, y)
    with pytest.raises(ValueError, match=r"rows_per_step'\] must be an int in the range \[1, inf"):
        options["solver_options"] = {"rows_per_step": 0}
        PdproxSVC(0.1, **options).fit(X, y)
