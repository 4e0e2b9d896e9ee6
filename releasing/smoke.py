"""A plan, a paid fit, a model file and the ledger's check, with whatever versions are installed.

Run in an environment of its own, so it imports nothing from this folder.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import privclust
from privclust import Ledger, PrivateKMeans

NAMES = ("numpy", "scipy", "scikit-learn", "pyarrow", "sqlalchemy")


def main() -> None:
    """Do once what most users do first; fail loudly where it does not work."""
    rng = np.random.default_rng(0)
    made_up = np.vstack([rng.normal(middle, 0.1, (2000, 2)) for middle in (-0.5, 0.5)])
    privclust.forecast(4000, 2, 2, delta=1e-6)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(pa.table({"a": made_up[:, 0], "b": made_up[:, 1]}), folder / "rows.parquet")
        ledger = str(folder / "budget.db")
        Ledger.create(ledger, "rows", epsilon=2.0, delta=1e-6)
        model = PrivateKMeans(
            2,
            delta=1e-6,
            bounds={"a": (-1, 1), "b": (-1, 1)},
            ledger=ledger,
            dataset="rows",
        ).fit(folder / "rows.parquet")
        privclust.save(model, folder / "model.json")
        loaded = privclust.load(folder / "model.json")
        np.testing.assert_array_equal(loaded.predict(made_up), model.predict(made_up))
        # Six standard errors of such centres are far below 0.2: seeds differ, clusters do not.
        np.testing.assert_allclose(np.sort(loaded.cluster_centers_, axis=0)[0], -0.5, atol=0.2)
    said = ", ".join(f"{name} {version(name)}" for name in NAMES)
    sys.stdout.write(f"plan, fit, ledger, save and load work with {said}\n")


if __name__ == "__main__":
    main()
