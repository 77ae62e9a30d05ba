"""Coordinate descent methods for the primal and the dual problem."""
