"""Figure 3 of Lei et al. on generated data: the steps of the theory and the line search."""

import numpy as np
from gap_curves import gap_figure, relative_gaps

from skpd import ElasticNetPDClassifier

METHODS = {"steps of the theory": {}, "line search": {"step_size": "line-search"}}


def draw(palette):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 200)) / np.sqrt(200)
    y = np.where(X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=500) > 0, 1, -1)
    panels = []
    for ridge in (10.0, 100.0):
        model = ElasticNetPDClassifier(
            ridge / 500, l1_ratio=0.0, l1_radius=20.0, loss="smoothed_hinge", solver="pdbfw",
            fit_intercept=False, tol=1e-6, max_iter=3000,
        )  # fmt: skip
        curves = {
            name: relative_gaps(model.set_params(solver_options=options), X, y)
            for name, options in METHODS.items()
        }
        panels.append((f"ridge {ridge:g} / n", "iterations", curves))
    return gap_figure(palette, panels, "certified relative gap")
