"""Keep figures when code changed and results did not: ``python -m benchmarks.restamp REVISION``.

The fits of `benchmarks/probes.py` are made with seeded noise by the code of a revision and by that
of the working tree. Where all of them agree bit for bit, figures that were current at the revision
are marked as made by the code of today. One bit that differs, and nothing is marked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.pieces import RESULTS

ROOT = Path(__file__).parents[1]


def main(revision: str) -> None:
    """Compare the working tree with a revision, and mark what may be kept."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", revision, "src", "benchmarks"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        before, now = _probed(Path(folder)), _probed(ROOT)
    differing = [name for name, bits in before["bits"].items() if now["bits"][name] != bits]
    print(f"{len(before['bits'])} probes, {len(differing)} with other bits")
    if differing:
        sys.exit(f"nothing was marked: other bits in {', '.join(differing)}")
    for name in sorted({key.partition("/")[0] for key in before["codes"]}):
        print(f"{name}: {mark(name, before['codes'], now['codes'])} marked as of today's code")


def mark(name: str, before: dict[str, str], now: dict[str, str]) -> int:
    """Mark the figures of one file that were current, and return how many."""
    file = RESULTS / f"{name}.parquet"
    table = pq.read_table(file)
    codes, marked = [], 0
    for method, code in zip(*(table[part].to_pylist() for part in ("method", "code")), strict=True):
        key = f"{name}/{method}"
        current = before.get(key) == code != now.get(key)
        codes.append(now[key] if current else code)
        marked += current
    place = table.column_names.index("code")
    if marked:
        pq.write_table(table.set_column(place, "code", pa.array(codes)), file)
    return marked


def _probed(checkout: Path) -> dict[str, dict[str, str]]:
    """Return what the probes of today say with the code of a checkout."""
    paths = os.pathsep.join([str(checkout / "src"), str(checkout)])
    done = subprocess.run(
        [sys.executable, "-P", str(Path(__file__).with_name("probes.py"))],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
