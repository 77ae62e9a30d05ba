"""Accelerated gradient methods."""
