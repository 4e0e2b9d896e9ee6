"""Kill fits, resumes and ledger writes at random moments, and look for anything lost.

Two workers contend for one ledger. Each makes fits, resumes what others left open, closes runs and
adds data sets, until it is killed; some of them find the disk full, may not write, or come by a
second name of the file: a hard link that appears and goes, a symbolic link, a mount of the file or
of its folder. Whatever a worker was given by the Curator it writes down at once. After every kill
the ledger must be intact, within budget, and hold every result that was given, charged.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from privclust import Ledger, PEMeans, PrivateKMeans
from privclust.kernels.grid import FloatArray
from privclust.privacy.curator import Curator
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.privacy.ledger.records import Run
from privclust.privacy.noise import OpenDPNoise
from privclust.privacy.release import Release
from privclust.queries import Query
from privclust.testing import RepeatableNoise, noise_from

KILLS = 300
LONGEST = 1.2
"""Seconds a worker may live, about three fits."""
LABEL = "rows"
BUDGET = 1.5
"""Enough for about ten fits, so that some are refused."""
NOBODY = 65534
ESTIMATORS = {"PrivateKMeans": PrivateKMeans, "PEMeans": PEMeans}
SECOND_NAMES = ("hard link", "symbolic link", "mounted file", "mounted folder")
HINDRANCES = ("none", "none", "disk full", "may not write", *SECOND_NAMES)
CLONE_NEWNS = 0x20000


def main(quick: bool) -> None:
    """Kill until there were enough kills, then finish every fit and compare it with its twin."""
    kills = 12 if quick else KILLS
    rng = np.random.default_rng(0)
    _warm_up()
    problems: list[str] = []
    resumed = runs = done = 0
    hindered: Counter[str] = Counter()
    hindrances = [name for name in HINDRANCES if "mounted" not in name or _can_mount()]
    while done < kills:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            ledger = Ledger.create(_ledger(place), LABEL, epsilon=BUDGET, delta=1e-6)
            for _ in range(10):
                hindrance = str(rng.choice(hindrances))
                hindered[hindrance] += 1
                done += _kill_two(place, rng, hindrance)
                (place / "other.db").unlink(missing_ok=True)
                problems += _checked(place)
            found, finished = _finished(place)
            problems += found
            resumed += finished
            runs += len(ledger.runs(LABEL))
        print(f"\r{done}/{kills} kills, {len(problems)} problems", end="", flush=True)
    del hindered["none"]
    print(f"\n{runs} fits, {resumed} resumed and compared; of the workers", end=" ")
    print(", ".join(f"{hindered[name]} {name}" for name in sorted(hindered)))
    for problem in problems[:20]:
        print(problem)
    print(f"faults {len(problems)} 0 {'PASS' if not problems and resumed else 'NOT MET'}")


def _kill_two(place: Path, rng: np.random.Generator, hindrance: str) -> int:
    """Let two workers contend for a moment, kill both, and return how many were still alive."""
    fork = multiprocessing.get_context("fork")
    seeds = rng.integers(2**31, size=2)
    workers = [
        fork.Process(target=_work, args=(place, int(seed), kind))
        for seed, kind in zip(seeds, (hindrance, "none"), strict=True)
    ]
    for worker in workers:
        worker.start()
    killed = 0
    for worker in workers:
        time.sleep(rng.uniform(0.0, LONGEST / 2))
        if worker.pid is not None and worker.is_alive():
            os.kill(worker.pid, signal.SIGKILL)
            killed += 1
    for worker in workers:
        worker.join()
    return killed


def _work(place: Path, seed: int, hindrance: str) -> None:
    """Make fits, resume, close and add, until killed or refused."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    rng = np.random.default_rng(seed)
    given = os.open(place / f"given-{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    _write_down_what_is_given(given)
    if hindrance == "disk full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit = os.path.getsize(_ledger(place)) + int(rng.integers(2**17))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    elif hindrance == "may not write":
        os.setuid(NOBODY)
    ledger = _second_name(place, hindrance) if hindrance in SECOND_NAMES else _ledger(place)
    while True:
        if hindrance == "hard link":
            _appear_or_go(place, rng)
        try:
            _act(ledger, rng)
        except (LedgerError, BudgetExceededError, KeyError, ValueError):
            time.sleep(0.01)


def _second_name(place: Path, kind: str) -> str:
    """Give the ledger another name, a mounted one where only this process sees it."""
    other = place / "other.db"
    if kind == "symbolic link":
        with suppress(FileExistsError):
            other.symlink_to(_ledger(place))
    if kind not in ("mounted file", "mounted folder"):
        return str(other)
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    if kind == "mounted file":
        other.touch()
        subprocess.run(["mount", "--bind", _ledger(place), other], check=True)
        return str(other)
    folder = place / "folder"
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", place, folder], check=True)
    return _ledger(folder)


def _appear_or_go(place: Path, rng: np.random.Generator) -> None:
    """Make a hard link that nobody may spend by, or remove it so that others can go on."""
    other = place / "other.db"
    time.sleep(rng.uniform(0.0, 0.05))
    if other.exists():
        other.unlink()
    else:
        os.link(_ledger(place), other)


def _can_mount() -> bool:
    probe = ["unshare", "--mount", "mount", "--bind", "/usr", "/mnt"]
    with suppress(FileNotFoundError):
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return False


def _act(place: str, rng: np.random.Generator) -> None:
    ledger = Ledger.open(place)
    unfinished = [run for run in ledger.runs(LABEL) if run.open]
    what = rng.random()
    if what < 0.5 and unfinished:
        _fit(place, unfinished[rng.integers(len(unfinished))])
    elif what < 0.55 and unfinished:
        ledger.close(unfinished[rng.integers(len(unfinished))].name)
    elif what < 0.6:
        ledger.add(f"other {rng.integers(2**31)}", 1.0, 1e-6)
    else:
        name = str(rng.choice(list(ESTIMATORS)))
        seed, epsilon = int(rng.integers(2**31)), float(rng.choice([0.25, 0.5]))
        with noise_from(RepeatableNoise(seed)):
            _model(place, name, epsilon, seed).fit(_rows())


def _fit(place: str | None, run: Run) -> FloatArray:
    """Go on with a run, or make its twin that nothing interrupts."""
    facts = run.facts
    seed = int(facts["seed"])
    model = _model(place, facts["estimator"], float(facts["epsilon"]), seed)
    with noise_from(RepeatableNoise(seed)):
        model.fit(_rows(), resume=None if place is None else run.name)
    centers: FloatArray = model.cluster_centers_
    return centers


def _model(place: str | None, name: str, epsilon: float, seed: int) -> PrivateKMeans | PEMeans:
    model = ESTIMATORS[name](2, epsilon=epsilon, delta=1e-6, radius=8.0, random_state=seed)
    if place is not None:
        model.set_params(ledger=place, dataset=LABEL)
    return model


def _checked(place: Path) -> list[str]:
    """Return what is wrong with the ledger, or missing from it."""
    ledger = Ledger.open(_ledger(place))
    problems = ledger.verify()
    results = {
        (entry["run"], entry["slot"]): _mark(entry["values"])
        for entry in ledger.export()
        if entry["kind"] == "result"
    }
    charged = {(run.name, slot) for run in ledger.runs(LABEL) for slot in run.charges}
    for file in place.glob("given-*"):
        for line in file.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                continue  # killed while writing this one down
            run, slot, mark = json.loads(line)
            if (run, slot) not in charged:
                problems.append(f"lost charge: {slot} of {run}")
            if results.get((run, slot)) != mark:
                problems.append(f"given but not stored: {slot} of {run}")
        file.unlink()
    return problems


def _finished(place: Path) -> tuple[list[str], int]:
    """Resume every run that was not closed too early, and compare it with its twin."""
    ledger = Ledger.open(_ledger(place))
    problems, finished = [], 0
    for run in ledger.runs(LABEL):
        if run.state == "given up":
            continue
        centers = _fit(_ledger(place), run)
        finished += 1
        if not np.array_equal(centers, _fit(None, run)):
            problems.append(f"run {run.name} differs from its twin")
    return problems + ledger.verify(), finished


def _write_down_what_is_given(given: int) -> None:
    release_result = Curator._release

    def noted(self: Curator, slot: object, query: Query, *rest: object) -> Release:
        release = release_result(self, slot, query, *rest)  # type: ignore[arg-type]
        line = json.dumps([self.run, release.slot, _mark(release.result.tolist())])
        os.write(given, f"{line}\n".encode())
        return release

    Curator._release = noted  # type: ignore[method-assign,assignment]


def _mark(values: object) -> str:
    return sha256(json.dumps(values).encode()).hexdigest()


def _warm_up() -> None:
    """Load all libraries once, before workers are forked."""
    OpenDPNoise().gaussian(np.zeros(1, dtype=np.int64), 1.0)
    for name in ESTIMATORS:
        _model(None, name, 0.5, 0).fit(_rows())


@cache
def _rows() -> FloatArray:
    rng = np.random.default_rng(1)
    return np.vstack([rng.normal(middle, 0.5, (500, 2)) for middle in (-3.0, 3.0)])


def _ledger(place: Path) -> str:
    return str(place / "budget.db")
