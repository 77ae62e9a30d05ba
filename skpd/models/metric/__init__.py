"""Classifiers for one score of all decisions, such as F1 or an area under a curve."""
