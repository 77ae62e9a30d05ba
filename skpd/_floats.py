"""Floating-point numbers of 64 bits."""

import numpy as np

__all__ = ["EPSILON"]

EPSILON = float(np.finfo(np.float64).eps)  # from 1 to the next larger number
