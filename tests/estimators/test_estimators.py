"""The estimators as scikit-learn estimators: conventions, layouts, weights, callbacks."""

import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor, Lasso, LogisticRegression, QuantileRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.utils._param_validation import InvalidParameterError

from skpd import (
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDClassifier,
    ElasticNetPDCV,
    GroupLassoSVC,
    LassoPDCertified,
    LassoPDCertifiedCV,
    PdproxRegressor,
    PdproxSVC,
    TraceNormPD,
    certify,
    regularization_path,
)
from skpd.losses import Hinge, Huber, Pinball
from skpd.penalties import L1, Norm
from tests.oracles.reference import linear_programme
from tests.oracles.robust_reference import robust_linear_programme

# A constant model is as good as another for what is tested here; groups=None makes a lasso of the
# group lasso, which is fitted as another estimator.
pytestmark = pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|has groups=None)")

ESTIMATORS = [PdproxSVC, GroupLassoSVC, PdproxRegressor]
SMOOTH_AND_NOT = [("hinge", "l1"), ("hinge", "l2"), ("logistic", "l1"), ("hinge", "linf")]
CLASSIFIERS = [PdproxSVC, GroupLassoSVC]


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    return X, X @ np.array([1.0, -2.0, 0.0, 0.0, 0.5, 0.0]) + 3 + 0.3 * rng.normal(size=80)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_layouts_agree(estimator, dtype, cancer, regression):
    X, y = regression if estimator is PdproxRegressor else cancer
    X = np.where(np.abs(X) > 0.5, X, 0.0).astype(dtype)
    layouts = [X, np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X)]
    fits = [estimator(alpha=0.02, tol=1e-6).fit(layout, y) for layout in layouts]
    for layout, fit in zip(layouts, fits, strict=True):
        assert fit.converged_ and fit.coef_.dtype == dtype
        assert_allclose(fit.certificate_.primal, fits[0].certificate_.primal, rtol=2e-6)
        assert_allclose(fit.coef_, fits[0].coef_, atol=1e-3)
        assert_allclose(fit.predict(layout), fit.predict(X.astype(np.float64)), rtol=1e-6)


def test_class_weight_multiplies_sample_weight(cancer):
    X, y = cancer
    by_class = PdproxSVC(alpha=0.02, tol=1e-6, class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    by_sample = PdproxSVC(alpha=0.02, tol=1e-6).fit(X, y, sample_weight=np.where(y, 0.5, 3.0))
    assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-5)
    balanced = PdproxSVC(alpha=0.02, tol=1e-6, class_weight="balanced").fit(X, y)
    shares = len(y) / (2 * np.bincount(y))
    by_hand = PdproxSVC(alpha=0.02, tol=1e-6).fit(X, y, sample_weight=shares[y])
    assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-5)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_one_vs_rest(n_jobs):
    X, y = load_digits(return_X_y=True)
    X, y, names = X[:400] / 16, y[:400], np.array(list("abcdefghij"))
    model = PdproxSVC(alpha=1e-2, tol=1e-3, n_jobs=n_jobs).fit(X, names[y])
    assert model.coef_.shape == (10, 64) and model.intercept_.shape == (10,)
    assert model.dual_coef_.shape == (10, 400) and model.decision_function(X).shape == (400, 10)
    assert len(model.certificate_) == len(model.gap_history_) == 10
    assert model.duality_gap_ == max(c.gap for c in model.certificate_)
    assert model.relative_gap_ == max(c.relative_gap for c in model.certificate_)
    assert model.score(X, names[y]) > 0.9
    binary = PdproxSVC(alpha=1e-2, tol=1e-3).fit(X, y == 3)
    assert_allclose(binary.coef_[0], model.coef_[3])
    assert binary.certificate_ == model.certificate_[3]


def test_against_linear_programming_on_real_data(cancer):
    X, y = cancer
    for estimator, penalty in ((PdproxSVC(alpha=0.02), L1()), (GroupLassoSVC(alpha=0.02), L1())):
        model = estimator.set_params(tol=1e-6).fit(X, y)
        value = linear_programme(
            X, 2.0 * y - 1, np.full(len(y), 1 / len(y)), Hinge(), penalty, 0.02, True
        )
        certificate = model.certificate_
        assert certificate.dual <= value + 1e-10 <= certificate.primal + 2e-10
        assert certificate.relative_gap <= 1e-6


