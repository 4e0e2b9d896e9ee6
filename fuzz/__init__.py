"""Coverage-guided attacks on everything that reads what others wrote."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # for helpers
