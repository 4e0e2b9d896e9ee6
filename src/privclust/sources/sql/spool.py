"""Rows that are costly to fetch, kept in a temporary file after they were read once."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

Stream = Callable[[Sequence[str]], Iterator[Any]]


class Spool:
    """Gives the batches of a stream again and again, and has them fetched once.

    The first pass that reads columns to its end leaves them in a file without a name in any folder,
    which ends with the process; it lies where ``TMPDIR`` says. Passes that read some of these find
    the rows there, in the same order.

    Examples
    --------
    >>> def fetch(columns):
    ...     print("fetched", columns)
    ...     yield pa.record_batch({"age": [40, 50]})
    >>> spool = Spool()
    >>> [sum(batch.num_rows for batch in spool.batches(fetch, ["age"])) for _ in range(3)]
    fetched ['age']
    [2, 2, 2]
    """

    def __init__(self) -> None:
        self._columns: list[str] | None = None
        self._file: Any = None

    def has(self, columns: Sequence[str]) -> bool:
        """Tell whether these columns are kept."""
        return self._columns is not None and set(columns) <= set(self._columns)

    def batches(self, stream: Stream, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all batches once more; `stream` fetches them if they are not kept."""
        if self.has(columns):
            for batch in _read(self._file):
                yield batch.select(list(columns))
        else:
            yield from self._fetched(stream, columns)

    def _fetched(self, stream: Stream, columns: Sequence[str]) -> Iterator[Any]:
        file = tempfile.TemporaryFile(buffering=2**18)  # noqa: SIM115
        writer = None
        try:
            for batch in stream(columns):
                writer = writer or pa.ipc.new_stream(file, batch.schema)
                writer.write_batch(batch)
                yield batch
            if writer is not None:
                writer.close()
            file.flush()
        except BaseException:
            file.close()  # rows lie in it
            raise
        self.close()
        self._columns, self._file = list(columns), file
        self._finalizer = weakref.finalize(self, file.close)

    def close(self) -> None:
        """Throw away what was kept."""
        if self._file is not None:
            self._columns, self._file = None, None
            self._finalizer()


def _read(file: Any) -> Iterator[Any]:
    if not file.seek(0, 2):
        return
    content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    for batch in pa.ipc.open_stream(pa.py_buffer(content)):
        yield batch
        if hasattr(mmap, "MADV_DONTNEED"):
            # Pages that were read count as this process's memory. Who still needs one gets it from
            # the file again.
            content.madvise(mmap.MADV_DONTNEED)
