"""The server's side: fit an estimator to the federation and write down what may be published."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

import privclust
from privclust.engines.flower import flower_federation

app = ServerApp()


@app.main()  # type: ignore[untyped-decorator]
def main(grid: Grid, context: Context) -> None:
    """Run one fit, as the app's configuration says."""
    given: dict[str, Any] = dict(context.run_config)
    federation = flower_federation(
        grid,
        given["columns"].split(","),
        clients=given["clients"],
        minimum=given["minimum"],
        seconds=given["seconds"],
    )
    model = estimator(given).fit(federation, resume=given["resume"] or None)
    privclust.save(model, given["model"])
    print(model.privacy_statement_)


def estimator(given: dict[str, Any]) -> Any:
    """Return the estimator that the configuration names.

    Whoever may start a run sets all of it; exact results are nobody's to ask for.
    """
    if not (math.isfinite(given["epsilon"]) and given["epsilon"] > 0):
        raise ValueError(f"epsilon must be a finite number above 0, got {given['epsilon']}.")
    common = {
        "epsilon": given["epsilon"],
        "delta": given["delta"],
        "bounds": given["bounds"],
        "ledger": given["ledger"] or None,
        "dataset": given["dataset"] or None,
    }
    if given["method"] == "FedDPKMeans":
        public = np.loadtxt(given["public-rows"], delimiter=",", ndmin=2)
        return privclust.FedDPKMeans(given["n-clusters"], server_data=public, **common)
    return privclust.PrivateKMeans(given["n-clusters"], **common)
