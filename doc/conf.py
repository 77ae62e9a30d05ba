"""Sphinx configuration: ``sphinx-build -W doc doc/_build``.

The build asks no other machine for anything, and neither does a reader's browser: inventories
of other projects are files of `inventories/`, formulas are MathML, and the theme brings its fonts.
"""

import os
import sys
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

from skpd import __version__

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "skpd"
copyright = "2026, the skpd developers"
release = version = __version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",  # for CHANGELOG.md, which a page includes
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # of this folder
    "benchmark_tables",
    "changelog",
    "figures",
    "mathml",
    "shared_parameters",
    "short_references",
]
exclude_patterns = ["_build"]
default_role = "py:obj"
nitpicky = True  # a reference that leads nowhere is a warning
# estimators of packages without an inventory here, which the page of `skpd.certify` lists
FOREIGN = [
    "CoxEstimator", "CoxPHFitter", "CoxPHSurvivalAnalysis", "CoxTimeVaryingFitter",
    "CoxnetSurvivalAnalysis", "GLM",
    "GeneralizedLinearEstimator", "GeneralizedLinearRegressor", "GroupLasso", "LogisticAT",
    "Logit", "QuantReg", "SparseLogisticRegression", "WeightedLasso",
]  # fmt: skip
nitpick_ignore = [
    *(("py:obj", name) for name in FOREIGN),
    # a label of scikit-learn's guide, in the first line of a method that is inherited from it
    ("std:ref", "accuracy_score"),
]
highlight_language = "none"  # blocks of code name their language, formulas in docstrings do not
templates_path = ["templates"]
suppress_warnings = [
    "myst.header",  # a part of a file may begin at any level
    "autosummary.import_cycle",  # api.rst shows skpd.dask.NAME in full, as NAME is there as well
]

# What it looks like

html_theme = "pydata_sphinx_theme"
html_title = "skpd"
html_favicon = "static/favicon.svg"
# of the version that is being built, where Read the Docs builds it
html_baseurl = os.environ.get(
    "READTHEDOCS_CANONICAL_URL", "https://skpd.readthedocs.io/en/latest/"
)
html_context = {"site": html_baseurl}  # for templates/layout.html
html_static_path = ["static"]
html_css_files = ["skpd.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "skpd",
        "alt_text": "skpd",
        "image_light": "static/logo.svg",
        "image_dark": "static/logo_dark.svg",
    },
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "icon_links": [
        {
            "name": "Source code",
            "url": "https://github.com/skpd/skpd",
            "icon": "fa-brands fa-github",
        },
        {
            "name": "Ask a question or report a problem",
            "url": "https://github.com/skpd/skpd/issues",
            "icon": "fa-solid fa-circle-question",
        },
    ],
    "header_links_before_dropdown": 6,
    "show_nav_level": 2,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
# of pages that are no part of a section, whose contents are on the right
html_sidebars = {
    name: [] for name in ("index", "getting_started", "coming_from", "benchmarks", "whats_new")
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The reference

autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings say it in words
numpydoc_class_members_toctree = False
# All checks but those of an extended summary, a See Also section and an example everywhere (ES01,
# SA01, SA04, EX01), of parameters and attributes that are described together, by their class or as
# those of another estimator (PR01 to PR04, PR07), of results without a name or with one (RT01,
# RT02, RT03), of descriptions that may begin with a symbol (SS02, PR08), of third persons, for
# which it takes any word that ends with an s (SS05), and of overridden methods (GL08).
numpydoc_validation_checks = {
    "all", "ES01", "SA01", "SA04", "EX01", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT02",
    "RT03", "SS02", "PR08", "SS05", "YD01", "GL08",
}  # fmt: skip
# fields of named tuples, whose docstrings Python writes
numpydoc_validation_exclude = {
    rf"\.{name}\." for name in ("FreeFeatures", "Attempt", "Rule", "Method", "SolverContext")
}
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
# words of types that link elsewhere than numpydoc's own aliases, or nowhere
numpydoc_xref_aliases = {
    **{word: word for word in ("array-like", "iterable", "sequence", "generator", "scalar")},
    "bool": ":class:`python:bool`",
    "ndarray": "numpy.ndarray",
    "RandomState": "numpy.random.RandomState",
    "Certificate": "skpd.Certificate",
    "Certificates": "skpd.Certificates",
    "RigorousCertificate": "skpd.RigorousCertificate",
    "Loss": "skpd.losses.Loss",
    "MarginLoss": "skpd.losses.MarginLoss",
    "ResidualLoss": "skpd.losses.ResidualLoss",
    "Penalty": "skpd.penalties.Penalty",
}
numpydoc_xref_ignore = "all"  # words that are no alias are words

# Local inventories: the second entry of each pair is a file here, so that nothing is downloaded
intersphinx_mapping = {
    name: (url, f"inventories/{name}.txt")
    for name, url in {
        "python": "https://docs.python.org/3/",
        "numpy": "https://numpy.org/doc/stable/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "sklearn": "https://scikit-learn.org/stable/",
        "pandas": "https://pandas.pydata.org/docs/",
        "matplotlib": "https://matplotlib.org/stable/",
        "dask": "https://docs.dask.org/en/stable/",
        "distributed": "https://distributed.dask.org/en/stable/",
    }.items()
}

# The gallery

# Of each section; examples that are not named here come last
READING_ORDER = [
    "plot_election_survey.py",
    "plot_topic_words.py",
    "plot_doctor_visits.py",
    "plot_food_spending.py",
    "plot_label_noise.py",
    "plot_missing_pixels.py",
    # more examples
    "plot_first_certificate.py",
    "plot_linear_svc_converged.py",
    "plot_certify.py",
    "plot_three_penalties.py",
    "plot_grid_search_pipeline.py",
    "plot_path_cv.py",
    "plot_probing_embeddings.py",
    "plot_proven_zeros.py",
    "plot_probabilities.py",
    "plot_robust_svm.py",
    "plot_constraints.py",
    "plot_adaptive_lasso.py",
    "plot_digits_rows.py",
    "plot_multi_label.py",
    "plot_own_loss.py",
    # experiments of papers
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
    "ignore_pattern": r"make_notebooks\.py",  # a tool, no example
    "backreferences_dir": "generated/examples",
    "doc_module": ("skpd",),
    "min_reported_time": 1e6,
    "write_computation_times": False,  # a page that would need scripts of other sites
}
