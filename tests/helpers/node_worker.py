"""A worker as an owner runs it, but more patient. Run as a script: POLICY [WORD].

With the word "repeatable", its noise is one that tests can repeat; with "held", its jobs stop where
a test kills them; with "told", they write down what noise they draw.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from privclust.node.policy.policy_file import read_policy
from privclust.node.workers.worker import COMMAND, Pace, run_worker, stop_on_signal

JOBS = {
    "repeatable": "node_job.py",
    "held": "node_held_job.py",
    "told": "node_told_job.py",
}
PACE = Pace(poll=0.05, lease=5.0, grace=90.0, closing=60.0)
"""With much grace, because on a busy machine a process takes seconds to start."""

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    path = Path(sys.argv[1])
    words = [word for word in sys.argv[2:] if word in JOBS]
    scripts = [(sys.executable, str(Path(__file__).with_name(JOBS[word]))) for word in words]
    command = scripts[0] if scripts else COMMAND
    run_worker(read_policy(path), path, stop_on_signal(), PACE, command)
