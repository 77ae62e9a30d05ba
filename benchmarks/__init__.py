"""Benchmarks and long checks: ``python -m benchmarks NAME``."""
