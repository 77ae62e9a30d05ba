"""Arrays in chunks of Dask."""

import pytest
from scipy import sparse

da = pytest.importorskip("dask.array")

N, D = 600, 6
CHUNKS = (100, 150, 50, 300)


def in_chunks(array):
    return da.from_array(array, chunks=(CHUNKS, *array.shape[1:]))


def in_sparse_chunks(X):
    return in_chunks(X).map_blocks(sparse.csr_array)
