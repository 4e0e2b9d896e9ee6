"""A fitted model as SQL: which centre is nearest to each row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from privclust._version import __version__
from privclust.domains.base import Domain
from privclust.errors import ParameterError, safe_repr
from privclust.models._sql_cells import Dialect, features, quoted
from privclust.models.cluster_model import ClusterModel, FittedEstimator, model_of


def to_sql(
    model: ClusterModel | FittedEstimator,
    dialect: Dialect,
    table: str | tuple[str, ...] = "your_table",
) -> str:
    """Return a query that adds a column ``cluster`` to the rows of `table`.

    It follows `predict`, up to the grid on which that compares distances and the ruler off which it
    reads logarithms: values are bounded and missing ones replaced as in the fit, then the nearest
    centre is found. Labels of protected rows are protected data. Columns of days must be dates or
    timestamps in the database. PostgreSQL makes no numbers of booleans: cast such columns to
    integers.

    Parameters
    ----------
    model : fitted estimator or ClusterModel
        With names of columns, which the table must have too.
    dialect : {"duckdb", "postgres", "spark"}
        Whose SQL to write.
    table : str or tuple of str, default="your_table"
        The table to label; the default is a blank to fill in. A text is split at its dots, as in
        "clinic.visits"; a tuple such as ("clinic", "visits.2026") holds names as they are. All are
        quoted, so that they must be spelled as the database keeps them: PostgreSQL keeps names in
        lower case if they were made without quotes.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from privclust import PrivateKMeans
    >>> rows = pd.DataFrame(np.zeros((1000, 1)), columns=["age"])
    >>> model = PrivateKMeans(1, delta=1e-6, bounds={"age": (0, 120)}).fit(rows)
    >>> print(to_sql(model, "duckdb", "patients").splitlines()[-3])
    FROM "patients" AS given,
    """
    if dialect not in get_args(Dialect):
        raise ParameterError(
            f"the dialect of SQL must be one of {', '.join(get_args(Dialect))}, got {dialect!r}. "
            "Choose the nearest and adapt its text."
        )
    model = model_of(model)
    names, domain = model.feature_names_in, model.domain
    columns = None if names is None else domain.bounded_columns(names)
    if columns is None:
        raise ParameterError(
            "only models with column names and bounds by column can be written as SQL. Fit a table "
            "that has column names, with bounds."
        )
    place = _place(table, dialect)
    bounded = [f"{feature} AS x{place}" for place, feature in enumerate(features(columns, dialect))]
    centers = domain.to_scales(model.cluster_centers)
    numbers = range(len(centers))
    distances = [
        f"{_distance(center, domain)} AS d{number}" for number, center in enumerate(centers)
    ]
    all_of_them = ", ".join(f"apart.d{number}" for number in numbers)
    least = f"LEAST({all_of_them})" if len(numbers) > 1 else all_of_them
    cases = "\n".join(f"    WHEN apart.d{number} = {least} THEN {number}" for number in numbers)
    warning = "" if model.privacy_statement.private else "-- NOT PRIVATE: made without noise.\n"
    # Tables of their own for what is computed on the way, so that no column's name is in the way.
    return (
        f"-- {model.estimator}, {len(numbers)} clusters, by privclust "
        f"{__version__}. Labels of protected rows are protected data.\n{warning}"
        f"SELECT given.*,\n  CASE\n{cases}\n  END AS cluster\n"
        f"FROM {place} AS given,\n"
        f"LATERAL (SELECT {_listed(bounded)}) AS bounded,\n"
        f"LATERAL (SELECT {_listed(distances)}) AS apart"
    )


def _place(table: object, dialect: Dialect) -> str:
    parts: tuple[Any, ...] = table if isinstance(table, tuple) else ()
    if isinstance(table, str):
        parts = tuple(table.split("."))
    if not parts or not all(isinstance(part, str) and part and "\0" not in part for part in parts):
        raise ParameterError(
            "table must be a name such as 'visits' or 'clinic.visits', or a tuple of names such as "
            f"('clinic', 'visits.2026'), none of them empty; got {safe_repr(table)}."
        )
    return ".".join(quoted(part, dialect) for part in parts)


def _distance(center: Sequence[float], domain: Domain) -> str:
    terms = [
        f"POWER((bounded.x{place} - {float(value)!r}) / {float(domain.scales[place])!r}, 2)"
        for place, value in enumerate(center)
    ]
    return " + ".join(terms).replace("- -", "+ ")


def _listed(parts: Sequence[str]) -> str:
    return ",\n  ".join(parts)
