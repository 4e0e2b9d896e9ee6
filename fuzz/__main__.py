"""Attack targets one after the other: ``python -m fuzz [NAME …] [--seconds 10 | --inputs N]``."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TARGETS = (
    "approval_files",
    "arrow_batches",
    "bounds_files",
    "cohort_requests",
    "csv_files",
    "json_schemas",
    "ledger_entries",
    "ledger_files",
    "model_files",
    "node_requests",
    "query_requests",
    "table_files",
)
FINDINGS = Path("fuzz-findings")
"""Where inputs are kept that a target did not survive."""


def main() -> None:
    """Attack the targets named on the command line, or all; fail if there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TARGETS))
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=int, default=10, help="for each target")
    length.add_argument("--inputs", type=int, help="for each target, the same every time")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(TARGETS))
    if unknown:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    if given.inputs:
        until = ["-seed=1", f"-runs={given.inputs}"]
    else:
        until = [f"-max_total_time={given.seconds}"]
    outcomes = [attack(name, until) for name in given.names or TARGETS]
    raise SystemExit(0 if all(outcomes) else 1)


def attack(name: str, until: list[str]) -> bool:
    """Attack one target in a process of its own, print how often, and tell if it survived."""
    FINDINGS.mkdir(exist_ok=True)
    options = [*until, f"-artifact_prefix={FINDINGS}/{name}-"]
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
