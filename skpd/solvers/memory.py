"""Memory for the vectors of a solver."""

from ..kernels import allocate_and_free

__all__ = ["keep_freed_memory"]

LARGEST = (1 << 25) - (1 << 16)  # bytes; glibc learns nothing from a block above 32 MB


def keep_freed_memory(n_bytes: int) -> None:
    """Let malloc keep as much freed memory for the next vectors, up to 32 MB.

    At first, glibc gives what a vector of more than 128 kB took back to the system when it is
    freed, and meets a page fault for every 4 kB of the next one: a third of the time of a
    lasso fit of 32,561 rows. It stops that for blocks up to the size of any that has been
    freed; this one is never touched. Where a variable of the environment tells malloc what to
    keep (Dask gives its workers ``MALLOC_TRIM_THRESHOLD_``), it learns nothing.
    """
    allocate_and_free(min(n_bytes, LARGEST))
