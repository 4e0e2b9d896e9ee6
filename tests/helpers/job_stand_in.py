"""A job's process without a fit: the request says what happens instead. Run as a script.

The policy is a JSON file with what a node's process needs of one.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from privclust.node.jobs.job import Job
from privclust.node.workers.fork_server import serve
from privclust.node.workers.job_process import main
from privclust.privacy.ledger.journal import LedgerError

COMMAND = (sys.executable, __file__)
SECRET = "the patient of row 42"


def write_policy(path: Path, ledger: str, lanes: int = 1, max_memory_gib: float = 4) -> Path:
    """Write what `read_policy` below reads."""
    path.write_text(
        json.dumps({"ledger": ledger, "lanes": lanes, "max_memory_gib": max_memory_gib}),
        encoding="utf-8",
    )
    return path


def read_policy(path: Path) -> Any:
    return SimpleNamespace(node=SimpleNamespace(**json.loads(path.read_text(encoding="utf-8"))))


def run_job(policy: Any, job: Job, wait: Callable[[], None]) -> str:
    """Do what the request says."""
    request = json.loads(job.request)
    with open(request["began"], "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {time.time()}\n")
    for stream in (1, 2):
        os.write(stream, SECRET.encode())
    match request["do"]:
        case "finish":
            wait()
        case "wait and tell":
            wait()
            with open(request["began"], "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()} {time.time()}\n")
        case "raise":
            raise ArithmeticError(SECRET)
        case "lose the ledger":
            raise LedgerError(SECRET)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "fill memory":
            bytearray(2**40)
        case "hang":
            subprocess.Popen(
                [sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL
            )
            time.sleep(600)
    return json.dumps(
        {
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "memory": resource.getrlimit(resource.RLIMIT_AS),
            "dumpable": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),
            "leaked": job.lease in str((sys.argv, dict(os.environ))),
            "waited until": time.time(),
        }
    )


if __name__ == "__main__":
    sys.exit(serve(lambda arguments: main(arguments, read_policy, run_job), lambda: None))
