"""Data, models, contenders and tables that several benchmarks share."""
