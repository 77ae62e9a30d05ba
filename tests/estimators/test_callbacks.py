"""Callbacks, progress, Ctrl-C and what verbose fits print."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skpd import GroupLassoSVC, PdproxRegressor, PdproxSVC
from tests.estimators.test_estimators import ESTIMATORS

# A constant model is as good as another for what is tested here; groups=None makes a lasso of the
# group lasso, which is fitted as another estimator.
pytestmark = pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|has groups=None)")


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    return X, X @ np.array([1.0, -2.0, 0.0, 0.0, 0.5, 0.0]) + 3 + 0.3 * rng.normal(size=80)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_not_converged_warns_with_what_to_do(estimator, cancer, regression):
    X, y = regression if estimator is PdproxRegressor else cancer
    groups = {"groups": 1} if estimator is GroupLassoSVC else {}
    with pytest.warns(ConvergenceWarning) as caught:
        model = estimator(tol=1e-10, max_iter=3, **groups).fit(X, y)
    text = str(caught[0].message)
    assert estimator.__name__ in text and "max_iter (now 3)" in text and "tol=1.00e-10" in text
    assert f"{model.certificate_.relative_gap:.2e}" in text
    assert not model.converged_ and model.n_iter_ == 3
    assert caught[0].filename == __file__  # points at the user's line


class Ticks:
    """Counts the ticks of each task, which a progress bar would show."""

    def __init__(self):
        self.totals, self.ended = {}, {}

    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context):
        self.totals[context.task_name] = context.max_subtasks

    def on_fit_task_end(self, estimator, context):
        if context.task_name.startswith("tenth"):
            name = context.parent.task_name
            self.ended[name] = self.ended.get(name, 0) + 1


def test_ten_ticks_for_each_power_of_ten_of_the_gap(cancer, callbacks):
    X, y = cancer
    ticks = Ticks()
    PdproxSVC(alpha=0.02, tol=1e-3).set_callbacks(ticks).fit(X, y)
    assert ticks.totals["fit"] == 30 and ticks.ended == {"fit": 30}
    ticks = Ticks()
    with pytest.warns(ConvergenceWarning):
        model = PdproxSVC(alpha=0.02, tol=1e-9, max_iter=9).set_callbacks(ticks).fit(X, y)
    assert ticks.ended == {"fit": int(-10 * np.log10(model.certificate_.relative_gap))}
    digits, labels = load_digits(return_X_y=True)
    for n_jobs in (1, 2):
        ticks = Ticks()
        several = PdproxSVC(alpha=0.1, tol=1e-2, n_jobs=n_jobs).set_callbacks(ticks)
        several.fit(digits[:200] / 16, labels[:200])
        assert ticks.ended == {f"class {k}": 20 for k in range(10)}


def test_progress_bar(cancer, capsys, callbacks):
    X, y = cancer
    PdproxSVC(alpha=0.02).set_callbacks(callbacks.ProgressBar()).fit(X, y)
    shown = capsys.readouterr().out
    assert "PdproxSVC - fit" in shown and "100%" in shown


def test_progress_bar_of_a_grid_search_over_threads(callbacks):
    """scikit-learn's connection to the main process is shared by our threads."""
    X, y = load_digits(return_X_y=True)
    search = GridSearchCV(PdproxSVC(tol=1e-2, n_jobs=2), {"alpha": [0.01, 0.1]}, cv=2, n_jobs=2)
    search.set_callbacks(callbacks.ProgressBar(max_propagation_depth=None))
    search.fit(X[:200] / 16, y[:200])
    assert search.best_score_ > 0.5


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scoring_monitor_sees_the_model_of_the_moment(estimator, cancer, regression, callbacks):
    X, y = regression if estimator is PdproxRegressor else cancer
    scoring = "r2" if estimator is PdproxRegressor else "accuracy"
    monitor = callbacks.ScoringMonitor(scoring=scoring)
    model = estimator(alpha=0.02).set_callbacks(monitor).fit(X, y)
    scores = monitor.get_logs().data_as_pandas
    column = "r2" if estimator is PdproxRegressor else "accuracy"
    assert len(scores) >= 3 and len(set(scores[column])) > 1
    assert model.score(X, y) in set(scores[column])


