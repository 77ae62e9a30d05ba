"""Optima where one solver, or each, gives up."""

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose

from tests.oracles import optima
from tests.oracles.optima import NotSolved, linear_optimum, optimal_value

cp = pytest.importorskip("cvxpy")

ANCHORS = np.array([3.0, -0.5, 1.0])


def shrinkage():
    """||w - a||^2 / 2 + ||w||_1, least at max(|a| - 1, 0) sign(a)."""
    w = cp.Variable(3)
    objective = cp.sum_squares(w - ANCHORS) / 2 + cp.norm1(w)
    return w, cp.Problem(cp.Minimize(objective))


def of_clarabel_and_scs(monkeypatch, **statuses):
    """CVXPY, whose solvers end with these statuses: None for an error."""
    solve = cp.Problem.solve

    def ending(self, solver, **options):
        value = solve(self, solver=solver, **options)
        if solver in statuses:
            if statuses[solver] is None:
                raise cp.error.SolverError(solver)
            self._status = statuses[solver]
        return value

    monkeypatch.setattr(cp.Problem, "solve", ending)


@pytest.mark.parametrize("ends", [{}, {"CLARABEL": "optimal_inaccurate"}, {"CLARABEL": None}])
def test_an_optimum_by_formula(ends, monkeypatch):
    of_clarabel_and_scs(monkeypatch, **ends)
    w, programme = shrinkage()
    assert optimal_value(programme) == pytest.approx(2.5 + 0.125 + 0.5, abs=1e-8)
    assert_allclose(w.value, [2.0, 0.0, 0.0], atol=1e-4)


@pytest.mark.parametrize("scs", ["optimal_inaccurate", "infeasible", None])
def test_no_optimum_is_an_error(scs, monkeypatch):
    of_clarabel_and_scs(monkeypatch, CLARABEL="optimal_inaccurate", SCS=scs)
    with pytest.raises(NotSolved, match="neither Clarabel nor SCS"):
        optimal_value(shrinkage()[1])


def test_values_of_clarabel_have_to_agree(monkeypatch):
    """It says that it has solved a problem, at a value that its tolerance changes."""
    value = optima._value

    def stopping_early(programme, solver, **options):
        return value(programme, solver, **options) + options.get("tol_feas", 0.0) * 1e3

    monkeypatch.setattr(optima, "_value", stopping_early)
    assert optimal_value(shrinkage()[1]) == pytest.approx(3.125, abs=1e-8)


@pytest.mark.parametrize("failing", [{"highs"}, {"highs", "highs-ds"}])
def test_linear_programmes(failing, monkeypatch):
    def linprog(*arguments, method, **options):
        found = scipy.optimize.linprog(*arguments, method=method, **options)
        found.success = found.success and method not in failing
        return found

    monkeypatch.setattr(optima, "linprog", linprog)
    found = linear_optimum([1.0, 2.0], [[-1.0, -1.0]], [-1.0], bounds=(0, None))
    assert found.fun == pytest.approx(1.0)
    with pytest.raises(NotSolved, match="infeasible"):
        linear_optimum([1.0], [[1.0]], [-1.0], bounds=(0, None))
