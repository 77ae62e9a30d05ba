"""The random numbers of the compiled methods, for transcriptions that draw the same."""

import numpy as np


class Draws:
    """The coordinates that the compiled methods draw: Marsaglia's xorshift, 13, 7, 17."""

    def __init__(self, seed, n):
        state = np.random.RandomState(seed).randint(1, np.iinfo(np.int32).max)
        self.state, self.n = int(state), n

    def __call__(self):
        mask = 2**64 - 1
        self.state ^= (self.state << 13) & mask
        self.state ^= self.state >> 7
        self.state ^= (self.state << 17) & mask
        return ((self.state >> 32) * self.n) >> 32
