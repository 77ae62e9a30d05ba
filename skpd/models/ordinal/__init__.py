"""Ordered classes: thresholds between them, and the ordinary problem of all thresholds."""
