"""Tables of other libraries that may give other rows each time, or none the second time."""

from __future__ import annotations

_REMEDIES = {
    ("ibis", "Table"): "a table of Ibis is run anew for each pass of a fit, and may give other "
    "rows each time. Give privclust.sql(address, ibis.to_sql(table)), which holds a state of "
    "PostgreSQL or SQLite, or table.to_pyarrow() if its rows fit into memory",
    ("datasets", "IterableDataset"): "an IterableDataset may give other rows, or the same in "
    "another order, each time it is read. Load it without streaming=True, or give the paths of "
    "its Parquet files",
    ("datasets", "DatasetDict"): "a DatasetDict holds several tables. Give one of them, such as "
    "dataset['train']",
    ("datasets", "IterableDatasetDict"): "an IterableDatasetDict holds several tables, each of "
    "which may give other rows each time it is read. Load it without streaming=True, and give one "
    "of its tables",
    ("pyarrow", "RecordBatchReader"): "a stream can be read once, and a fit reads its rows several "
    "times. Give reader.read_all() if they fit into memory, or a function that returns a new "
    "stream each time; of a database, privclust.sql(address, query)",
}
"""By library, and by the class of the table or one that it inherits from."""


def refuse_unrepeatable(table: object) -> None:
    """Refuse a table that no second pass may find as it was, by the names of its classes.

    Nothing is imported for that.

    Examples
    --------
    >>> import pyarrow as pa
    >>> refuse_unrepeatable(pa.table({"age": [40, 50]}))
    """
    for one in type(table).__mro__:
        remedy = _REMEDIES.get((one.__module__.split(".")[0], one.__name__))
        if remedy is not None:
            raise TypeError(f"{remedy}.")
