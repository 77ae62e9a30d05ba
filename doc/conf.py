"""Sphinx configuration: ``sphinx-build -W doc doc/_build``."""

from sphinx_gallery.sorting import ExplicitOrder

from skpd import __version__

project = "skpd"
copyright = "2026, the skpd developers"
release = version = __version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Linear models, each with a certificate of its accuracy.",
    "page_width": "1100px",
    "sidebar_width": "240px",
}
default_role = "py:obj"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
autodoc_default_options = {"members": True, "inherited-members": False}
autodoc_member_order = "bysource"
templates_path = ["templates"]
# Examples that are not named here come last
READING_ORDER = [
    "plot_first_certificate.py",
    "plot_linear_svc_converged.py",
    "plot_certify.py",
    "plot_three_penalties.py",
    "plot_one_hot_groups.py",
    "plot_grid_search_pipeline.py",
    "plot_path_cv.py",
    "plot_proven_zeros.py",
    "plot_probabilities.py",
    "plot_quantiles.py",
    "plot_label_noise.py",
    "plot_robust_svm.py",
    "plot_constraints.py",
    "plot_adaptive_lasso.py",
    "plot_digits_rows.py",
    "plot_multi_label.py",
    "plot_own_loss.py",
    "plot_lasso_rates.py",
    "plot_school.py",
    "plot_ratings.py",
    "plot_incremental_methods.py",
    "plot_block_frank_wolfe.py",
    "*",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": ExplicitOrder(READING_ORDER),
    "backreferences_dir": "generated/examples",
    "doc_module": ("skpd",),
    "min_reported_time": 1e6,
}
