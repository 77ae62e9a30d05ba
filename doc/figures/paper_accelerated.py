"""Accelerated gradients of Zhang et al. in primal and dual variables, L given and searched."""

from gap_curves import gap_figure, relative_gaps
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skpd import ElasticNetPDClassifier

METHODS = {
    "primal": {},
    "smoothed dual": {"variables": "dual"},
    "dual": {"variables": "dual", "smoothing": "none"},
}


def draw(palette):
    X, y = load_breast_cancer(return_X_y=True)
    X, panels = scale(X), []
    for title, adaptive in (("L given", False), ("L searched", True)):
        model = ElasticNetPDClassifier(
            0.01, l1_ratio=0.5, loss="hinge", solver="agm", fit_intercept=False, tol=1e-4,
            max_iter=6000, random_state=0,
        )  # fmt: skip
        curves = {
            name: relative_gaps(
                model.set_params(solver_options={"adaptive": adaptive, **options}), X, y
            )
            for name, options in METHODS.items()
        }
        panels.append((title, "gradients", curves))
    return gap_figure(palette, panels, "certified relative gap", lowest=5e-5)
