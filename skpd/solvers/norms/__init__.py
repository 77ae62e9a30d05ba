"""Solvers for penalties V(||w||), by a sequence of problems with the norm itself."""

from .slopes import by_slopes

__all__ = ["by_slopes"]
