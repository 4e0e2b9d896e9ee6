"""The notebook and the job run as they are, in Sparks of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import write_parquet
from helpers.spark_sessions import environment

from privclust import load

EXAMPLES = Path(__file__).parents[3] / "examples"
SECONDS = 600


@pytest.mark.long
def test_the_notebook_runs_and_finds_the_clusters() -> None:
    """Groups are 37 years apart; five are far more than the noise of 50,000 patients."""
    notebook = json.loads((EXAMPLES / "spark.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    check = "print(sorted(model.cluster_centers_[:, 0].round(1).tolist()))"
    code = "\n".join([*cells, check])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    np.testing.assert_allclose(found, [34, 71], atol=5)


@pytest.mark.long
def test_the_job_is_submitted_and_writes_a_model(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(0.5, 0.1, (5000, 2))
    write_parquet(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), tmp_path / "lake" / "a.parquet")
    bounds, model = tmp_path / "bounds.toml", tmp_path / "model.json"
    columns = "".join(f'[columns.{n}]\ntype = "number"\nlower = 0\nupper = 1\n' for n in "xy")
    bounds.write_text(f'bounds_origin = "domain knowledge"\n{columns}')
    env = {**environment(), "SPARK_CONF_DIR": str(tmp_path)}
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.ui.enabled false\nspark.driver.host 127.0.0.1\nspark.sql.shuffle.partitions 2\n"
    )
    submit = os.path.join(env["SPARK_HOME"], "bin", "spark-submit")
    job = [str(EXAMPLES / "spark_submit.py"), str(tmp_path / "lake"), str(bounds), str(model)]
    options = ["--clusters", "1", "--delta", "1e-6", "--files"]
    command = [submit, "--master", "local[2]", *job, *options]
    subprocess.run(command, env=env, check=True, timeout=SECONDS, capture_output=True)
    np.testing.assert_allclose(load(model).cluster_centers_, [[0.5, 0.5]], atol=0.1)
