"""Other people's code, in an environment of its own: shown beside ours, marked with what is wrong.

diffprivlib spends up to 2.9 times the epsilon it is given (128 columns) and skips empty clusters
without noise (docs/benchmarks.md). It does not import beside scikit-learn 1.9.
"""

from __future__ import annotations

import atexit
import pickle
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.data import Dataset
from benchmarks.environments import python_with
from privclust.kernels.grid import FloatArray

NEEDS = ("diffprivlib==0.6.6", "scikit-learn<1.9")
WORKER = Path(__file__).with_name("diffprivlib_worker.py")


def diffprivlib(data: Dataset, epsilon: float, seed: int) -> FloatArray:
    """Return the centres that diffprivlib's KMeans finds between the table's public bounds."""
    worker = _worker()
    request = (data.rows, data.n_clusters, epsilon, data.half_width, seed)
    pickle.dump(request, worker.stdin)
    worker.stdin.flush()
    centers: FloatArray = pickle.load(worker.stdout)  # our own process, made a moment ago
    return centers


def prepare() -> Path:
    """Make the environment, once, and return its Python."""
    return python_with(NEEDS, "diffprivlib")


@cache
def _worker() -> Any:
    """Start a process that fits until this one ends."""
    # Isolated: files beside the worker, such as csv.py, would hide the standard library's.
    command = [str(prepare()), "-I", str(WORKER)]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(worker.kill)
    return worker
