"""Measurements of privclust: ``python -m benchmarks NAME``."""
