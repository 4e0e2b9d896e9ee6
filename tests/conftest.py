"""Shared by all tests: a database server, and the switch that makes a skipped suite a failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from helpers.postgres import PROGRAMS, Server, programs, running

collect_ignore = ["deployments/echo_app"]
"""Needs Flower, which is in an environment of its own (`.ci/long`)."""
EXPECTED_SUITES = (
    "src/privclust",
    "tests/algorithms",
    "tests/audit",
    "tests/benchmarks",
    "tests/cli",
    "tests/engines",
    "tests/geometry",
    "tests/postprocessing",
    "tests/privacy",
    "tests/release",
    "tests/repository",
    "tests/domains/test_bounds.py",
    "tests/queries/test_cells.py",
    "tests/cli/test_main.py",
    "tests/planning/test_spark_cost.py",
    "tests/queries/test_cubes.py",
    "tests/domains/test_base.py",
    "tests/privacy/test_one_way_in.py",
    "tests/test_errors.py",
    "tests/estimators/test_base.py",
    "tests/models/test_sql_export.py",
    "tests/estimators/test_faults_everywhere.py",
    "tests/engines/federated/test_example_app.py",
    "tests/engines/federated/test_fits.py",
    "tests/estimators/test_fit.py",
    "tests/models/test_json_schema.py",
    "tests/queries/test_covariance.py",
    "tests/planning/test_forecast.py",
    "tests/queries/test_profiles.py",
    "tests/domains/test_profiled.py",
    "tests/estimators/test_profile.py",
    "tests/queries/test_clusters.py",
    "tests/queries/test_results.py",
    "tests/estimators/test_recording.py",
    "tests/queries/test_nearby.py",
    "tests/models/test_report.py",
    "tests/estimators/test_resume.py",
    "tests/estimators/test_resume_large.py",
    "tests/models/test_model_file.py",
    "tests/models/test_model_file_hostile.py",
    "tests/estimators/test_shared_budget.py",
    "tests/estimators/test_sklearn_contract.py",
    "tests/estimators/test_init.py",
    "tests/estimators/test_input.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="fail if a test was skipped or an expected suite ran none",
    )


class Completeness:
    """Counts what passed where, and what was skipped."""

    def __init__(self) -> None:
        self.passed: Counter[str] = Counter()
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.update(s for s in EXPECTED_SUITES if report.nodeid.startswith(s))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._complaints() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for complaint in self._complaints():
            terminalreporter.write_line(complaint, red=True)

    def _complaints(self) -> list[str]:
        silent = [f"no test ran in {suite}" for suite in EXPECTED_SUITES if not self.passed[suite]]
        return silent + [f"skipped: {nodeid}" for nodeid in self.skipped]


def pytest_configure(config: pytest.Config) -> None:
    one_of_several = hasattr(config, "workerinput")  # it sees a part, the process above all
    if config.getoption("--complete") and not one_of_several:
        config.pluginmanager.register(Completeness(), "completeness")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, started when a test first asks for it."""
    folder = programs()
    if folder is None:
        pytest.skip(f"no PostgreSQL server in {PROGRAMS}; Debian's package postgresql has one")
    with running(folder) as server:
        yield server


@pytest.fixture
def database(postgres: Server) -> str:
    """The address of an empty database."""
    return postgres.new_database()
