"""How much memory a fit takes."""

import tracemalloc

import numpy as np

from skpd import MatrixCompletionPD


def test_matrix_completion_holds_few_vectors(rng):
    """Vectors as long as there are ratings: with a short side of 60 nothing else is as large."""
    i, j = np.nonzero(rng.random((60, 3000)) < 0.9)
    y = rng.normal(size=len(i)) + rng.normal(size=60)[i] * rng.normal(size=3000)[j]
    alpha = 5.0 / np.sqrt(60 * len(y))
    model = MatrixCompletionPD(alpha, biases=False, tol=5e-3)
    pairs = np.column_stack([i, j])
    model.fit(pairs[:500], y[:500])  # imports what a first fit needs
    tracemalloc.start()
    model.fit(pairs, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.converged_ and model.rank_ > 0
    assert peak < 14 * y.nbytes
