"""Estimators and `certify` for Dask collections, whose rows the workers of a cluster hold.

The module requires dask and distributed: ``pip install 'dask[array]' distributed``.
"""

from importlib.util import find_spec

if not (find_spec("dask") and find_spec("distributed")):
    raise ImportError(
        "skpd.dask needs dask and distributed, which are not installed: "
        "pip install 'dask[array]' distributed"
    )

from .certify import certify
from .communication_counts import Communication
from .models import (
    ElasticNetPD,
    ElasticNetPDClassifier,
    GammaPD,
    GroupLassoSVC,
    LassoPDCertified,
    LogisticPD,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    TweediePD,
)

__all__ = [
    "Communication", "ElasticNetPD", "ElasticNetPDClassifier", "GammaPD", "GroupLassoSVC",
    "LassoPDCertified", "LogisticPD", "PdproxRegressor", "PdproxSVC", "PoissonPD", "TweediePD",
    "certify",
]  # fmt: skip
