"""scikit-learn estimators for regularised linear models, each fit with a certificate."""

from ._version import VERSION, show_versions
from .certificates import Certificate, Certificates
from .certificates.rigorous import RigorousCertificate
from .designs import RowBlocks
from .estimators.counts import PoissonPD
from .estimators.elastic_net import ElasticNetPD, ElasticNetPDClassifier
from .estimators.gamma_tweedie import GammaPD, TweediePD
from .estimators.group_lasso import GroupLassoPD, GroupLassoSVC
from .estimators.lasso import LassoPDCertified
from .estimators.logistic import LogisticPD
from .estimators.multi_task import MultiTaskPD
from .estimators.multinomial import MultinomialPD
from .estimators.quantiles import QuantilePD
from .estimators.regression import PdproxRegressor
from .estimators.svm import PdproxSVC
from .estimators.trace_norm import TraceNormPD
from .foreign.certify import certify
from .inspection.coefficient_table import coef_table
from .inspection.displays import GapDisplay
from .model_selection.lasso_cv import ElasticNetPDCV, LassoPDCertifiedCV
from .model_selection.multi_task_cv import MultiTaskPDCV
from .model_selection.path import regularization_path
from .model_selection.path_cv import PathCV
from .model_selection.regularization_path import RegularizationPath
from .models.boosting.classifier import LPBoostClassifier
from .models.completion.estimator import MatrixCompletionPD
from .models.kernel_machines.estimators import KernelPdproxRegressor, KernelPdproxSVC
from .models.kernel_machines.multiple_kernels import MKLClassifier, MKLRegressor
from .models.metric.classifier import MetricSVC
from .models.ordinal.classifier import OrdinalPD
from .models.robust.classifier import DRSVMClassifier
from .models.sequences.estimators import ChainCRF, ChainM3N
from .models.survival.cox import CoxPD
from .preprocessing.column_sources import track_columns
from .preprocessing.groups import feature_groups
from .preprocessing.standard_scaler import BlockScaler

__all__ = [
    "BlockScaler",
    "Certificate",
    "Certificates",
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
    "MetricSVC",
    "MultiTaskPD",
    "MultiTaskPDCV",
    "MultinomialPD",
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
    "feature_groups",
    "regularization_path",
    "show_versions",
    "track_columns",
]

__version__ = VERSION
