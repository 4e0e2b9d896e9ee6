"""The tests that the oldest versions must pass: what holds the guarantee, in a short time."""

from __future__ import annotations

from releasing.building import ROOT
from releasing.environments import Environment

NEEDED = (
    *("pytest", "hypothesis", "mpmath", "dp-accounting", "jsonschema"),
    *("psycopg[binary]", "pandas", "polars", "typer", "cryptography"),
)
"""What the tests import besides the core."""
TESTS = (
    "tests/algorithms",
    "tests/privacy",
    "tests/domains/test_base.py",
    "tests/queries/test_clusters.py",
    "tests/models/test_model_file.py",
)


def tests_pass(environment: Environment) -> str:
    """Run the attacks, the fast subset that every planted privacy bug turns red."""
    frozen = environment.folder / "oldest.txt"
    frozen.write_text(environment.printed("python", "-c", PINS))
    environment.install("--constraint", str(frozen), *NEEDED)
    printed = environment.printed(
        *("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "attack", *TESTS),
        folder=ROOT,
    )
    return printed.strip().splitlines()[-1]


PINS = """
from importlib.metadata import distributions
for d in distributions():
    print(f"{d.metadata['Name']}=={d.version}")
"""
