"""An upper bound on the spectral norm of a linear map."""

import numpy as np

N_STEPS = 40  # most pairs of products
FAILURE = 1e-6  # admitted probability that the result is below the norm


def spectral_norm_bound(
    matvec, rmatvec, shape: tuple[int, int], random_state: np.random.RandomState
) -> float:
    """Upper bound on the spectral norm of a linear operator A.

    `N_STEPS` steps of Golub-Kahan bidiagonalisation, the power iteration that keeps
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
    n = min(shape)
    if n == 0:
        return 0.0
    v = random_state.standard_normal(shape[1])
    v /= np.linalg.norm(v)
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    basis = [v]
    u, exhausted = np.zeros(shape[0]), False
    scale = 0.0
    for _ in range(min(N_STEPS, n)):
        u = matvec(v) - (off_diagonal[-1] * u if off_diagonal else 0.0)
        diagonal.append(float(np.linalg.norm(u)))
        scale = max(scale, diagonal[-1])
        if diagonal[-1] <= 1e-14 * scale:
            exhausted = True
            break
        u = u / diagonal[-1]
        v = rmatvec(u) - diagonal[-1] * v
        for previous in basis:  # full reorthogonalisation, as the basis is short
            v = v - (previous @ v) * previous
        off_diagonal.append(float(np.linalg.norm(v)))
        if off_diagonal[-1] <= 1e-14 * scale:
            exhausted = True
            break
        v = v / off_diagonal[-1]
        basis.append(v)
    k = len(diagonal)
    bidiagonal = np.zeros((k, k + 1))
    bidiagonal[np.arange(k), np.arange(k)] = diagonal
    for i, value in enumerate(off_diagonal):
        bidiagonal[i, i + 1] = value
    estimate = float(np.linalg.norm(bidiagonal, 2))
    if exhausted or k >= n:
        return estimate * (1.0 + 1e-10)
    root = np.log(1.648 * np.sqrt(shape[1]) / FAILURE) / (2 * k - 1)
    return estimate / np.sqrt(1.0 - root * root)