def test_against_scikit_learn(cancer, regression):
    X, y = cancer
    svc = LinearSVC(
        loss="squared_hinge", penalty="l1", dual=False, C=1.0, tol=1e-10, max_iter=10**5,
        fit_intercept=False,
    ).fit(X, y)  # fmt: skip
    mine = PdproxSVC(alpha=1 / len(y), loss="squared_hinge", fit_intercept=False, tol=1e-9)
    assert_allclose(mine.fit(X, y).coef_, svc.coef_, atol=1e-3)
    logistic = LogisticRegression(C=1.0, tol=1e-10, max_iter=10**4).fit(X, y)
    mine = PdproxSVC(alpha=1 / len(y), loss="logistic", penalty="l2", tol=1e-10)
    assert_allclose(mine.fit(X, y).coef_, logistic.coef_, atol=1e-3)

    X, y = regression
    for quantile in (0.1, 0.5, 0.9):
        theirs = QuantileRegressor(quantile=quantile, alpha=0.02, solver="highs").fit(X, y)
        mine = PdproxRegressor(alpha=0.02, loss=Pinball(quantile=quantile), tol=1e-9).fit(X, y)
        assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)
        assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-5)
    theirs = Lasso(alpha=0.02, tol=1e-12).fit(X, y)
    mine = PdproxRegressor(alpha=0.02, loss="squared", tol=1e-10).fit(X, y)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)
    # HuberRegressor with its fitted scale is Huber's loss with delta = epsilon * scale
    theirs = HuberRegressor(alpha=0.0, epsilon=1.35, tol=1e-10, max_iter=1000).fit(X, y)
    mine = PdproxRegressor(
        alpha=1e-9, penalty="l2", loss=Huber(delta=1.35 * theirs.scale_), tol=1e-10
    ).fit(X, y)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)


class HalvedL1(Norm):
    """A user's penalty, ||w||_1 / 2, with the three methods that a norm needs."""

    def value(self, w):
        return float(np.abs(w).sum()) / 2

    def prox(self, w, step):
        return np.sign(w) * np.maximum(np.abs(w) - np.asarray(step) / 2, 0)

    def dual_norm(self, v):
        return 2 * float(np.abs(v).max())


