"""Conditional gradient methods.

Their import registers what `skpd.solvers.select` tries over an l1 ball.
"""

from .l1_ball import search_for_multiplier

__all__ = ["search_for_multiplier"]
