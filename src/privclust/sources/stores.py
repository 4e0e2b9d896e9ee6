"""Files in object stores, which pyarrow's file systems find and read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from pathlib import PurePosixPath
from typing import Any, TypeVar

from privclust.errors import ParameterError, UnreadableFileError
from privclust.sources.address import is_address, scheme_of
from privclust.sources.refused_formats import refuse_format

STORES = {
    "s3": "S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws, or the role of the machine; "
    "AWS_REGION; AWS_ENDPOINT_URL for another server than Amazon's",
    "gs": "Google: GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth application-default login",
    "az": "Azure: AZURE_STORAGE_ACCOUNT_NAME for the account, and az login or a managed identity",
    "abfs": "Azure: az login, or a managed identity",
    "abfss": "Azure: az login, or a managed identity",
}
"""What an address of a store begins with, and where its driver finds credentials."""
_BARE = re.compile(r"(s3|gs|az)://[\w.-]+(/[^?#]*)?|abfss?://[\w-]+@[\w.-]+(/[^?#]*)?")
_CODE = re.compile(r"AWS Error ([A-Z_]+)")
_TELLING = ("etag", "generation", "last-modified", "version-id", "versionid")
"""What stores say about an object that differs once it was written anew."""
Result = TypeVar("Result")


def is_store(text: object) -> bool:
    """Tell whether a text is an address in an object store.

    Examples
    --------
    >>> is_store("s3://clinic/visits"), is_store("visits.parquet"), is_store("https://host/x")
    (True, False, False)
    """
    return is_address(text) and scheme_of(str(text)) in STORES


@dataclass(frozen=True)
class StoredFile:
    """A file of one of pyarrow's file systems, with what is read of a path.

    Attributes
    ----------
    filesystem : pyarrow.fs.FileSystem
        Where it is.
    key : str
        What it is called there.
    """

    filesystem: Any
    key: str

    @property
    def name(self) -> str:
        """The last part of its key."""
        return PurePosixPath(self.key).name

    @property
    def version(self) -> tuple[int | str, ...]:
        """What differs once it was written anew, such as its ETag."""
        with self.filesystem.open_input_file(self.key) as file:
            about = file.metadata() or {}
        properties = {str(word).lower(): str(value) for word, value in about.items()}
        known = tuple(properties.get(word, "") for word in _TELLING)
        if "etag" in properties:
            return known
        info = self.filesystem.get_file_info(self.key)
        if info.mtime_ns is None and not any(known):
            raise UnreadableFileError(
                "the store of this table gives neither a time nor an ETag of its files, so that "
                "one that is written anew in mid-fit would not be noticed. Copy the files to this "
                "machine, or give an address such as s3://bucket/path."
            )
        return info.size or 0, info.mtime_ns or 0, *known

    def open(self, mode: str = "rb") -> BufferedReader:
        """Open it for reading."""
        return BufferedReader(self.filesystem.open_input_file(self.key))


def stored_files(address: str) -> tuple[str, list[StoredFile]]:
    """Return the key of an address, and all files that it names: that one, or those below it."""
    check_bare(address)
    return contacting(address, lambda: _listed(*_located(address)))


def has_folder(address: str, name: str) -> bool:
    """Tell whether there is a folder of this name at an address of a store."""
    check_bare(address)
    return contacting(address, lambda: _is_folder(*_located(address), name))


def check_bare(address: str) -> None:
    """Refuse an address that holds more than a bucket and a path, without repeating it.

    Examples
    --------
    >>> check_bare("s3://clinic/visits/2025")
    """
    if not _BARE.fullmatch(address):
        raise ParameterError(
            "an address in a store is like s3://bucket/path, gs://bucket/path, az://container/path "
            "or abfss://container@account.dfs.core.windows.net/path, without key, password or "
            "options, which shell histories and lists of processes would show to others. "
            f"Credentials are found where the store's driver looks: {STORES[scheme_of(address)]}. "
            "If a key was typed at a prompt, change it."
        )


def _located(address: str) -> tuple[Any, str]:
    from pyarrow import fs

    scheme, _, path = address.partition("://")
    if scheme == "az":
        account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
        if not account:
            raise ParameterError(
                "az:// needs the account in AZURE_STORAGE_ACCOUNT_NAME. Set it, or give "
                "abfss://container@account.dfs.core.windows.net/path."
            )
        return fs.AzureFileSystem(account), path.rstrip("/")
    filesystem, key = fs.FileSystem.from_uri(address)
    return filesystem, key.rstrip("/")


def _listed(filesystem: Any, root: str) -> tuple[str, list[StoredFile]]:
    from pyarrow.fs import FileSelector, FileType

    _check_plain(filesystem, root)
    if filesystem.get_file_info(root).type == FileType.File:
        return root, [StoredFile(filesystem, root)]
    below = filesystem.get_file_info(FileSelector(root, allow_not_found=True, recursive=True))
    files = [info.path for info in below if info.type == FileType.File]
    for path in files:
        _check_signs(PurePosixPath(path).relative_to(root).parts, PurePosixPath(root).name)
    return root, [StoredFile(filesystem, path) for path in sorted(files)]


def _check_plain(filesystem: Any, root: str) -> None:
    """Refuse what lies in a table format: its folders are beside or above the root."""
    from pyarrow.fs import FileSelector

    place = PurePosixPath(root)
    for folder in (place, *place.parents[:-1]):
        for sign in ("_delta_log", ".hoodie", "metadata"):
            inside = FileSelector(str(folder / sign), allow_not_found=True)
            for info in filesystem.get_file_info(inside):
                _check_signs((sign, info.base_name), folder.name)


def _check_signs(parts: tuple[str, ...], folder: str) -> None:
    for place, part in enumerate(parts[:-1]):
        name = parts[place - 1] if place else folder
        if part == "_delta_log":
            refuse_format(name, "Delta")
        if part == ".hoodie":
            refuse_format(name, "Hudi")
        if part == "metadata" and parts[-1].endswith((".metadata.json", "version-hint.text")):
            refuse_format(name, "Iceberg")


def _is_folder(filesystem: Any, root: str, name: str) -> bool:
    from pyarrow.fs import FileType

    return bool(filesystem.get_file_info(f"{root}/{name}").type == FileType.Directory)


def contacting(address: str, work: Callable[[], Result]) -> Result:
    """Do what needs a store; what goes wrong there is said without the address."""
    try:
        return work()
    except (ParameterError, UnreadableFileError):
        raise
    except Exception as error:
        found = _CODE.search(str(error))
    code = f" ({found[1]})" if found else ""
    raise UnreadableFileError(
        f"the store did not give what is at this address{code}. Check that the bucket exists, that "
        "the store can be reached, and that credentials are where its driver looks for them. "
        f"{STORES[scheme_of(address)]}."
    )