def test_a_penalty_of_the_user(cancer):
    X, y = cancer
    mine = PdproxSVC(alpha=0.04, penalty=HalvedL1(), tol=1e-4, max_iter=50_000).fit(X, y)
    theirs = PdproxSVC(alpha=0.02, tol=1e-6).fit(X, y)
    assert mine.certificate_.dual <= theirs.certificate_.primal
    assert theirs.certificate_.dual <= mine.certificate_.primal
    assert mine.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_warm_start(estimator, cancer, regression):
    """With a smooth loss, fits take Newton steps of one kind with a start and without."""
    X, y = regression if estimator is PdproxRegressor else cancer
    loss = "huber" if estimator is PdproxRegressor else "logistic"
    model = estimator(alpha=0.02, tol=1e-6, loss=loss, warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ == 0
    assert model.set_params(alpha=0.019).fit(X, y).n_iter_ < cold
    assert model.fit(X[:, :5], y).converged_  # another shape starts afresh
    without = model.fit(X, y).set_params(fit_intercept=False).fit(X, y)
    fresh = estimator(alpha=0.019, tol=1e-6, loss=loss, fit_intercept=False).fit(X, y)
    assert not np.any(without.intercept_)
    assert without.certificate_.primal >= fresh.certificate_.dual
    assert fresh.certificate_.primal >= without.certificate_.dual


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


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_float32_is_never_copied(layout, rng):
    """Neither fit nor predict allocates memory on the scale of X."""
    X = layout(rng.normal(size=(20_000, 100)).astype(np.float32))
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes
    y = rng.integers(0, 2, 20_000)
    model = PdproxSVC(alpha=0.1, tol=0.5)
    tracemalloc.start()
    model.fit(X, y)
    model.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 8 MB of data beside vectors of 160 kB, some dozens of them alive at a time
    assert peak < 0.75 * size


def test_verbose_prints_the_interval(cancer, capsys):
    X, y = cancer
    PdproxSVC(alpha=0.02, tol=1e-8, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5 and all("lower bound" in line for line in [*lines[:-3], lines[-1]])
    assert "converged after" in lines[-3] and "reaches all of what any model" in lines[-2]


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
    assert len(printed[2]) == sum(map(len, histories)) + 3 * len(histories)
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


# Bad input

ALL = [
    DRSVMClassifier, ElasticNetPD, ElasticNetPDCV, ElasticNetPDClassifier, GroupLassoSVC,
    LassoPDCertified, LassoPDCertifiedCV, PdproxRegressor, PdproxSVC, TraceNormPD,
]  # fmt: skip


@pytest.mark.parametrize("estimator", ALL)
def test_y_must_be_given(estimator, cancer):
    X, y = cancer
    fitted = estimator().set_params(tol=0.5)
    message = "requires y to be passed, but the target y is None"
    with pytest.raises(ValueError, match=f"This {estimator.__name__} estimator {message}"):
        fitted.fit(X, None)
    if estimator is not TraceNormPD:
        with pytest.raises(ValueError, match=message):
            regularization_path(fitted, X, None)
        with pytest.raises(ValueError, match=f"certify {message}"):
            certify(fitted.fit(X, y), X, None)
    with pytest.raises(ValueError, match=r"y must hold numbers alone .* got None in row 0"):
        fitted.fit(X, [None, *y[1:]])


@pytest.mark.parametrize("estimator", ALL)
def test_bools_are_not_numbers(estimator, cancer):
    """Only a parameter that is a switch, or verbose, may be True."""
    X, y = cancer
    flags = {"fit_intercept", "positive", "warm_start", "verbose"}
    for name in set(estimator().get_params()) - flags:
        with pytest.raises(InvalidParameterError, match=rf"'{name}' parameter of.*Got True inst"):
            estimator(**{name: True}).fit(X, y)
    numbers = {"tol": np.float32(0.5), "max_iter": np.int64(30), "verbose": False}
    estimator(**numbers, fit_intercept=np.True_).fit(X, y)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", [PdproxSVC(), PdproxRegressor(fit_intercept=False)])
def test_large_arrays_must_be_finite(estimator, dtype, order, rng):
    """Which a product shows, unless their row is without weight or a residual there."""
    X = np.array(rng.normal(size=(33_000, 32)), dtype=dtype, order=order)
    y = (X[:, 0] > 0).astype(float)
    for bad, message in ((np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")):
        for row, weight in ((0, 1.0), (int(np.argmin(y)), 1.0), (20_000, 0.0)):
            stained = X.copy(order="K")
            stained[row, 7] = bad
            sample_weight = np.ones(len(y))
            sample_weight[row] = weight
            with pytest.raises(ValueError, match=message):
                estimator.fit(stained, y, sample_weight)


def test_large_arrays_whose_products_overflow_are_finite(rng):
    X = rng.normal(size=(33_000, 32))
    X[:, 3] = 1.7e308
    y = rng.normal(size=len(X))
    with pytest.warns(ConvergenceWarning), np.errstate(all="ignore"):
        fit = PdproxRegressor(max_iter=2).fit(X, y)
    assert np.isfinite(fit.coef_).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("weights, message", [
    (lambda n: -np.ones(n), "[Nn]egative"),
    (lambda n: np.zeros(n), "zero"),
    (lambda n: np.full(n, np.nan), "NaN"),
    (lambda n: np.ones(n - 1), "inconsistent|shape"),
    (lambda n: np.full(n, 1e306), "finite sum"),
])  # fmt: skip
def test_bad_weights(estimator, weights, message, cancer):
    X, y = cancer
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y, sample_weight=weights(len(y)))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_one_class(estimator, cancer):
    X, y = cancer
    with pytest.raises(ValueError, match="2 classes"):
        estimator().fit(X, np.ones_like(y))
    with pytest.raises(ValueError, match="2 classes"):
        estimator().fit(X, y, sample_weight=y)


@pytest.mark.parametrize("estimator, parameters, message", [
    *[(e, {"alpha": a}, "'alpha' parameter") for e in ESTIMATORS
      for a in (-1.0, np.nan, np.inf, "x")],
    *[(e, {"alpha": a}, "'alpha' parameter") for e in ESTIMATORS if not e._fits_alpha_0
      for a in (0, 0.0)],
    *[(e, {"loss": "log"}, "'loss' parameter") for e in ESTIMATORS],
    *[(e, {"solver": "newton"}, "'solver' parameter") for e in ESTIMATORS],
    *[(e, {"tol": -1.0}, "'tol' parameter") for e in ESTIMATORS],
    *[(e, {"max_iter": 0}, "'max_iter' parameter") for e in ESTIMATORS],
    (PdproxSVC, {"penalty": "l3"}, "'penalty' parameter.*'l2_norm'"),
    (PdproxSVC, {"penalty": ["l1"]}, "'penalty' parameter"),
    (PdproxSVC, {"loss": Huber()}, "'loss' parameter"),
    (PdproxRegressor, {"loss": Hinge()}, "'loss' parameter"),
    (PdproxSVC, {"penalty": L1}, "'penalty' parameter.*must be an object, got the class L1"),
    (PdproxSVC, {"class_weight": "even"}, "'class_weight' parameter"),
    (PdproxSVC, {"class_weight": {0: -1.0}}, "'class_weight' parameter"),
    (PdproxSVC, {"class_weight": {0: np.nan}}, "'class_weight' parameter"),
    (PdproxSVC, {"class_weight": {0: 1e306, 1: 1e306}}, "finite sum"),
    (PdproxSVC, {"solver_options": {"average": True}}, "got 'average'"),
    (GroupLassoSVC, {"groups": 7}, "divide the number of features, 30"),
    (GroupLassoSVC, {"groups": [[0, 1], [1, 2]]}, "overlap"),
    (GroupLassoSVC, {"groups": [[0, 1], [2, 3]]}, "miss"),
    (GroupLassoSVC, {"groups": [10, 10]}, "number of features, 30, .* with the sum 20"),
    (GroupLassoSVC, {"groups": 3, "group_weights": [1.0]}, "10 finite numbers"),
], ids=str)  # fmt: skip
def test_bad_parameters_are_named(estimator, parameters, message, cancer):
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(*cancer)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("case", [
    "constant column", "duplicate columns", "zero X", "one feature", "two samples",
    "1e-8 and 1e8",
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_degenerate_data_get_a_valid_certificate(estimator, case):
    """Converged or not, the interval holds the optimum that HiGHS finds."""
    X, y = make_classification(40, 6, random_state=0)
    if case == "constant column":
        X[:, 2] = 3.0
    elif case == "duplicate columns":
        X[:, 2] = X[:, 4]
    elif case == "zero X":
        X[:] = 0.0
    elif case == "one feature":
        X = X[:, :1]
    elif case == "two samples":
        X, y = X[:2], np.array([0, 1])
    X_fit = X * 10.0 ** np.array([-8, 8, 0, -8, 8, 0]) if case == "1e-8 and 1e8" else X
    target = y * 2.0 - 1
    model = estimator(alpha=0.05, max_iter=5000).fit(X_fit, target)
    certificate = model.certificate_
    assert np.isfinite([certificate.primal, certificate.dual]).all()
    assert 0 <= certificate.dual <= certificate.primal
    loss = model._get_loss()
    if case != "1e-8 and 1e8":  # no solver can be trusted with these
        value = linear_programme(X, target, np.full(len(y), 1 / len(y)), loss, L1(), 0.05, True)
        assert certificate.dual <= value + 1e-10 and value <= certificate.primal + 1e-10
        assert certificate.relative_gap <= 1e-4


def test_constant_targets_are_fitted_exactly():
    X = np.random.default_rng(0).normal(size=(30, 3))
    for loss in ("squared", "absolute", "huber", "pinball", "epsilon_insensitive"):
        model = PdproxRegressor(loss=loss).fit(X, np.full(30, 7.3))
        assert model.converged_ and not model.coef_.any()
        assert_allclose(model.predict(X), 7.3, atol=0.1 + 1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("alpha", [5e-324, 1e-3, 1e300])
@pytest.mark.parametrize(
    "model",
    [
        *(PdproxSVC(loss=loss, penalty=penalty) for loss, penalty in SMOOTH_AND_NOT),
        *(GroupLassoSVC(loss=loss) for loss in ("hinge", "logistic")),
        *(
            DRSVMClassifier(norm=norm, solver=s)
            for norm in (1, 2, np.inf)
            for s in ("auto", "isg")
        ),
        *(
            ElasticNetPDClassifier(l1_radius=radius, loss="smoothed_hinge")
            for radius in (None, 1.0, 1e-300, 1e300)
        ),
    ],
    ids=str,
)
def test_numbers_of_any_size(model, alpha, scale, rng):
    """What overflows ends a fit, with neither an error nor a bound above what w = 0 reaches."""
    X = rng.normal(size=(12, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=12) > 0.0, 1, -1)
    name = "epsilon" if isinstance(model, DRSVMClassifier) else "alpha"
    model = clone(model).set_params(max_iter=20, **{name: alpha}).fit(scale * X, y)
    certificate = model.certificate_
    assert 0.0 <= certificate.dual <= certificate.primal <= 1.0 + 1e-12  # every loss at z = 0
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    "model", [PdproxRegressor(loss="squared"), PdproxRegressor(loss="huber"), LassoPDCertified()]
)
def test_targets_whose_squares_overflow_are_refused(model, rng):
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    if model.get_params().get("loss") == "huber":
        model.set_params(loss=Huber(delta=1e200))
    with pytest.raises(
        ValueError, match=r"y must be on a smaller scale, got values up to .*e\+200"
    ):
        model.fit(X, 1e200 * y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_raw_features_with_the_squared_hinge_loss():
    """Rows are left out and come back here at once, which products have to follow."""
    X, y = load_digits(return_X_y=True)
    model = PdproxSVC(loss="squared_hinge", alpha=1 / len(X)).fit(X, y)
    assert np.all(model.converged_)
    margins = np.where(y[:, None] == np.arange(10), 1, -1) * model.decision_function(X)
    objectives = np.mean(np.maximum(0.0, 1.0 - margins) ** 2, axis=0)
    objectives += np.abs(model.coef_).sum(axis=1) / len(X)
    for value, certificate in zip(objectives, model.certificate_, strict=True):
        assert_allclose(certificate.primal, value, rtol=1e-9)
        assert certificate.dual <= value and certificate.relative_gap <= 1e-4

    label = np.where(y == 6, 1, -1)
    theirs = LinearSVC().fit(X, y == 6)  # penalises its intercept as well
    w, b = theirs.coef_[0], theirs.intercept_[0]
    value = np.mean(np.maximum(0.0, 1.0 - label * (X @ w + b)) ** 2)
    value += (w @ w + b * b) / (2 * len(X))
    certificate = certify(theirs, X, y == 6)
    assert_allclose(certificate.primal, value, rtol=1e-9)
    assert certificate.relative_gap <= 1e-3

    X, y = load_breast_cancer(return_X_y=True)
    model = PdproxSVC(0.01, loss="squared_hinge", tol=1e-14, max_iter=100).fit(X, y)
    slack = np.maximum(0.0, 1.0 - (2 * y - 1) * (X @ model.coef_[0] + model.intercept_))
    value = np.mean(slack**2) + 0.01 * np.abs(model.coef_).sum()
    assert_allclose(model.certificate_.primal, value, rtol=1e-12)
    assert model.certificate_.dual <= value and model.certificate_.relative_gap <= 1e-12


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", ["lasso", "pinball", "robust"])
def test_sizes_at_which_terms_vanish(case, rng):
    """Least squares, linear programmes and powers of ten tell the optimum without a fit."""
    X, rows = rng.normal(size=(30, 4)), np.full(30, 1 / 30)
    y = X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=30)
    if case == "lasso":  # the penalty is below rounding
        model = LassoPDCertified(0.1, max_iter=200).fit(X, 1e78 * y)
        best = np.linalg.lstsq(np.column_stack([X, np.ones(30)]), y)[1].item() / 60 * 1e156
    elif case == "pinball":  # the square of a norm is below the smallest float
        model = PdproxRegressor(0.1, loss="pinball", penalty="l2", max_iter=200)
        model.fit(X, 1e-200 * y)
        best = 1e-200 * linear_programme(X, y, rows, model._get_loss(), L1(), 0.0, True)
    else:  # flipping labels costs too much to be of use
        model = DRSVMClassifier(
            1e-100, kappa=1e300, norm=np.inf, fit_intercept=False, max_iter=200
        ).fit(1e-100 * X, np.sign(y))
        best = robust_linear_programme(
            X, np.sign(y), rows, epsilon=1.0, kappa=np.inf, norm=np.inf, fit_intercept=False
        )[0]
    certificate = model.certificate_
    assert 0.0 <= certificate.dual <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= certificate.primal < np.inf


def test_solver_names_the_method_that_finished(cancer):
    X, y = cancer
    assert PdproxSVC(0.02).fit(X, y).solver_ == "interior-point"
    assert PdproxSVC(0.02, loss="logistic").fit(X, y).solver_ == "multipliers"
    assert PdproxSVC(100.0).fit(X, y).solver_ == "null-model"
    assert PdproxSVC(0.02, solver="pdprox-dual", tol=0.1).fit(X, y).solver_ == "pdprox-dual"
    assert DRSVMClassifier(0.02).fit(X, y).solver_ == "interior-point"
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    assert PdproxSVC(0.02).fit(X, three).solver_ == ["interior-point"] * 3
    outputs = np.column_stack([y, X[:, 1]])
    assert TraceNormPD(1e-3).fit(X, outputs).solver_ == "interior-point"
    model = TraceNormPD(1e-3, radius=0.1).fit(X, outputs)
    assert model.solver_ == "line-search-frank-wolfe"
