"""Estimators and `certify` for Dask collections, whose rows the workers of a cluster hold.

The module requires dask and distributed: ``pip install 'skpd[dask]'``.
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "skpd.dask needs dask and distributed, which are not installed: pip install 'skpd[dask]'"
    ) from error

from .certify import certify
from .communication import Communication
from .models import (
    ElasticNetPD,
    ElasticNetPDClassifier,
    GroupLassoSVC,
    LassoPDCertified,
    PdproxRegressor,
    PdproxSVC,
)

__all__ = [
    "Communication",
    "ElasticNetPD",
    "ElasticNetPDClassifier",
    "GroupLassoSVC",
    "LassoPDCertified",
    "PdproxRegressor",
    "PdproxSVC",
    "certify",
]
