"""An upper bound on the spectral norm of a linear map."""

import numpy as np
from scipy.sparse.linalg import LinearOperator

from .largest_singular import estimated_largest_singular_value

N_STEPS = 40  # most pairs of products
FAILURE = 1e-6  # admitted probability that the result is below the norm


def spectral_norm_bound(
    matvec, rmatvec, shape: tuple[int, int], random_state: np.random.RandomState
) -> float:
    """Upper bound on the spectral norm of a linear operator A.

    `N_STEPS` steps of the method of Lanczos, the power iteration that keeps
    its Krylov space, give a lower bound rho on ||A||^2. From a random start,
    rho >= (1 - e) ||A||^2 except with probability
    1.648 sqrt(n_columns) exp(-sqrt(e) (2 N_STEPS - 1)) (Kuczynski and Wozniakowski, 1992,
    Theorem 4.2), and e is chosen such that this is at most `FAILURE`. When the space
    is exhausted before that, rho is exact up to rounding.

    Parameters
    ----------
    matvec, rmatvec : callable
        Products with A and its transpose.
    shape : tuple of int
        Shape of A.
    random_state : RandomState
        Source of the start vector.

    Returns
    -------
    bound : float
    """
    if 0 in shape:
        return 0.0
    A = LinearOperator(shape, matvec=matvec, rmatvec=rmatvec, dtype=np.float64)
    start = random_state.standard_normal(shape[1])
    if shape[0] < shape[1]:  # the Krylov space of A A' is smaller, its estimates no worse
        A, start = A.T, A @ start
    estimate, _, exhausted = estimated_largest_singular_value(A, start, N_STEPS, residual=-1.0)
    if exhausted:
        return estimate * (1.0 + 1e-10)
    root = np.log(1.648 * np.sqrt(shape[1]) / FAILURE) / (2 * N_STEPS - 1)
    return float(estimate / np.sqrt(1.0 - root * root))
