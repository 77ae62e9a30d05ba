"""Methods for the distributionally robust SVM.

Their import registers what `skpd.solvers.select` chooses for it.
"""

from .select import working_sets

__all__ = ["working_sets"]
