"""A worker as an owner runs it, but for noise that tests can repeat. Run as a script: POLICY."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from privclust.node.policy import read_policy
from privclust.node.worker import Pace, run_worker, stop_on_signal

JOB = str(Path(__file__).with_name("node_job.py"))
PACE = Pace(poll=0.05, lease=5.0, grace=90.0, closing=60.0)
"""With much grace, because on a busy machine a process takes seconds to start."""

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    path = Path(sys.argv[1])
    run_worker(read_policy(path), path, stop_on_signal(), PACE, (sys.executable, JOB))
