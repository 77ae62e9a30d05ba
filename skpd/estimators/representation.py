"""How estimators are shown in notebooks: links to their documentation, readable certificates."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._version import documentation
from ..certificates import Certificate

__all__ = ["ShownEstimator"]


class _Text:
    """What is printed as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class ShownEstimator(BaseEstimator):
    """An estimator whose HTML representation is as helpful as those of scikit-learn's own.

    With the address of the documentation, scikit-learn makes of each parameter and attribute a
    link to its description, and of that description, by its numpydoc entry, a tooltip.
    """

    _doc_link_module = "skpd"

    @property
    def _doc_link_template(self) -> str:
        """The address of an estimator's page; none where the documentation's is not known."""
        address = documentation()
        return f"{address}/generated/skpd.{{estimator_name}}.html" if address else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"estimator_name": type(self).__name__}

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """With certificates, histories and names in whole: scikit-learn cuts out their middle."""
        shown = super()._get_fitted_attr_html(doc_link)
        for name, entry in shown.items():
            value = entry["value"]
            lines = [_in_words(each) for each in (value if isinstance(value, list) else [value])]
            if lines and None not in lines:
                text = lines if isinstance(value, list) else lines[0]
                kind = entry["type_name"]
                shown[name] = {"type_name": kind, "value": np.array(text, dtype=object)}
        return shown


def _in_words(value: Any) -> _Text | None:
    """What is shown of a certificate, a history or a name, None for anything else."""
    if isinstance(value, (Certificate, str)):
        return _Text(str(value))
    if isinstance(value, np.ndarray) and value.dtype.names:
        return _Text(f"{len(value)} rows of {', '.join(value.dtype.names)}")
    return None
