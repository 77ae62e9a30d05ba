"""Settings of malloc that speed up the allocation of a solver's vectors."""

from ..kernels import allocate_and_free

__all__ = ["keep_freed_memory"]

LARGEST = (1 << 25) - (1 << 16)  # bytes; larger blocks do not change the thresholds of glibc


def keep_freed_memory(n_bytes: int) -> None:
    """Make malloc keep freed blocks of up to ``n_bytes``, at most 32 MB, for later vectors.

    By default glibc returns the memory of a vector of more than 128 kB to the system when it is
    freed, and the next vector causes a page fault for every 4 kB. This threshold grows to the size
    of the largest block that has been freed. The block freed here is never written to. The
    function has no effect if an environment variable sets the threshold (Dask sets
    ``MALLOC_TRIM_THRESHOLD_`` for its workers).
    """
    allocate_and_free(min(n_bytes, LARGEST))
