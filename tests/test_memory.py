"""Memory that is freed is there for the next vectors."""

import platform
import subprocess
import sys

import pytest

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
    """A vector takes 78 pages; without `keep_freed_memory` a fit met each of dozens anew."""
    found = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 3 * 78
