"""Make the files of a release in ``dist`` and see that they work elsewhere."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from releasing.bill import OLDEST_PYTHON, write_bill
from releasing.building import ROOT, ReleaseError, build_twice, put
from releasing.core import (
    command_names_its_extra,
    imports_fast,
    nothing_else_installed,
    readme_runs,
    smoke,
)
from releasing.environments import Environment
from releasing.extras import command_and_report_work, others_resolve
from releasing.oldest import tests_pass

PYTHONS = (OLDEST_PYTHON, "3.12", "3.13")
"""Those that pyproject.toml names."""
EXTRAS = ("cli", "report")


def main() -> int:
    """Build, then check; return 1 if something must not be released."""
    with tempfile.TemporaryDirectory() as name:
        try:
            _release(Path(name))
        except ReleaseError as error:
            sys.stderr.write(f"not released: {error}\n")
            return 1
    return 0


def _release(folder: Path) -> None:
    _, wheel = files = put(build_twice(folder), ROOT / "dist")
    _say("built twice, and from the sdist: the same bytes")
    files.append(write_bill(wheel, folder))
    _say("the bill of materials is reproducible")
    for version in PYTHONS:
        _newest(Environment(folder / f"newest-{version}", version), wheel)
    _oldest(Environment(folder / "oldest", OLDEST_PYTHON), wheel)
    for oldest in (False, True):
        environment = Environment(folder / f"extras-{oldest}", OLDEST_PYTHON)
        environment.made()
        environment.install_wheel(wheel, *EXTRAS, oldest=oldest)
        _say(("oldest: " if oldest else "newest: ") + command_and_report_work(environment))
    _say(others_resolve(environment, wheel))
    _say("wrote " + ", ".join(f"{file.name} ({file.stat().st_size:,} bytes)" for file in files))


def _newest(environment: Environment, wheel: Path) -> None:
    if not environment.made():
        _say(f"NOT CHECKED: this machine has no Python {environment.python}")
        return
    environment.install_wheel(wheel)
    for check in (
        nothing_else_installed,
        readme_runs,
        imports_fast,
        command_names_its_extra,
        smoke,
    ):
        _say(f"newest, Python {environment.python}: {check(environment)}")


def _oldest(environment: Environment, wheel: Path) -> None:
    environment.made()
    environment.install_wheel(wheel, oldest=True)
    for check in (readme_runs, smoke, tests_pass):
        _say(f"oldest, Python {environment.python}: {check(environment)}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
