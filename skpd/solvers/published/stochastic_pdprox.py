"""Stochastic Pdprox, which Yang et al. (2015) leave to the future: a block of rows in each step.

The rows are drawn once into m blocks. Algorithm 2 in its "double-dual" form becomes

    w      <-  prox of alpha R after a step tau along -(G_w + m X_B' diag(c_B) (theta_B - before)),
    theta  <-  a proximal step sigma up along the predictions of a block, drawn uniformly,

where G_w is the gradient at theta, and B the block of the last step with its theta before that.
This is the stochastic primal-dual hybrid gradient method (Chambolle, Ehrhardt, Richtárik and
Schönlieb, 2018, Algorithm 1) with serial sampling of probability 1 / m. By their Theorem 4.3, and
Alacaoglu, Fercoq and Cevher (2022), averages converge as 1 / t in expectation, and iterates almost
surely, if m sigma tau is below 1 / ||H_B||^2 for every block. One block gives Algorithm 2.

References
----------
Chambolle, Ehrhardt, Richtárik, Schönlieb: Stochastic primal-dual hybrid gradient algorithm with
arbitrary sampling and imaging applications. SIAM Journal on Optimization 28, 2018.

Alacaoglu, Fercoq, Cevher: On the convergence of stochastic primal-dual hybrid gradient. SIAM
Journal on Optimization 32, 2022.
"""

from collections.abc import Callable

import numpy as np

from ..._typing import Array, Indices
from .pdprox_spaces import Vectors

Block = tuple[Indices, Vectors]


def blocks_of_rows(space: Vectors, rows_per_step: int) -> list[Block]:
    """The rows of each block in a random partition, of equal sizes up to one, with its space.

    Raises
    ------
    ValueError
        If rows have several predictions, or a noise budget for all of them.
    """
    problem, context = space.problem, space.context
    if problem.loss.couples_rows or not problem.has_single_values:
        raise ValueError(
            "rows_per_step of solver 'pdprox-primal' must be None for several outputs or a noise "
            f"budget, got {rows_per_step}."
        )
    order = context.random_state.permutation(np.flatnonzero(problem.weights > 0.0))
    blocks = []
    for rows in np.array_split(order, -(-len(order) // rows_per_step)):
        part = problem.rows.of_rows(rows).with_parts(
            weights=problem.weights[rows], total_weight=problem.total_weight
        )
        blocks.append((rows, Vectors(context._replace(problem=problem.of_rows(part)))))
    return blocks


def stochastic_iterations(
    space: Vectors, blocks: list[Block], average: bool, tau: float, sigma: float,
    report: Callable[[int, Array, Array], bool],
) -> None:  # fmt: skip
    """Iterations of as many steps as there are blocks, for steps that are proven for all of them.

    The steps are those of Algorithm 2 for the block of the largest norm. Then tau is divided by
    their number m, so that the steps of an iteration together are as long as one of Algorithm 2.
    """
    context, m = space.context, len(blocks)
    w, side, tau = space.start(), space.side, tau / m
    a = np.array(side.start(context.first_theta))
    gradient = extrapolated = space.gradient(side.theta(a))
    for t in range(1, context.max_iter + 1):
        w_mean, a_mean = np.zeros_like(w), a.copy()
        for step in range(m):
            rows, block = blocks[context.random_state.randint(m)]
            w = space.prox(w, extrapolated, tau)
            ascended = block.side.ascend(a[rows], block.matvec(w), sigma)
            change, a[rows] = ascended - a[rows], ascended
            slope = block.gradient(block.side.theta(change))
            gradient, extrapolated = gradient + slope, gradient + (1.0 + m) * slope
            w_mean += w / m
            a_mean[rows] += (1.0 - step / m) * change  # which the steps that are left share
        if report(t, w_mean if average else w, side.theta(a_mean if average else a)):
            break
