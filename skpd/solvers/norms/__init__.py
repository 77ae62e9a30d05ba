"""Penalties that are convex functions of a norm, by models with the norm itself."""

from .slopes import by_slopes

__all__ = ["by_slopes"]
