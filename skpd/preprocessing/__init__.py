"""Scalers, and transformers whose features know the columns that they come from."""
