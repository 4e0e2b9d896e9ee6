"""Keep figures when code changed and results did not: ``python -m benchmarks.restamp``.

The fits of `benchmarks/probes.py` are made by the code of the working tree and compared with the
baseline (`benchmarks/baseline.py`). Where all agree bit for bit, figures that were current at the
baseline are marked as made by the code of today. One bit that differs, and nothing is marked.
Results of planted mutations are not marked: they are planted again.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import baseline
from benchmarks.pieces import RESULTS
from benchmarks.probes import bits

MARKED, CURRENT, OLDER = "marked as of today's code", "of today's code before", "older"


def main() -> None:
    """Compare the working tree with the baseline, and mark what may be kept."""
    kept, found = baseline.read(), bits()
    differing = [
        name for name in {**kept["bits"], **found} if kept["bits"].get(name) != found.get(name)
    ]
    print(f"{len(found)} probes, {len(differing)} that differ from {kept['revision'][:12]}")
    if differing:
        sys.exit(f"nothing was marked: other bits in {', '.join(differing)}")
    now = baseline.codes()
    equal = _equal_codes(kept, now)
    baseline.write(kept)
    for name in sorted({key.partition("/")[0] for key in equal}):
        counted = mark(name, equal, now)
        kinds = ", ".join(f"{counted[kind]} {kind}" for kind in (MARKED, CURRENT, OLDER))
        print(f"{name}: {kinds}")


def mark(name: str, equal: dict[str, Collection[str]], now: dict[str, str]) -> Counter[str]:
    """Mark the figures of one file that code of equal results made, and count all of them.

    Parameters
    ----------
    name : str
        The file.
    equal : dict
        For each file and method, the codes that gave the results of the baseline.
    now : dict
        For each file and method, the code of today.
    """
    file = RESULTS / f"{name}.parquet"
    table = pq.read_table(file)
    codes, counted = [], Counter[str]()
    for method, code in zip(*(table[part].to_pylist() for part in ("method", "code")), strict=True):
        today, equals = now[f"{name}/{method}"], code in equal.get(f"{name}/{method}", ())
        codes.append(today if equals else code)
        counted[CURRENT if code == today else MARKED if equals else OLDER] += 1
    if counted[MARKED]:
        place = table.column_names.index("code")
        pq.write_table(table.set_column(place, "code", pa.array(codes)), file)
    return counted


def _equal_codes(kept: dict[str, Any], now: dict[str, str]) -> dict[str, Collection[str]]:
    """Return the codes that gave the baseline's results, and note today's among them.

    So figures that were marked once are marked again after the next change.
    """
    marked = kept["marked"]
    for key, code in kept["codes"].items():
        if now[key] not in (code, *marked.get(key, ())):
            marked.setdefault(key, []).append(now[key])
    return {key: (code, *marked.get(key, ())) for key, code in kept["codes"].items()}


if __name__ == "__main__":
    main()
