"""A server of S3 for tests: moto's, in a process of its own, on a port of this machine."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyarrow.fs import S3FileSystem

SECONDS_TO_START, SECONDS_TO_STOP = 120, 30
KEY, SECRET = "AKIATEST", "s3kr3t"


class Bucket:
    """A bucket that others write to."""

    def __init__(self, filesystem: Any, name: str) -> None:
        self._filesystem = filesystem
        self.address = f"s3://{name}"
        self._name = name

    def put(self, key: str, content: bytes) -> str:
        """Write an object; return its address."""
        with self._filesystem.open_output_stream(f"{self._name}/{key}", compression=None) as file:
            file.write(content)
        return f"{self.address}/{key}"

    def put_table(self, key: str, table: Any) -> str:
        """Write a Parquet file; return its address."""
        return self.put(key, parquet(table))

    def put_folder(self, key: str, folder: Path) -> str:
        """Write all files below a folder; return the address of the folder."""
        for file in folder.rglob("*"):
            if file.is_file():
                self.put(f"{key}/{file.relative_to(folder).as_posix()}", file.read_bytes())
        return f"{self.address}/{key}"

    def remove(self, key: str) -> None:
        """Remove an object."""
        self._filesystem.delete_file(f"{self._name}/{key}")


class ObjectStore:
    """A server that listens on a port of this machine."""

    def __init__(self, port: int) -> None:
        self._made = 0
        url = f"http://127.0.0.1:{port}"
        self.environment = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": url,
            "AWS_ALLOW_HTTP": "true",  # deltalake wants to be told
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self._filesystem = S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            region="us-east-1",
            endpoint_override=url,
            allow_bucket_creation=True,
        )

    def new_bucket(self, name: str | None = None) -> Bucket:
        """Make an empty bucket."""
        self._made += 1
        name = name or f"test{self._made}"
        self._filesystem.create_dir(name)
        return Bucket(self._filesystem, name)


def parquet(table: Any) -> bytes:
    """Return what a Parquet file of a table holds."""
    file = BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


@contextmanager
def running_store() -> Iterator[ObjectStore]:
    """Start a server of S3, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        with log.open("wb") as output:
            process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield ObjectStore(_port(process, log))
        finally:
            process.terminate()
            process.wait(SECONDS_TO_STOP)


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"Running on http://127\.0\.0\.1:(\d+)", log.read_text(encoding="utf-8"))
        if found:
            return int(found[1])
        time.sleep(0.1)
    raise RuntimeError(f"moto's server did not start: {log.read_text(encoding='utf-8')}")
