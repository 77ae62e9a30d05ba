"""GapDisplay and the plot of a path."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import GapDisplay, LassoPDCertified, MultinomialPD, PdproxSVC, regularization_path


@pytest.fixture(scope="module")
def model():
    X, y = load_breast_cancer(return_X_y=True)
    return PdproxSVC(alpha=0.02).fit(StandardScaler().fit_transform(X), y)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("x", ["seconds", "n_iter"])
def test_curves_are_the_history(model, x):
    display = GapDisplay.from_estimator(model, x=x, name="l1 SVM", color="black")
    (line,) = display.lines_
    gap = np.where(model.gap_history_["gap"] > 0, model.gap_history_["gap"], np.nan)
    assert_array_equal(line.get_xdata(), model.gap_history_[x])
    assert_array_equal(line.get_ydata(), gap)
    above, below = display.axes_
    assert above.get_yscale() == "log" and above.get_title() == "l1 SVM"
    assert_array_equal(below.lines[0].get_ydata(), model.gap_history_["primal"])
    assert_array_equal(below.lines[1].get_ydata(), model.gap_history_["dual"])
    assert below.get_xlabel() == {"seconds": "seconds", "n_iter": "iterations"}[x]


def test_given_axes_and_one_panel(model):
    _, ax = plt.subplots()
    display = GapDisplay.from_estimator(model, ax=ax, kind="gap")
    assert display.axes_[0] is ax and display.figure_ is ax.figure
    with pytest.raises(ValueError, match="ax must hold 2 axes"):
        GapDisplay.from_estimator(model, ax=ax)


def test_the_iterates_beside_the_gap(model):
    display = GapDisplay.from_estimator(model, kind="iterates", x="n_iter")
    gap, points = display.axes_[0].lines
    history = model.gap_history_
    assert_array_equal(points.get_ydata(), history["iterate_primal"] - history["dual"][-1])
    assert points.get_linestyle() == "None" and points.get_color() == gap.get_color()


def test_one_curve_for_each_class():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = PdproxSVC(alpha=0.02, tol=1e-2).fit(X, y)
    display = GapDisplay.from_estimator(model)
    assert len(display.lines_) == 3
    names = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert names == [f"PdproxSVC, class {k}" for k in range(3)]


@pytest.mark.parametrize("kind", ["both", "gap", "interval", "iterates"])
def test_ten_classes_can_be_told_apart(kind):
    """Names beside the axes, a colour for each, and no areas over areas."""
    X, y = load_digits(return_X_y=True)
    model = PdproxSVC(alpha=0.1, tol=1e-2).fit(X[:200], y[:200])
    display = GapDisplay.from_estimator(model, kind=kind, x="n_iter")
    axis, figure = display.axes_[0], display.figure_
    figure.canvas.draw()
    legend = axis.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == display.names
    assert legend.get_window_extent().x0 >= axis.get_window_extent().x1
    assert legend.get_window_extent().x1 <= figure.bbox.x1
    colours = {line.get_color() for line in legend.get_lines()}
    assert len(colours) == len(display.names) == 10
    assert not any(panel.collections for panel in display.axes_)


def test_axes_of_ones_own_keep_the_names_inside():
    X, y = load_digits(return_X_y=True)
    model = PdproxSVC(alpha=0.1, tol=1e-2).fit(X[:200], y[:200])
    _, ax = plt.subplots()
    display = GapDisplay.from_estimator(model, ax=ax, kind="gap")
    display.figure_.canvas.draw()
    assert ax.get_legend().get_window_extent().x1 <= ax.get_window_extent().x1


def test_a_single_interval_has_a_title_and_its_area(model):
    (axis,) = GapDisplay.from_estimator(model, kind="interval").axes_
    assert axis.get_title() == "PdproxSVC" and axis.get_legend() is None
    assert len(axis.collections) == 1 and axis.get_yscale() == "linear"


@pytest.mark.parametrize("arguments, message", [
    ({"x": "time"}, "x must be one of"), ({"kind": "all"}, "kind must be one of"),
])  # fmt: skip
def test_bad_arguments(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        GapDisplay.from_estimator(model, **arguments)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        GapDisplay.from_estimator(PdproxSVC())
    with pytest.raises(NotFittedError):
        GapDisplay.from_estimator(make_pipeline(StandardScaler(), PdproxSVC()))


def test_the_model_inside_pipelines_and_searches(model):
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), PdproxSVC(alpha=0.02)).fit(X, y)
    search = GridSearchCV(pipeline, {"pdproxsvc__alpha": [0.02]}, cv=2).fit(X, y)
    for wrapper, inner in ((pipeline, pipeline[-1]), (search, search.best_estimator_[-1])):
        display = GapDisplay.from_estimator(wrapper, x="n_iter")
        assert display.histories[0] is inner.gap_history_ and display.names == ["PdproxSVC"]
        assert_array_equal(inner.coef_, model.coef_)


def test_models_without_a_history_are_not_called_unfitted(model):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(TypeError, match=r"gap_history_.*got sklearn\.linear_model\.Ridge"):
        GapDisplay.from_estimator(Ridge().fit(X, y))


def test_a_path_has_a_curve_for_each_feature():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    found = regularization_path(LassoPDCertified(), X, y, alphas=12)
    ax = found.plot(n_named=3, linestyle=":")
    assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == ("log", "alpha", "coefficient")
    last = found.coefs[-1]
    largest = np.argsort(-np.abs(found.coefs).max(axis=0))[:3]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    in_order = largest[np.argsort(-last[largest])]
    assert names == [X.columns[j] for j in in_order]
    curves = {line.get_label(): line for line in ax.lines}
    for j in in_order:
        line = curves[X.columns[j]]
        assert_array_equal(line.get_xdata(), found.alphas)
        drawn = ~np.isnan(line.get_ydata())
        assert_array_equal(line.get_ydata()[drawn], found.coefs[drawn, j])
        assert not found.coefs[~drawn, j].any() and line.get_linestyle() == ":"
    assert len(ax.lines) == np.count_nonzero(found.coefs.any(axis=0)) + 1  # and that at 0


def test_a_path_of_several_classes_is_drawn_by_norms():
    X, y = load_iris(return_X_y=True)
    found = regularization_path(MultinomialPD(penalty="l21"), X, y, alphas=5)
    _, given = plt.subplots()
    ax = found.plot(given, feature_names=list("abcd"))
    assert ax is given and ax.get_ylabel() == "norm of the coefficients"
    (line,) = (line for line in ax.lines if line.get_label() == "c")
    norms = np.linalg.norm(found.coefs[:, :, 2], axis=1)
    assert_allclose(line.get_ydata()[norms > 0], norms[norms > 0])
    with pytest.raises(ValueError, match="must hold 4 names, got 2"):
        found.plot(feature_names=["a", "b"])


def test_plots_say_that_they_need_matplotlib(monkeypatch):
    found = regularization_path(LassoPDCertified(), *load_diabetes(return_X_y=True), alphas=[1.0])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"RegularizationPath\.plot requires matplotlib"):
        found.plot()
