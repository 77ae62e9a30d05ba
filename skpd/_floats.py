"""Constants of 64-bit floating-point numbers."""

import numpy as np

EPSILON = float(np.finfo(np.float64).eps)  # distance from 1 to the next larger number
