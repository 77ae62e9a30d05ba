"""Figure 2 of Dünner et al.: the gaps of iterates and their averages, lasso and SVM."""

from gap_curves import gap_figure, relative_gaps_of_iterates
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skpd import LassoPDCertified, PdproxSVC

METHODS = {
    "CD": ("cd", {"average": False}),
    "CD, average of all": ("cd", {"burn_in": 0.0}),
    "APPROX": ("approx", None),
}


def draw(palette):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X), 2.0 * y - 1.0
    common = {"fit_intercept": False, "tol": 1e-9, "max_iter": 1000, "random_state": 0}
    alpha = 0.1 * max(abs(X.T @ y)) / len(y)
    models = [
        ("lasso, primal", LassoPDCertified(alpha, **common)),
        ("SVM, dual", PdproxSVC(1.0 / len(y), penalty="l2", **common)),
    ]
    panels = []
    for title, model in models:
        curves = {
            name: relative_gaps_of_iterates(
                model.set_params(solver=solver, solver_options=options), X, y
            )
            for name, (solver, options) in METHODS.items()
        }
        panels.append((title, "epochs", curves))
    return gap_figure(palette, panels, "relative gap of the iterate")
