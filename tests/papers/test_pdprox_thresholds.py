"""Max-margin factorisation with chosen thresholds: the functions of the baselines, and claims."""

import numpy as np
from numpy.testing import assert_allclose

from benchmarks.papers import pdprox_thresholds
from skpd import MatrixCompletionPD
from tests.oracles.paper_pages import paper_page

TITLE = "Figure 4 (a, b)"
PDPROX = ("Algorithm 1", "Algorithm 3, last iterate")
TUNED = ("gradient descent", "FOBOS", "RDA")


def test_the_objective_and_its_slopes(rng, monkeypatch):
    shape = (9, 12)
    monkeypatch.setattr(pdprox_thresholds, "SHAPE", shape)
    places = rng.choice(9 * 12, size=60, replace=False)
    pairs, y = np.column_stack(np.divmod(places, 12)), np.r_[np.arange(1.0, 6.0), [3.0] * 55]
    problem = pdprox_thresholds.max_margin(pairs, y, 0.01)
    model = MatrixCompletionPD(0.01, loss="hinge", thresholds=(0, 3, 6, 9), biases=False)
    model.fit(pairs, y)
    W = np.zeros(shape)
    W[np.ix_(model.row_labels_, model.column_labels_)] = (
        model.row_factors_ @ model.column_factors_.T
    )
    # singular values from squares have half of the digits
    assert_allclose(problem.objective(W.ravel()), model.certificate_.primal, rtol=1e-7)
    # slopes along a direction, at a point without kinks
    w, direction = W.ravel() + rng.normal(size=W.size), 1e-6 * rng.normal(size=W.size)
    losses = [np.mean(np.maximum(problem.errors(w + s * direction), 0.0)) for s in (1, -1)]
    assert_allclose(2.0 * problem.loss_slope(w) @ direction, losses[0] - losses[1], rtol=1e-6)
    slope = problem.penalty_slope(w)
    assert_allclose(slope @ w, 0.01 * np.linalg.norm(w.reshape(shape), "nuc"), rtol=1e-9)
    assert_allclose(np.linalg.norm(slope.reshape(shape), 2), 0.01, rtol=1e-9)


def test_the_claims():
    page = paper_page("pdprox")
    after = {(row["lambda"], row["method"]): float(row["after 150"]) for row in page.table(TITLE)}
    page.claims("after 150 iterations, the three of them and Pdprox are within a factor of 1.2")
    values = [after["1e-05", method] for method in (*PDPROX, *TUNED)]
    assert max(values) < 1.2 * min(values)
    page.claims("With 1e-3 FOBOS and RDA are ahead of Algorithm 3")
    average, iterate = (after["0.001", method] for method in PDPROX)
    assert max(after["0.001", method] for method in ("FOBOS", "RDA")) < iterate
    page.claims("Algorithm 1, an average, is behind all")
    assert all(average > after["0.001", method] for method in (PDPROX[1], *TUNED, "auto"))
