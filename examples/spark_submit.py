"""Cluster a table in a lake by a job of its own.

    spark-submit examples/spark_submit.py clinic.visits visits.toml model.json --clusters 8

The table is one of the catalogue, so that its policies hold; with ``--files`` it is the path of
plain Parquet files, which workers read themselves. ``privclust bounds init`` makes a bounds file.
With ``--ledger`` the budget is charged there, and the table must be known to it by its name.
"""

from __future__ import annotations

import argparse
import os

from pyspark.sql import SparkSession

from privclust import PrivateKMeans, on_spark, save


def main() -> None:
    """Read the command line, fit, and write the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("bounds")
    parser.add_argument("model")
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--unit", help="column of ids: all rows of one are protected together")
    parser.add_argument("--ledger")
    parser.add_argument("--files", action="store_true", help="the table is a path")
    given = parser.parse_args()
    if os.path.exists(given.model):
        parser.error("the model file exists. Name another, before anything is paid for.")
    session = SparkSession.builder.appName("privclust").getOrCreate()
    model = PrivateKMeans(
        given.clusters,
        epsilon=given.epsilon,
        delta=given.delta,
        bounds=given.bounds,
        unit=given.unit,
        ledger=given.ledger,
        dataset=given.ledger and given.table,
    )
    model.fit(on_spark(session, given.table) if given.files else session.table(given.table))
    save(model, given.model)
    print(model.privacy_statement_)
    session.stop()


if __name__ == "__main__":
    main()
