"""scikit-learn estimators for regularised linear models, each fit with a certificate."""

from importlib.metadata import version

from .certificates import Certificate
from .plotting import GapDisplay
from .regression import PdproxRegressor
from .svm import GroupLassoSVC, PdproxSVC

__all__ = ["Certificate", "GapDisplay", "GroupLassoSVC", "PdproxRegressor", "PdproxSVC"]

__version__ = version("skpd")
