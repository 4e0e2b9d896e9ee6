"""Generated tables as people have them, for `benchmarks/robustness.py`."""
