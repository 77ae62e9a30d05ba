"""Methods for the distributionally robust SVM.

The import of this package registers them with `skpd.solvers.select`.
"""

from .select import working_sets

__all__ = ["working_sets"]
