"""Attack targets one after the other: ``python -m fuzz [NAME …] [--seconds 10]``."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TARGETS = (
    "arrow_batches",
    "bounds_files",
    "csv_files",
    "json_schemas",
    "ledger_entries",
    "ledger_files",
    "model_files",
    "query_requests",
    "table_files",
)
FINDINGS = Path("fuzz-findings")
"""Where inputs are kept that a target did not survive."""


def main() -> None:
    """Attack the targets named on the command line, or all; fail if there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=10, help="for each target")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(TARGETS))
    if unknown:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    outcomes = [attack(name, given.seconds) for name in given.names or TARGETS]
    raise SystemExit(0 if all(outcomes) else 1)


def attack(name: str, seconds: int) -> bool:
    """Attack one target in a process of its own, print how often, and tell if it survived."""
    FINDINGS.mkdir(exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={FINDINGS}/{name}-"]
    with tempfile.TemporaryDirectory() as corpus:
        done = subprocess.run(
            [sys.executable, "-m", "fuzz.harness", name, corpus, *options],
            capture_output=True,
            text=True,
            errors="replace",
        )
    counted = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    executions = int(counted[1]) if counted else 0
    survived = done.returncode == 0 and executions > 0
    print(f"{name}: {executions} executions, {'no finding' if survived else 'A FINDING'}")
    if not survived:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
    return survived


if __name__ == "__main__":
    main()
