"""Figures 2 and 8 of Yang et al.: averages and last iterates, one step size and two."""

from gap_curves import excesses, gap_figure
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skpd import PdproxSVC

LAST = {"algorithm": 3, "average": False}
METHODS = {
    "Algorithm 1": ("pdprox-dual", {}),
    "Algorithm 2": ("pdprox-primal", {}),
    "Algorithm 3, last": ("pdprox-dual", LAST),
    "two steps, last": ("pdprox-dual", {**LAST, "step_ratio": 10.0}),
}


def draw(palette):
    X, y = load_breast_cancer(return_X_y=True)
    X, panels = scale(X), []
    models = [
        ("hinge loss, group lasso", {"alpha": 0.01, "penalty": "group", "groups": 10}),
        ("hinge loss, squared l2 norm", {"alpha": len(y) ** -0.5, "penalty": "l2"}),
    ]
    for title, own in models:
        model = PdproxSVC(fit_intercept=False, max_iter=1000, **own)
        optimum = model.set_params(tol=1e-9).fit(X, y).certificate_.dual
        model.set_params(tol=0.0)
        curves = {
            name: excesses(model.set_params(solver=solver, solver_options=options), X, y, optimum)
            for name, (solver, options) in METHODS.items()
        }
        panels.append((title, "iterations", curves))
    return gap_figure(palette, panels, "excess over the optimum")
