"""Displays and tables of fitted models."""
