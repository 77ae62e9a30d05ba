"""The parameter ``constraints`` of estimators: linear constraints on the coefficients."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from scipy.optimize import Bounds, LinearConstraint
from scipy.sparse import csr_array, eye_array, issparse, kron, vstack

from .._typing import Array, Constraints, Numbers
from ..penalties import Penalty, Structure
from ..problems import Problem, Solution
from ..problems.linear_constraints import LinearConstraints


def multipliers_of(
    problems: Sequence[Problem], solutions: Sequence[Solution], max_iter: int
) -> Array:
    """Multipliers of the constraints as they were given, in a row for each output.

    Raises
    ------
    ValueError
        If no coefficients were found that obey the constraints.
    """
    rows = []
    for problem, solution in zip(problems, solutions, strict=True):
        if np.isinf(solution.certificate.primal) and not solution.interrupted:
            raise ValueError(
                "constraints do not seem to go together with the penalty "
                f"{problem.penalty!r}: no coefficients that both allow were found in "
                f"{solution.n_iter} iterations of at most {max_iter}."
            )
        mu = solution.dual_coef[problem.n_samples :]  # after the dual variables of the rows
        with np.errstate(over="ignore"):  # rows of 1e-310 may have infinite ones
            mu = np.ldexp(mu, -cast(LinearConstraints, problem.constraints).exponents)
        rows.extend(mu.reshape(-1, problem.n_outputs).T)
    return np.stack(rows)


def bounds_of(penalty: Penalty) -> tuple[Numbers, Numbers]:
    """Bounds that a penalty sets each coefficient."""
    return penalty.terms[2:] if penalty.structure is Structure.SEPARABLE else (-np.inf, np.inf)


def linear_constraints(
    constraints: Constraints, n_features: int, n_outputs: int = 1
) -> LinearConstraints | None:
    """Constraints of `scipy.optimize` on the coefficients of each output, validated.

    None if there are none. The coefficients of all outputs for the first feature come first, then
    those for the next.

    Parameters
    ----------
    constraints : LinearConstraint, sequence of them or None
    n_features : int
    n_outputs : int, default=1

    Raises
    ------
    ValueError
        If a constraint is not a LinearConstraint, has not n_features columns, has numbers that are
        not finite, or has a lower bound above its upper bound.
    """
    if isinstance(constraints, LinearConstraint):
        constraints = [constraints]
    if not constraints:
        return None
    each = (_of_bounds(x, n_features) if isinstance(x, Bounds) else x for x in constraints)
    parts = [_validated(part, n_features) for part in each]
    matrices, lower, upper = zip(*parts, strict=True)
    matrix = kron(vstack(matrices), eye_array(n_outputs), format="csr")
    bounds = (np.repeat(np.concatenate(part), n_outputs) for part in (lower, upper))
    return LinearConstraints(csr_array(matrix), *bounds).with_unit_rows()


def _of_bounds(bounds: Bounds, n_features: int) -> LinearConstraint:
    """The constraints of single coefficients whose bounds exclude 0."""
    lower, upper = (np.broadcast_to(end, n_features) for end in (bounds.lb, bounds.ub))
    rows = np.flatnonzero((lower > 0.0) | (upper < 0.0))
    return LinearConstraint(eye_array(n_features, format="csr")[rows], lower[rows], upper[rows])


def _validated(part: LinearConstraint, n_features: int) -> tuple[csr_array, Array, Array]:
    if not isinstance(part, LinearConstraint):
        raise ValueError(
            "constraints must be a scipy.optimize.LinearConstraint or a list of them, got "
            f"{part!r}."
        )
    rows = part.A if issparse(part.A) else np.atleast_2d(np.asarray(part.A, dtype=np.float64))
    matrix = csr_array(rows, dtype=np.float64)
    matrix.sum_duplicates()
    if matrix.shape[1] != n_features:
        raise ValueError(
            f"constraints must have an A with a column for each of the {n_features} features, "
            f"got one of shape {matrix.shape}."
        )
    lower, upper = (  # SciPy has checked their shapes
        np.array(np.broadcast_to(np.asarray(x, dtype=np.float64), matrix.shape[:1]))
        for x in (part.lb, part.ub)
    )
    if not np.isfinite(matrix.data).all():
        raise ValueError("constraints must have an A of finite numbers.")
    if not (np.all(lower <= upper) and np.all(lower < np.inf) and np.all(upper > -np.inf)):
        raise ValueError(
            "constraints must have lb <= ub, with lb < inf and ub > -inf, got "
            f"{part.lb!r} and {part.ub!r}."
        )
    return matrix, lower, upper
