"""Conditional gradient methods.

The import of this package registers the methods that `skpd.solvers.select` tries for an l1 ball.
"""

from .l1_ball import search_for_multiplier

__all__ = ["search_for_multiplier"]
