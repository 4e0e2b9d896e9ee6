"""Shared by all tests: noise, a database server, and what makes a skipped suite a failure."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from helpers.object_store import Bucket, ObjectStore, running_store
from hypothesis import settings

from privclust.privacy.noise import OpenDPNoise
from privclust.testing import SeededNoise, noise_from

if TYPE_CHECKING:
    from helpers.postgres import Server

collect_ignore = ["deployments/echo_app"]
"""Needs Flower, which is in an environment of its own (`.ci/long`)."""
ROOT = Path(__file__).parents[1]
# What Numba compiles it tells at length, none of it about rows; tests of silence are about those.
logging.getLogger("numba").setLevel(logging.WARNING)
# On a busy machine any example may take long.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def expected_suites() -> tuple[str, ...]:
    """Return a folder of tests for every package, all others with tests, and the files beside."""
    packages = {f"tests/{file.parent.name}" for file in ROOT.glob("src/privclust/*/__init__.py")}
    folders = {
        file.parent.relative_to(ROOT).as_posix() for file in ROOT.glob("tests/*/**/test_*.py")
    }
    files = {file.relative_to(ROOT).as_posix() for file in ROOT.glob("tests/test_*.py")}
    return ("src/privclust", *sorted(packages | folders | files))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="fail if a test was skipped or an expected suite ran none",
    )
    parser.addoption(
        "--real-noise",
        action="store_true",
        help="draw OpenDP's noise in all tests, not only in those marked with real_noise",
    )


class NoiseOfTests(SeededNoise):
    """Seeded, and named as a user's noise is, so that what tests read is what users read."""

    name = OpenDPNoise.name


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Give each fixture noise of its own, whichever test asks for it first."""
    with _noise(request.node, f"{request.node.nodeid}:{fixturedef.argname}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Give each test noise of its own: none passes or fails by chance."""
    with _noise(item, item.nodeid):
        return (yield)


@contextmanager
def _noise(node: pytest.Item | pytest.Collector, seed: str) -> Iterator[None]:
    is_real = node.config.getoption("--real-noise") or node.get_closest_marker("real_noise")
    # Also real noise is set: a fixture that yields inside `noise_from` leaves its noise behind.
    with noise_from(OpenDPNoise() if is_real else NoiseOfTests(crc32(seed.encode()))):
        yield


class Completeness:
    """Counts what passed where, and what was skipped."""

    def __init__(self) -> None:
        self.suites = expected_suites()
        self.passed: Counter[str] = Counter()
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)
        elif report.when == "call" and report.passed:
            place = report.nodeid
            self.passed.update(s for s in self.suites if place.startswith((f"{s}/", f"{s}::")))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._complaints() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for complaint in self._complaints():
            terminalreporter.write_line(complaint, red=True)

    def _complaints(self) -> list[str]:
        silent = [f"no test ran in {suite}" for suite in self.suites if not self.passed[suite]]
        return silent + [f"skipped: {nodeid}" for nodeid in self.skipped]


def pytest_configure(config: pytest.Config) -> None:
    one_of_several = hasattr(config, "workerinput")  # it sees a part, the process above all
    if config.getoption("--complete") and not one_of_several:
        config.pluginmanager.register(Completeness(), "completeness")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, started when a test first needs it."""
    from helpers.postgres import PROGRAMS, programs, running  # not on every system

    folder = programs()
    if folder is None:
        pytest.skip(f"no PostgreSQL server in {PROGRAMS}; Debian's package postgresql has one")
    with running(folder) as server:
        yield server


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    """A server of S3 on this machine, started when a test first needs it."""
    with running_store() as store:
        yield store


@pytest.fixture
def bucket(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """An empty bucket, which addresses of S3 then mean."""
    for name, value in object_store.environment.items():
        monkeypatch.setenv(name, value)
    return object_store.new_bucket()


@pytest.fixture
def database(postgres: Server) -> str:
    """The address of an empty database."""
    return postgres.new_database()
