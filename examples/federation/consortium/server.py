"""The server's side: fit an estimator to the federation and write down what may be published."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

import privclust
from privclust.domains.bounds import bounded_columns
from privclust.engines.federated.flower import flower_federation
from privclust.privacy.progress import Step, watching

FOLDER = Path(__file__).parents[1]
"""The app's own, which `flwr run` has sent here."""

app = ServerApp()


@app.main()  # type: ignore[untyped-decorator]
def main(grid: Grid, context: Context) -> None:
    """Run one fit, as the app's configuration says."""
    given: dict[str, Any] = dict(context.run_config)
    model, file = estimator(given), free_place(given["model"])
    columns = bounded_columns(model.bounds) or ()
    clients, seconds = given["clients"], given["seconds"]
    print(f"Waiting for {clients} SuperNodes, up to {seconds:g} seconds.", flush=True)
    federation = flower_federation(
        grid,
        columns,
        clients=clients,
        minimum=given["minimum"],
        clients_per_unit=given["clients-per-unit"],
        seconds=seconds,
    )
    with watching(report):
        model.fit(federation, resume=given["resume"] or None)
    privclust.save(model, file)
    print(model.privacy_statement_)


def estimator(given: dict[str, Any]) -> Any:
    """Return the estimator that the configuration names.

    Whoever may start a run sets all of it; nobody may request exact results.
    """
    if not (math.isfinite(given["epsilon"]) and given["epsilon"] > 0):
        raise ValueError(f"epsilon must be a finite number above 0, got {given['epsilon']}.")
    public = None
    if given["public-rows"]:
        public = np.loadtxt(given["public-rows"], delimiter=",", ndmin=2)
    common = {
        "epsilon": given["epsilon"],
        "delta": given["delta"],
        "bounds": str(FOLDER / given["bounds"]),
        "unit": given["unit"] or None,
        "max_rows_per_unit": given["max-rows-per-unit"],
        "ledger": given["ledger"] or None,
        "dataset": given["dataset"] or None,
    }
    if given["method"] == "FedDPKMeans":
        return privclust.FedDPKMeans(given["n-clusters"], server_data=public, **common)
    if given["method"] == "PrivateKMeans":
        return privclust.PrivateKMeans(given["n-clusters"], init=public, **common)
    raise ValueError(f"method must be PrivateKMeans or FedDPKMeans, got {given['method']!r}.")


def free_place(name: str) -> Path:
    """Return where the model goes; found out after the fit, a place that is none costs it."""
    file = Path(name).absolute()
    if file.exists() or not os.access(file.parent, os.W_OK):
        raise ValueError(
            f"the model cannot be written to {file}: name a file that does not exist yet, in a "
            "folder that the SuperLink's user may write."
        )
    return file


def report(step: Step) -> None:
    """Print which query is measured; its result stays between Curator and clients."""
    if not step.finished:
        of = step.measured + 1 + step.left
        print(f"Query {step.measured + 1} of about {of}: {step.slot}", flush=True)
