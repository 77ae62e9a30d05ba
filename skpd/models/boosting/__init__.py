"""Boosting by linear programming: hypotheses, restricted problems and column generation."""
