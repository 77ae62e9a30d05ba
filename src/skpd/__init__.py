"""scikit-learn estimators for regularised linear models, each fit with a certificate."""

from importlib.metadata import version

from .certificates import Certificate
from .lasso import LassoPDCertified, LassoPDCertifiedCV
from .plotting import GapDisplay
from .regression import PdproxRegressor
from .regularization import RegularizationPath, path
from .svm import GroupLassoSVC, PdproxSVC

__all__ = [
    "Certificate",
    "GapDisplay",
    "GroupLassoSVC",
    "LassoPDCertified",
    "LassoPDCertifiedCV",
    "PdproxRegressor",
    "PdproxSVC",
    "RegularizationPath",
    "path",
]

__version__ = version("skpd")
