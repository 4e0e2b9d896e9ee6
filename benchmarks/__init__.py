"""Measurements of privclust: ``python -m benchmarks NAME``."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # for the planted mutations
