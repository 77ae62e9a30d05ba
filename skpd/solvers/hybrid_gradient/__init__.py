"""Primal-dual proximal methods."""
