"""Algorithms as their papers print them, which a user selects by name."""
