"""Random numbers that depend only on the index of a row, wherever the row is stored."""

import numpy as np

from .._typing import Array, Indices

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def uniform_by_index(indices: Indices) -> Array:
    """A pseudorandom number in [0, 1) for each index, by the bit mixing of SplitMix64.

    Steele, Lea, Flood: Fast splittable pseudorandom number generators. OOPSLA 2014.
    """
    with np.errstate(over="ignore"):
        x = (indices.astype(np.uint64) + np.uint64(1)) * GOLDEN
        x = (x ^ (x >> np.uint64(30))) * FIRST
        x = (x ^ (x >> np.uint64(27))) * SECOND
        x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) / 2.0**53
