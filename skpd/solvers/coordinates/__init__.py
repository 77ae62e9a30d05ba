"""Coordinate descent, of the primal and of the dual."""
