"""What the code of one revision gave, kept to compare with: ``python -m benchmarks.baseline``.

The bits of all probes, and for all kept figures which code makes them and how many were current.
`benchmarks/restamp.py` compares later code with it, on the same machine with the same libraries.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks import audit_mutations
from benchmarks.pieces import RESULTS
from benchmarks.probes import bits

MODULES = {
    **{
        name: name
        for name in (
            *("audit", "embeddings", "federated", "mixed", "quality", "refit", "reproduce"),
            *("robustness", "series", "stability", "thesis", "topics", "utility"),
        )
    },
    "histories": "audit_histories",
}
"""Files of results, and the module whose ``code_of`` says which code makes them."""
BASELINE = Path("baseline.json")
"""Where it is kept, among the results."""


def main() -> None:
    """Make all probes and keep what they gave."""
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=RESULTS, capture_output=True, check=True, text=True
    )
    now = codes()
    write(
        {
            "revision": revision.stdout.strip(),
            "bits": bits(),
            "codes": now,
            "rows": {**{name: _counted(name, now) for name in MODULES}, "mutations": _mutations()},
            "marked": {},
        }
    )


def codes() -> dict[str, str]:
    """Return the digest of the code that makes each kept figure, by file and method.

    Mutations have none here: their results are made again instead of compared.
    """
    return dict(_codes())


def read() -> dict[str, Any]:
    """Return the baseline."""
    found: dict[str, Any] = json.loads((RESULTS / BASELINE).read_text())
    return found


def write(baseline: dict[str, Any]) -> None:
    """Keep a baseline."""
    (RESULTS / BASELINE).write_text(json.dumps(baseline, indent=1) + "\n")


def _codes() -> Iterator[tuple[str, str]]:
    for name, module in MODULES.items():
        code_of: Callable[[str], str] = import_module(f"benchmarks.{module}").code_of
        for method in _column(name, "method").unique().to_pylist():
            yield f"{name}/{method}", code_of(method)


def _counted(name: str, now: dict[str, str]) -> dict[str, int]:
    """Return how many figures of one file are current, and how many older."""
    methods, codes = (_column(name, part).to_pylist() for part in ("method", "code"))
    pairs = zip(methods, codes, strict=True)
    current = sum(now[f"{name}/{method}"] == code for method, code in pairs)
    return {"current": current, "older": len(codes) - current}


def _mutations() -> dict[str, int]:
    """Return how many results of mutations are current, and how many older."""
    current = len(audit_mutations.current())
    return {"current": current, "older": len(_column("mutations", "code")) - current}


def _column(name: str, part: str) -> Any:
    return pq.read_table(RESULTS / f"{name}.parquet", columns=[part])[part]


if __name__ == "__main__":
    main()
