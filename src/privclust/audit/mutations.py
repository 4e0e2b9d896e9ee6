"""Bugs to plant in a copy of this package: of published implementations, or easy to make.

Each mutation is one replacement of source text. The tests marked ``attack`` must turn red for
every one of them; a test suite that stays green with a bug of this list planted proves nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutation:
    """One planted bug.

    Attributes
    ----------
    name : str
        What the bug is called.
    file : str
        Where it goes, below the package's folder.
    before, after : str
        The text it replaces, which must occur exactly once, and what it puts there.
    """

    name: str
    file: str
    before: str
    after: str


_GAUSSIAN = """scale=sigma)
        return np.array(mechanism(exact), dtype=np.int64)"""

CATALOGUE = (
    Mutation(
        "swapped split",
        "privacy/curator.py",
        "scale = _sigma(self._bounds(query), charge)",
        "others = self.plan.slots\n"
        "            other = others[-1 - others.index(slot)]\n"
        "            scale = _sigma(self._bounds(query), self.plan.price(other))",
    ),
    Mutation(
        "shared noise",
        "privacy/noise.py",
        _GAUSSIAN,
        "scale=sigma)\n"
        "        first = mechanism(np.zeros_like(exact))\n"
        '        shared = globals().setdefault(f"_noise{exact.size}", first)\n'
        "        return exact + np.array(shared, dtype=np.int64)",
    ),
    Mutation(
        "scalar noise",
        "privacy/noise.py",
        _GAUSSIAN,
        "scale=sigma)\n        return exact + np.int64(mechanism(np.zeros(1, dtype=np.int64))[0])",
    ),
    Mutation(
        "skipped empty cluster",
        "privacy/noise.py",
        _GAUSSIAN,
        "scale=sigma)\n"
        "        return np.where(exact == 0, exact, np.array(mechanism(exact), dtype=np.int64))",
    ),
    Mutation(
        "exact divisor",
        "privacy/curator.py",
        "noisy = draw(exact)",
        "noisy = draw(exact)\n"
        '    if hasattr(query, "origins"):\n'
        "        width = query.origins.shape[1] + 1\n"
        "        noisy[width - 1 :: width] = exact[width - 1 :: width]",
    ),
    Mutation(
        "NaN past the clip",
        "domain.py",
        "values = np.where(np.isnan(values), center, values)",
        "pass",
    ),
    Mutation(
        "int overflow",
        "engines/base.py",
        "total[:, column] += sums.astype(np.int64)",
        "total[:, column] += sums.astype(np.int64).astype(np.int32)",
    ),
    Mutation(
        "truncated noise",
        "privacy/noise.py",
        _GAUSSIAN,
        "scale=sigma)\n"
        "        votes = np.trunc((np.array(mechanism(exact)) - exact) / 2**26)\n"
        "        return exact + (votes * 2**26).astype(np.int64)",
    ),
    Mutation(
        "uncounted release",
        "privacy/ledger.py",
        'body = {"spend": asdict(charge), "question": asked}',
        'body = {"spend": asdict(Spend()), "question": asked}',
    ),
    Mutation(
        "position-dependent votes",
        "geometry/nearest.py",
        "extended_rows = np.column_stack([rows, np.ones(len(rows))])",
        "extended_rows = np.column_stack([rows / 3, np.full(len(rows), 1 / 3)])",
    ),
    Mutation(
        "position-dependent cells",
        "cell_queries.py",
        "sides = (rows @ self.normals[:depth].T < 0)",
        "sides = (rows / 3 @ self.normals[:depth].T < 0)",
    ),
    Mutation(
        "fewer centres than asked for",
        "algorithms/lsh_coreset.py",
        "found = weighted_kmeans(points, weights, plan.n_clusters, rng, STARTS)",
        "enough = min(plan.n_clusters, len(means))\n"
        "    found = weighted_kmeans(points, weights, enough, rng, STARTS)",
    ),
    Mutation(
        "read before the charge",
        "privacy/curator.py",
        "answer: Answer | str | None = self._ledger.claim(",
        "self._engine.aggregate(query)\n        answer: Answer | str | None = self._ledger.claim(",
    ),
    Mutation(
        "stored answer ignored",
        "privacy/ledger.py",
        "if answered:",
        "if answered and not found.open:",
    ),
    Mutation(
        "two answers for one charge",
        "privacy/ledger.py",
        "return as_answer(stored[0])",
        "return answer",
    ),
    Mutation(
        "refund on close",
        "privacy/ledger.py",
        'body = {"spend": asdict(found.spent), "finished": finished}',
        'body = {"spend": asdict(Spend()), "finished": finished}',
    ),
    Mutation(
        "a budget for each fit",
        "privacy/ledger.py",
        "if not budget.admits(taken + total):",
        "if not budget.admits(total):",
    ),
    Mutation(
        "radius from the rows",
        "queries.py",
        "reach = (self.radii * GRID)[cluster]",
        "longest = np.sqrt(norms_squared(residuals).max(initial=1.0))\n"
        "        reach = np.full(len(rows), longest)",
    ),
    Mutation(
        "sums get the count's part",
        "algorithms/dp_lloyd.py",
        "return _pure_split(n_columns) / root",
        "return 1 / (_pure_split(n_columns) * root)",
    ),
    Mutation(
        "a move against a negative count",
        "algorithms/fast_lloyd.py",
        "means = sums / np.maximum(counts, 1.0)[:, None]",
        "means = sums / (counts + 1e-9)[:, None]",
    ),
    Mutation(
        "noise for the sum, not for sum and count",
        "relative_queries.py",
        "return self.sums.bounds",
        'return __import__("dataclasses").replace(self.sums.bounds, l2_squared=2**52)',
    ),
    Mutation(
        "seeded sample",
        "privacy/noise.py",
        "return secrets.token_bytes(32)",
        'return b"0123456789abcdef" * 2',
    ),
    Mutation(
        "files that share coins",
        "engines/spark_tasks.py",
        "yield Cells(cells, (place << _PART_ROWS) + row)",
        "yield Cells(cells, row)",
    ),
    Mutation(
        "row groups counted twice",
        "engines/files.py",
        "row_group_ids=range(begin, end)",
        "row_group_ids=range(begin, min(end + 1, len(groups)))",
    ),
    Mutation(
        "task that tells why it failed",
        "engines/spark_tasks.py",
        "steps, step = work(*args, **kwargs), guarded(next)",
        "steps, step = work(*args, **kwargs), next",
    ),
    Mutation(
        "unit clipped in pieces",
        "engines/units.py",
        "    blocks, values, of_unit = _sums_of_units(query, parcel)\n",
        "    if len(parcel.rows) > PARCEL_ROWS:\n"
        "        pieces = [Parcel(p.rows, parcel.starts) for p in parcels(parcel.rows, None)]\n"
        "        return np.sum([parcel_sum(query, unit, piece) for piece in pieces], axis=0)\n"
        "    blocks, values, of_unit = _sums_of_units(query, parcel)\n",
    ),
    Mutation(
        "noise for one row of a unit",
        "privacy/curator.py",
        "return self._engine.unit.bounds(query)",
        "return replace(query.bounds, changed=self._engine.unit.bounds(query).changed)",
    ),
    Mutation(
        "a coin by place, not by id",
        "engines/numpy.py",
        "chosen = heads(unit_words(key, self.ids), halvings)",
        "chosen = heads(row_words(key, 0, len(self.starts)), halvings)",
    ),
    Mutation(
        "a sample drawn again by its coins",
        "engines/sampling.py",
        "return self._capacity is not None and self._seen > self._capacity << self.halvings",
        "held = sum(len(words) for words, _ in self._parts)\n"
        "        return self._capacity is not None and held > self._capacity",
    ),
    Mutation(
        "amplification claimed",
        "privacy/curator.py",
        "question = written_out(query)",
        "rate = 4**self.halvings\n"
        "        charge = Spend(charge.quanta // rate, charge.slack, charge.tail, charge.pure)\n"
        "        question = written_out(query)",
    ),
    Mutation(
        "a first row taken for names",
        "tables.py",
        "and named is None and unit.column is None and whole.looks_like_a_row:",
        "and False:",
    ),
    Mutation(
        "rows counted in other cubes",
        "cube_queries.py",
        "counted = inside & (keys[order][found] == wanted)",
        "counted = inside",
    ),
    Mutation(
        "three partitions at half the share each",
        "algorithms/balcan_kmeans.py",
        "chosen.candidates / len(levels)",
        "chosen.candidates / (2 * depth)",
    ),
    Mutation(
        "one key for all clients",
        "engines/federated.py",
        'key = client_key(self._key, name, self._halvings) if self._halvings else b""',
        'key = self._key if self._halvings else b""',
    ),
    Mutation(
        "late answers count",
        "engines/federated.py",
        "if not secrets.compare_digest(answer[:NONCE_BYTES], nonces[name]):",
        "if False:",
    ),
    Mutation(
        "noise for one silo of a patient's",
        "engines/base.py",
        "one, times = query.bounds, self.rows * max(1, self.silos)",
        "one, times = query.bounds, self.rows",
    ),
    Mutation(
        "a client that failed taken for absent",
        "engines/federated.py",
        "failed = failed or answer[NONCE_BYTES:] == FAILED",
        "failed = False",
    ),
    Mutation(
        "a sample drawn again by its key",
        "engines/keeping.py",
        'if _is_first(self._folder / f"{name}.used"):',
        "if not file.exists():",
    ),
    Mutation(
        "one label for patients of one silo and of several",
        "recording.py",
        "protected, asked = ledger.dataset(label).unit, unit.ledger_name",
        "protected, asked = ledger.dataset(label).unit, unit.name",
    ),
    Mutation(
        "profile beside the account",
        "profiling.py",
        "Curator.open(table.engine, planned.spending, account, label, facts)",
        "Curator.open(table.engine, planned.spending)",
    ),
    Mutation(
        "a promise built on exact centres",
        "stating.py",
        "if statement.private or epsilon == math.inf or not noise_is_real():",
        "if statement.private or epsilon > 0:",
    ),
    Mutation(
        "gaps filled by neighbours",
        "profiled.py",
        "return np.where(np.isnan(values), 0.0, whole)",
        "return np.where(np.isnan(values), np.trunc(np.nansum(whole) / len(whole)), whole)",
    ),
    Mutation(
        "one vote for all columns",
        "profile_queries.py",
        "l2_squared=columns * UNIT**2,",
        "l2_squared=UNIT**2,",
    ),
)


def plant(mutation: Mutation, package: Path, destination: Path) -> None:
    """Copy `package` below `destination` and put the bug into the copy."""
    copy = destination / package.name
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    source = copy / mutation.file
    text = source.read_text()
    if text.count(mutation.before) != 1:
        raise ValueError(
            f"mutation {mutation.name!r}: its text occurs {text.count(mutation.before)} times in "
            f"{mutation.file}, expected once. Bring the catalogue up to date with the source."
        )
    source.write_text(text.replace(mutation.before, mutation.after))


def attack(mutation: Mutation, tests: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """Run the tests marked ``attack`` against the package below `source`, up to the first failure.

    Exit code 0 means that no test noticed, 1 that one did; anything else that the run itself broke.
    Tests named after the file with the mutation come first, because they are likely to notice.
    """
    # Named one by one: the other test files load referees that take seconds to import.
    files = [file for file in tests.rglob("test_*.py") if "mark.attack" in file.read_text()]
    mutated = Path(mutation.file).stem
    files.sort(key=lambda file: (mutated not in file.stem, file))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "attack", *map(str, files)]
    command += ["-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    return subprocess.run(
        command,
        # One thread each: OpenMP's idle threads spin, and several attacks may share the cores.
        env={
            **os.environ,
            "PYTHONPATH": str(source),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
        cwd=tests.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def caught_by(output: str) -> str | None:
    """Return the first test that failed, as pytest's summary names it; None if none did.

    Examples
    --------
    >>> caught_by("FAILED tests/test_domain.py::test_rim[0.5] - assert 2 == 1")
    'tests/test_domain.py::test_rim[0.5]'
    """
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    return found and found[1]
