"""Conditional gradient methods."""
