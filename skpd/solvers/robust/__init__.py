"""Methods for the distributionally robust SVM."""

from .select import working_sets  # which tells `skpd.solvers.select` of its methods

__all__ = ["working_sets"]
