"""How estimators are shown: docstrings that tooltips are made of, links, certificates in whole."""

import inspect
from email.message import Message

import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Lasso
from sklearn.utils import estimator_html_repr

import skpd
from skpd import DRSVMClassifier, PdproxSVC, _version
from skpd.estimators import representation

PUBLIC = [kind for kind in map(skpd.__dict__.get, skpd.__all__) if kind is not skpd.BlockScaler]
ESTIMATORS = [kind for kind in PUBLIC if hasattr(kind, "fit")]


@pytest.fixture
def entries_of():
    """The reader of docstrings that scikit-learn has for tooltips."""
    module = pytest.importorskip(
        "sklearn.utils._repr_html.common", reason="scikit-learn has tooltips from 1.9 on"
    )
    return module.scrape_estimator_docstring


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_parameter_has_one_entry_of_its_own(kind, entries_of):
    """In the order of the signature, with a type and a description, as for every attribute."""
    doc = entries_of(inspect.getdoc(kind))
    assert [entry.name for entry in doc["Parameters"]] == [*inspect.signature(kind).parameters]
    assert all(entry.type and entry.desc for entry in doc["Parameters"])
    names = [entry.name for entry in doc["Attributes"]]
    assert all(name.isidentifier() and name.endswith("_") for name in names)
    assert len(names) == len(set(names)) > 3


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_links_lead_to_the_page_of_the_class(kind, monkeypatch):
    estimator = kind(Lasso()) if kind is skpd.PathCV else kind()
    monkeypatch.setattr(representation, "documentation", lambda: "https://address.example")
    link = f"https://address.example/generated/skpd.{kind.__name__}.html"
    assert estimator._get_doc_link() == link
    own = type("Own", (kind,), {"__module__": "elsewhere"})  # whose documentation is not here
    assert own.__new__(own)._get_doc_link() == ""
    monkeypatch.setattr(representation, "documentation", lambda: "")
    assert estimator._get_doc_link() == ""


@pytest.mark.usefixtures("entries_of")
def test_html_has_tooltips_and_certificates_in_whole(iris, monkeypatch):
    X, y = iris
    monkeypatch.setattr(representation, "documentation", lambda: "https://address.example")
    binary = DRSVMClassifier().fit(X, y == 2)
    shown = estimator_html_repr(binary)
    assert "Radius of the Wasserstein ball" in shown  # of the parameter
    assert "The interval that holds the optimal objective value." in shown  # of the attribute
    assert "skpd.DRSVMClassifier.html#:~:text=epsilon" in shown
    assert " ".join(str(binary.certificate_).split()) in " ".join(shown.split())
    assert f"{len(binary.gap_history_)} rows of n_iter, seconds" in shown
    assert binary.solver_ in shown
    several = PdproxSVC().fit(X, y)
    shown = " ".join(estimator_html_repr(several).split())
    for certificate in several.certificate_:
        assert " ".join(str(certificate).split()) in shown


@pytest.mark.usefixtures("entries_of")
def test_html_without_an_address(iris, monkeypatch):
    monkeypatch.setattr(representation, "documentation", lambda: "")
    shown = estimator_html_repr(PdproxSVC().fit(*iris))
    assert "param-doc-description" not in shown.split("<style>")[-1].split("</style>")[-1]
    assert "Documentation for PdproxSVC" not in shown and "certificate_" in shown


@pytest.mark.parametrize(
    "entries, address",
    [
        ([], ""),
        (["Source, https://one.example"], ""),
        (["Source, https://one.example", "Documentation, https://two.example/"],
         "https://two.example"),
        (["documentation,https://three.example/en/stable"], "https://three.example/en/stable"),
    ],
)  # fmt: skip
def test_the_address_is_that_of_the_metadata(entries, address, monkeypatch):
    message = Message()
    for entry in entries:
        message["Project-URL"] = entry
    monkeypatch.setattr(_version, "metadata", lambda name: message)
    _version.documentation.cache_clear()
    assert _version.documentation() == address
    _version.documentation.cache_clear()


def test_signatures_are_short_enough_to_read():
    for name in skpd.__all__:
        assert len(str(inspect.signature(getattr(skpd, name)))) < 800
    for kind in ESTIMATORS:
        signature = str(inspect.signature(kind.fit))
        assert "ArrayLike" in signature and len(signature) < 220


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
def test_attributes_described_are_those_of_a_fit(iris, entries_of):
    """But for what belongs to options, of the estimators whose entries repeat those of others."""
    X, y = iris
    of_groups = {"feature_names_in_", "groups_", "latent_coef_"}
    for model, y_, optional in (
        (skpd.GroupLassoSVC(groups=[[0, 1], [2, 3]]), y, of_groups),
        (skpd.ElasticNetPDClassifier(), y, {"feature_names_in_"}),
        (skpd.ElasticNetPDCV(alphas=3, cv=2), X[:, 0], {"feature_names_in_"}),
        (skpd.MultiTaskPDCV(alphas=3, cv=2), X[:, :2], {"feature_names_in_", "tasks_"}),
        (DRSVMClassifier(), y, {"feature_names_in_"}),
    ):
        entries = entries_of(inspect.getdoc(type(model)))["Attributes"]
        model.fit(X, y_)
        assert {entry.name for entry in entries if not hasattr(model, entry.name)} == optional
