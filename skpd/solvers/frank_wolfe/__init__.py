"""Conditional gradient methods."""

from .l1_ball import search_for_multiplier  # which tells `skpd.solvers.select` of its methods

__all__ = ["search_for_multiplier"]
