"""scikit-learn estimators for regularised linear models, each fit with a certificate."""

from importlib.metadata import version

from ._certify import certify
from ._rigorous import RigorousCertificate
from .certificates import Certificate
from .drsvm import DRSVMClassifier
from .lasso import LassoPDCertified, LassoPDCertifiedCV
from .plotting import GapDisplay
from .regression import PdproxRegressor
from .regularization import RegularizationPath, path
from .svm import GroupLassoSVC, PdproxSVC

__all__ = [
    "Certificate",
    "DRSVMClassifier",
    "GapDisplay",
    "GroupLassoSVC",
    "LassoPDCertified",
    "LassoPDCertifiedCV",
    "PdproxRegressor",
    "PdproxSVC",
    "RegularizationPath",
    "RigorousCertificate",
    "certify",
    "path",
]

__version__ = version("skpd")