def test_a_callback_can_stop_the_fit(cancer, callbacks):
    X, y = cancer

    class Stop:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context):
            return context.task_name.startswith("tenth") and context.task_id >= 9

    with pytest.warns(ConvergenceWarning, match="was stopped by a callback"):
        model = PdproxSVC(alpha=0.02, tol=1e-6).set_callbacks(Stop()).fit(X, y)
    assert 1e-6 < model.certificate_.relative_gap <= 0.1


def test_ctrl_c_leaves_a_certified_model(cancer, callbacks):
    X, y = cancer

    class Interrupt:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context):
            if context.task_name.startswith("tenth") and context.task_id >= 9:
                raise KeyboardInterrupt

    model = PdproxSVC(alpha=0.02, tol=1e-6).set_callbacks(Interrupt())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 1e-6 < model.certificate_.relative_gap < 1
    assert model.score(X, y) > 0.9


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import skpd.certificates.relative_gaps
from skpd import PdproxSVC
rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 100))
y = np.argmax(X[:, :6] + rng.normal(size=(1500, 6)), axis=1)
skpd.certificates.relative_gaps.NEGLIGIBLE = 0.0  # so that no fit converges
model = PdproxSVC(alpha=1e-4, tol=0, max_iter=10**9, n_jobs={n_jobs})
# a process that was started in the background may ignore it
signal.signal(signal.SIGINT, signal.default_int_handler)
begun = time.process_time()

def interrupt():  # by processor time: on a busy machine a fit may not have begun after 3 s
    while time.process_time() < begun + {seconds}:
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    threads = threading.active_count()
    gaps = [certificate.relative_gap for certificate in model.certificate_]
    print(threads, len(gaps), max(gaps) <= 1 + 1e-9, min(gaps) < 1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process there")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_every_thread(n_jobs):
    """A real SIGINT: no thread computes on, every class has a certificate, exit status 0."""
    script = INTERRUPTED.format(n_jobs=n_jobs, seconds=0.7)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "6", "True", "True"]


def test_verbose_prints_the_interval(cancer, capsys):
    X, y = cancer
    PdproxSVC(alpha=0.02, tol=1e-8, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    intervals, (end, status, *_, last) = lines[:6], lines[-4:]
    assert all("lower bound" in line for line in [*intervals, last])
    assert "converged after" in end and "finished: less than" in status


@pytest.mark.parametrize("n_classes", [2, 3])
def test_verbose_lines_thin_out(n_classes, capsys):
    """1: where iterations have doubled or the gap has halved, and the end; 2: all of them."""
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    model = PdproxSVC(alpha=0.01, solver="pdprox-dual", tol=1e-4, max_iter=500)
    printed = {}
    for verbose in (0, 1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(verbose=verbose).fit(X[:60], y[:60])
        printed[verbose] = capsys.readouterr().out.splitlines()
    histories = model.gap_history_ if n_classes > 2 else [model.gap_history_]
    certificates = model.certificate_ if n_classes > 2 else [model.certificate_]
    assert printed[0] == []
    n_last = sum(1 + len(str(certificate).splitlines()) for certificate in certificates)
    assert len(printed[2]) == sum(map(len, histories)) + n_last
    last, worth = None, []
    for n_iter, gap in zip(histories[0]["n_iter"], histories[0]["gap"], strict=True):
        if last is None or n_iter >= 2 * last[0] or gap <= 0.5 * last[1]:
            last = n_iter, gap
            worth.append(n_iter)
    name = "[PdproxSVC] class 0 iteration" if n_classes > 2 else "[PdproxSVC] iteration"
    lines = [line for line in printed[1] if line.startswith(name)]
    assert [int(line.split(": ")[0].split()[-1]) for line in lines] == worth
    assert set(printed[1]) <= set(printed[2]) and len(worth) < len(histories[0])
    for certificate in certificates:
        shown = ["solver 'pdprox-dual'", *str(certificate).splitlines()]
        assert all(any(line.endswith(text) for line in printed[1]) for text in shown)


def test_a_gap_that_is_large_beside_the_objective_is_named():
    """Where a feature is the target, and the relative gap says little of an objective near 0."""
    X = np.random.RandomState(0).normal(size=(10, 4))
    model = PdproxRegressor(max_iter=300, solver="pdprox-primal")
    with pytest.warns(ConvergenceWarning, match="gap is a share of .* of its objective, above"):
        model.fit(X, X[:, 0])
