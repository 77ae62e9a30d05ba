"""How much memory a fit takes, and that what is freed is there for the next vectors."""

import os
import platform
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from skpd import MatrixCompletionPD

FIT = """
import resource
import numpy as np
from skpd import LassoPDCertified
rng = np.random.default_rng(0)
X = rng.normal(size=(40_000, 20))
y = X[:, 0] + rng.normal(size=40_000)
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    LassoPDCertified(0.1).fit(X, y)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what glibc's malloc does")
def test_fits_do_not_wait_for_pages():
    """A vector takes 78 pages; without `_keep_freed_memory` a fit met each of dozens anew.

    Any variable of malloc's in the environment (Dask's workers get one) stops glibc learning.
    """
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    found = subprocess.run(
        [sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True
    )
    assert int(found.stdout) < 3 * 78


def test_matrix_completion_holds_few_vectors(rng):
    """Vectors as long as there are ratings: with a short side of 60 nothing else is as large."""
    i, j = np.nonzero(rng.random((60, 3000)) < 0.9)
    y = rng.normal(size=len(i)) + rng.normal(size=60)[i] * rng.normal(size=3000)[j]
    alpha = 5.0 / np.sqrt(60 * len(y))
    model = MatrixCompletionPD(alpha, biases=False, tol=1e-3)
    pairs = np.column_stack([i, j])
    tracemalloc.start()
    model.fit(pairs, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.converged_ and model.rank_ > 0
    assert peak < 14 * y.nbytes
