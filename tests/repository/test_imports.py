"""What importing costs, and what it must not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("opendp", "matplotlib", "sqlalchemy", "psycopg", "typer", "pyspark")


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import privclust", (*HEAVY, "sklearn", "scipy", "pyarrow")),
        ("import privclust.queries", (*HEAVY, "sklearn", "scipy", "pyarrow")),
        ("from privclust import PEMeans, on_spark", HEAVY),
        ("import privclust.engines.spark_tasks", (*HEAVY, "sklearn", "scipy")),
        ("import privclust.engines.client", (*HEAVY, "sklearn", "scipy")),
    ],
)
def test_an_import_loads_no_more_than_it_needs(statement: str, absent: tuple[str, ...]) -> None:
    code = f"import sys; {statement}; print([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_library_never_imports_its_test_noise_or_its_attacks() -> None:
    code = (
        "import sys; from privclust import PEMeans; "
        "print([m for m in sys.modules if m.startswith(('privclust.testing', 'privclust.audit'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
