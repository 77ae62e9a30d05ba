"""The distributionally robust SVM for independent solvers, written from its definition alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.optima import linear_optimum, optimal_value


def robust_linear_programme(X, y, weights, *, epsilon, kappa, norm, fit_intercept, coef=None):
    """The optimal value by HiGHS for norm 1 or inf without a ridge, or at given coefficients.

    Variables: w+ and w- (features each, >= 0), b, lam, the losses s. Returns the optimal
    value, w, b, lam and the multipliers p and r.
    """
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    n, d = X.shape
    cost = np.concatenate([np.zeros(2 * d + 1), [epsilon], weights])
    yX, none, losses = y[:, None] * X, np.zeros((n, 1)), -np.eye(n)
    rows = [np.hstack([-yX, yX, -y[:, None], none, losses])]
    limits = [-np.ones(n)]
    if np.isfinite(kappa):
        rows.append(np.hstack([yX, -yX, y[:, None], none - kappa, losses]))
        limits.append(-np.ones(n))
    total = np.hstack([np.eye(d), np.eye(d), np.zeros((d, 1)), -np.ones((d, 1)), np.zeros((d, n))])
    if norm == 1:
        total = total.sum(axis=0, keepdims=True)
        total[0, 2 * d + 1] = -1.0
    rows.append(total)
    limits.append(np.zeros(len(total)))
    bounds = [(0, None)] * (2 * d)
    if coef is not None:
        bounds = [(max(v, 0.0),) * 2 for v in coef] + [(max(-v, 0.0),) * 2 for v in coef]
    bounds += [(None, None) if fit_intercept else (0, 0)] + [(0, None)] * (1 + n)
    found = linear_optimum(
        cost,
        A_ub=np.vstack(rows),
        b_ub=np.concatenate(limits),
        bounds=bounds,
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    p, r = -found.ineqlin.marginals[:n] / weights, np.zeros(n)
    if np.isfinite(kappa):
        r = -found.ineqlin.marginals[n : 2 * n] / weights
    w = found.x[:d] - found.x[d : 2 * d]
    return found.fun, w, found.x[2 * d], found.x[2 * d + 1], np.stack([p, r])


def robust_conic_programme(X, y, weights, *, epsilon, kappa, norm, ridge, fit_intercept, tol=None):
    """The optimal value through CVXPY, and the coefficients and intercept.

    With a tolerance what Clarabel finds to it, whatever that is.
    """
    cp = pytest.importorskip("cvxpy")

    w, b, lam = cp.Variable(X.shape[1]), cp.Variable() if fit_intercept else 0.0, cp.Variable()
    margins = cp.multiply(y, X @ w + b)
    pieces = [1 - margins, np.zeros(len(y))]
    if np.isfinite(kappa):
        pieces.append(1 + margins - kappa * lam)
    objective = epsilon * lam + weights @ cp.maximum(*pieces)
    if ridge > 0.0:
        objective += 0.5 * ridge * cp.sum_squares(w)
    programme = cp.Problem(cp.Minimize(objective), [cp.norm(w, norm) <= lam])
    if tol is None:
        value = optimal_value(programme)
    else:
        value = programme.solve(solver="CLARABEL", tol_gap_rel=tol, tol_gap_abs=tol, tol_feas=tol)
    return value, w.value, float(b.value) if fit_intercept else 0.0
