"""Pickles of estimators that hold the version of the package."""

from typing import Any

from .._version import VERSION
from .._warn import warn
from .representation import ShownEstimator


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
                f"anew, or install skpd {pickled_by}.",
            )
        super().__setstate__(state)
