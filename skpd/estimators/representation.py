"""Representations of estimators: in notebooks, with links and certificates, and in pickles."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._version import VERSION, documentation
from .._warn import warn
from ..certificates import Certificate, Certificates


class Text:
    """Object whose representation is a given text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class ShownEstimator(BaseEstimator):
    """Base class of estimators with an HTML representation as helpful as those of scikit-learn.

    From the address of the documentation, scikit-learn makes links from parameters and attributes
    to their descriptions, and tooltips of their numpydoc entries.
    """

    _doc_link_module = "skpd"

    @property
    def _doc_link_template(self) -> str:
        """The address of an estimator's page; empty where the documentation has no address."""
        address = documentation()
        return f"{address}/generated/skpd.{{estimator_name}}.html" if address else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"estimator_name": type(self).__name__}

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """The HTML of fitted attributes, with certificates, histories and names in full."""
        shown = super()._get_fitted_attr_html(doc_link)
        for name, entry in shown.items():
            value = entry["value"]
            several = isinstance(value, list | Certificates)
            lines = [_in_words(each) for each in (value if several else [value])]
            if lines and None not in lines:
                text = lines if several else lines[0]
                kind = entry["type_name"]
                shown[name] = {"type_name": kind, "value": np.array(text, dtype=object)}
        return shown


def _in_words(value: object) -> Text | None:
    """The text for a certificate, a history or a name; None for other values."""
    if isinstance(value, (Certificate, str)):
        return Text(str(value))
    if isinstance(value, np.ndarray) and value.dtype.names:
        return Text(f"{len(value)} rows of {', '.join(value.dtype.names)}")
    return None


class PickledWithVersion(ShownEstimator):
    """Base class of estimators whose pickles hold the version, as those of scikit-learn do.

    Another version that loads such a pickle warns: attributes and parameters may have other names
    or meanings there.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_skpd_version": VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        pickled_by = state.pop("_skpd_version", "before 0.1")
        if pickled_by != VERSION:
            name = type(self).__name__
            warn(
                f"This {name} was pickled by skpd {pickled_by} and is loaded by skpd {VERSION}, "
                "whose parameters and attributes may differ: it may fail or be wrong. Fit it "
                f"anew, or install skpd {pickled_by}."
            )
        super().__setstate__(state)
