"""Regularisation paths, and the choice of parameters by cross-validation."""
