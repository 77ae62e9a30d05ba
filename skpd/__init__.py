"""scikit-learn estimators for regularised linear models, each fit with a certificate."""

from ._version import VERSION, show_versions
from .certificates import Certificate
from .certificates.rigorous import RigorousCertificate
from .designs import RowBlocks
from .estimators.block_scaler import BlockScaler
from .estimators.boosting import LPBoostClassifier
from .estimators.chains import ChainCRF, ChainM3N
from .estimators.coefficient_table import coef_table
from .estimators.counts_and_costs import GammaPD, PoissonPD, TweediePD
from .estimators.displays import GapDisplay
from .estimators.elastic_net import ElasticNetPD, ElasticNetPDClassifier, ElasticNetPDCV
from .estimators.group_lasso import GroupLassoPD, GroupLassoSVC
from .estimators.groups import groups_from
from .estimators.kernel_machines import KernelPdproxRegressor, KernelPdproxSVC
from .estimators.lasso import LassoPDCertified, LassoPDCertifiedCV
from .estimators.logistic import LogisticPD
from .estimators.matrix_completion import MatrixCompletionPD
from .estimators.multi_task import MultiTaskPD, MultiTaskPDCV
from .estimators.multinomial import MultinomialPD
from .estimators.multiple_kernels import MKLClassifier, MKLRegressor
from .estimators.multivariate import MultivariateSVC
from .estimators.ordinal import OrdinalPD
from .estimators.path import path
from .estimators.path_cv import PathCV
from .estimators.quantiles import QuantilePD
from .estimators.regression import PdproxRegressor
from .estimators.regularization_path import RegularizationPath
from .estimators.robust_grid import robust_grid
from .estimators.robust_svm import DRSVMClassifier
from .estimators.sourced import sourced
from .estimators.survival import CoxPD
from .estimators.svm import PdproxSVC
from .estimators.trace_norm import TraceNormPD
from .foreign.certify import certify

__all__ = [
    "BlockScaler",
    "Certificate",
    "ChainCRF",
    "ChainM3N",
    "CoxPD",
    "DRSVMClassifier",
    "ElasticNetPD",
    "ElasticNetPDCV",
    "ElasticNetPDClassifier",
    "GammaPD",
    "GapDisplay",
    "GroupLassoPD",
    "GroupLassoSVC",
    "KernelPdproxRegressor",
    "KernelPdproxSVC",
    "LPBoostClassifier",
    "LassoPDCertified",
    "LassoPDCertifiedCV",
    "LogisticPD",
    "MKLClassifier",
    "MKLRegressor",
    "MatrixCompletionPD",
    "MultiTaskPD",
    "MultiTaskPDCV",
    "MultinomialPD",
    "MultivariateSVC",
    "OrdinalPD",
    "PathCV",
    "PdproxRegressor",
    "PdproxSVC",
    "PoissonPD",
    "QuantilePD",
    "RegularizationPath",
    "RigorousCertificate",
    "RowBlocks",
    "TraceNormPD",
    "TweediePD",
    "certify",
    "coef_table",
    "groups_from",
    "path",
    "robust_grid",
    "show_versions",
    "sourced",
]

__version__ = VERSION
