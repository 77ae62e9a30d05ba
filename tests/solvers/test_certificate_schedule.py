"""When iterates are certified, when methods end, and monitors of equivalent problems."""

import numpy as np
import pytest

from skpd.designs import Design
from skpd.losses import Hinge
from skpd.penalties import L1
from skpd.problems import Point, linear_problem
from skpd.solvers import Monitor, SolverContext
from skpd.solvers.certificate_schedule import CertificateSchedule, ScheduleSettings, StallDetector
from skpd.solvers.equivalent import EquivalentMonitor


@pytest.fixture
def run():
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    problem = linear_problem(Design(np.eye(4)), labels, np.full(4, 0.25), Hinge(), L1(), 0.01)
    monitor = Monitor(problem, 1e-3)
    monitor.begin()
    return SolverContext(problem, monitor, None, 1000, np.random.RandomState(0))


def due(schedule, gaps):
    """The numbers of iterations at which a certificate is due, up to the last one."""
    found = []
    for n_iter, gap in enumerate(gaps):
        if schedule.is_due(n_iter, gap):
            found.append(n_iter)
        if schedule.is_over:
            break
    return found


def test_certificates_become_rarer(run):
    found = due(
        CertificateSchedule(run._replace(max_iter=100), ScheduleSettings(every=10, share=0.5)),
        [np.inf] * 200,
    )
    assert found == [10, 20, 30, 45, 67, 100]


def test_small_gaps_are_certified_at_once(run):
    small = 0.5 * run.monitor.goal
    settings = ScheduleSettings(every=100, wait=0.5)
    assert due(
        CertificateSchedule(run._replace(max_iter=12), settings), [np.inf, np.inf] + [small] * 20
    ) == [
        2,
        4,
        8,
        12,
    ]


def test_gaps_that_fell_much_are_certified(run):
    gaps = [1.0, 0.5, 0.09, 0.05, 0.008, 0.007]
    assert due(
        CertificateSchedule(run._replace(max_iter=6), ScheduleSettings(every=100, decrease=0.1)),
        gaps,
    ) == [2, 4]


def test_the_last_iterate_of_a_stalled_run_is_certified(run):
    schedule = CertificateSchedule(run, ScheduleSettings(every=100, patience=5))
    assert due(schedule, [2.0, 1.0] + [0.95] * 20) == [7]


def test_estimates_far_below_the_goal_are_no_progress(run):
    """A run ends whose certificates stay poor while its estimates go to 0: 2^-10 < 1e-3."""
    schedule = CertificateSchedule(run, ScheduleSettings(every=100, patience=5))
    assert due(schedule, [run.monitor.goal * 0.5**k for k in range(50)])[-1] == 16


def test_patience_lasts_for_a_share_of_the_iterations_so_far():
    patience = StallDetector(2, share=1.0)
    gaps = dict.fromkeys(range(30), 1.0) | dict.fromkeys(range(10, 30), 0.5)
    patience.is_over(0, gaps[0])
    assert not patience.is_over(2, gaps[2]) and patience.is_over(3, gaps[3])
    assert not patience.is_over(10, gaps[10]) and not patience.is_over(20, gaps[20])
    assert patience.is_over(21, gaps[21])


def test_a_monitor_of_an_equivalent_problem_translates_and_forwards(run):
    """Points of twice the size; what a method writes reaches the monitor that decides."""
    there = lambda point: Point(2.0 * point.coef, point.intercept, point.dual_coef)  # noqa: E731
    back = lambda point: Point(0.5 * point.coef, point.intercept, point.dual_coef)  # noqa: E731
    view = EquivalentMonitor(run.monitor, run.problem, there, back)
    view.tol, view.method = 0.5, "some-method"
    assert (run.monitor.tol, run.monitor.method) == (0.5, "some-method")
    view.check(3, Point(2.0 * run.problem.y, 0.0, np.zeros(4)))
    assert run.monitor.n_iter == view.n_iter == 3 and view.primal == run.monitor.primal
    np.testing.assert_array_equal(run.monitor.best.coef, run.problem.y)
    np.testing.assert_array_equal(view.best.coef, 2.0 * run.problem.y)
    view.done = True
    assert run.monitor.done
    with pytest.raises(AttributeError):
        _ = view.solution
