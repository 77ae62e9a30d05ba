"""scikit-learn estimators for regularised linear models, each fit with a certificate."""

from importlib.metadata import version

from .certificates import Certificate
from .certificates.rigorous import RigorousCertificate
from .drsvm import DRSVMClassifier
from .elastic_net import ElasticNetPD, ElasticNetPDClassifier, ElasticNetPDCV
from .foreign.certify import certify
from .lasso import LassoPDCertified, LassoPDCertifiedCV
from .plotting import GapDisplay
from .regression import PdproxRegressor
from .regularization import RegularizationPath, path
from .svm import GroupLassoSVC, PdproxSVC
from .trace_norm import TraceNormPD

__all__ = [
    "Certificate",
    "DRSVMClassifier",
    "ElasticNetPD",
    "ElasticNetPDCV",
    "ElasticNetPDClassifier",
    "GapDisplay",
    "GroupLassoSVC",
    "LassoPDCertified",
    "LassoPDCertifiedCV",
    "PdproxRegressor",
    "PdproxSVC",
    "RegularizationPath",
    "RigorousCertificate",
    "TraceNormPD",
    "certify",
    "path",
]

__version__ = version("skpd")
