"""Certified gaps of published algorithms and of the default, iteration by iteration."""

from gap_curves import gap_figure, relative_gaps
from sklearn.datasets import load_breast_cancer, make_regression
from sklearn.preprocessing import scale

from skpd import ElasticNetPD, PdproxSVC


def draw(palette):
    """An l1 support vector machine on the left, an elastic net on the right."""
    common = {"tol": 1e-6, "random_state": 0}
    regression = make_regression(200, 400, n_informative=20, noise=10.0, random_state=0)
    panels = [
        ("hinge loss, l1 norm", load_breast_cancer(return_X_y=True), ["auto", "pdprox-dual"],
         PdproxSVC(alpha=0.01, max_iter=5000, **common)),
        ("elastic net", regression, ["auto", "agm", "cd", "approx"],
         ElasticNetPD(alpha=5.0, l1_ratio=0.9, **common)),
    ]  # fmt: skip
    shown = []
    for title, (X, y), solvers, model in panels:
        curves = {
            f'"{solver}"': relative_gaps(model.set_params(solver=solver), scale(X), y)
            for solver in solvers
        }
        shown.append((title, "iterations", curves))
    return gap_figure(palette, shown, "certified relative gap")
