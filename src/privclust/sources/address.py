"""Addresses of databases: none may hold a password, and none is repeated in a message."""

from __future__ import annotations

import re
from urllib.parse import unquote

from privclust.errors import ParameterError, UnreadableFileError

SCHEMES = {"postgresql": "PostgreSQL", "postgres": "PostgreSQL", "sqlite": "SQLite"}
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PASSWORD = re.compile(
    r"://[^/@]*:[^@]*@|\b((ssl)?password|passwd|oauth_client_secret|scram_(client|server)_key)\s*=",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(":[^@]*@")
"""What follows an account in an address, whatever else is wrong with how it is written."""


def is_address(text: object) -> bool:
    """Tell whether a text is an address, such as ``scheme://host/name``, and not a path.

    Examples
    --------
    >>> is_address("postgresql://db.example/clinic"), is_address("visits.parquet")
    (True, False)
    """
    return isinstance(text, str) and _ADDRESS.match(text) is not None


def scheme_of(address: str) -> str:
    """Return what an address begins with, in small letters.

    Examples
    --------
    >>> scheme_of("PostgreSQL://db.example/clinic")
    'postgresql'
    """
    return address.partition("://")[0].lower()


def is_database(text: object) -> bool:
    """Tell whether a text is the address of a database that is read by `privclust.sql`.

    Examples
    --------
    >>> is_database("sqlite:///clinic.db"), is_database("https://host/tables/credit")
    (True, False)
    """
    return is_address(text) and scheme_of(str(text)) in SCHEMES


def check_no_password(address: str) -> None:
    """Refuse an address that holds a password, without repeating it.

    Examples
    --------
    >>> check_no_password("postgresql://ada@db.example/clinic")
    """
    if _PASSWORD.search(unquote(address)) or _has_odd_port(address):
        raise ParameterError(
            "the address holds a password, which shell histories and lists of processes show to "
            "others. Leave it out; PostgreSQL's driver finds it in ~/.pgpass, in PGPASSFILE, in "
            "PGPASSWORD or in a service file (service=NAME), those of stores where docs/sources.md "
            "says. If it was typed at a prompt, change it."
        )


def _has_odd_port(address: str) -> bool:
    """Tell whether what follows a colon is no port: without its host, a password stands there.

    Examples
    --------
    >>> _has_odd_port("postgresql://ada:s3kr3t/clinic"), _has_odd_port("postgresql://[::1]:5432/c")
    (True, False)
    """
    hosts = re.split("[/?#]", address.partition("://")[2])[0].rpartition("@")[2]
    ports = [host.rpartition("]")[2].partition(":")[2] for host in hosts.split(",")]
    return any(port and not port.isdecimal() for port in ports)


def refuse_address(path: object) -> None:
    """Refuse an address where a path should be, without repeating it: it may hold a password.

    Examples
    --------
    >>> refuse_address("visits.parquet")
    """
    if not is_address(path):
        return
    scheme = scheme_of(str(path))
    if scheme in SCHEMES:
        remedy = (
            "Type privclust.sql(address, query) in Python, and --query 'SELECT …' after the "
            "address at a prompt."
        )
    else:
        remedy = "Copy the files to this machine, or give a pyarrow dataset."
    raise UnreadableFileError(f"an address that begins with {scheme}:// is no path. {remedy}")


def refuse_miswritten_address(path: str) -> None:
    """Refuse a path at which nothing is and that may hold a password, without repeating it.

    Examples
    --------
    >>> refuse_miswritten_address("visits.parquet")
    """
    if _PASSWORD.search(unquote(path)) or _ACCOUNT.search(unquote(path)):
        raise UnreadableFileError(
            "nothing is at this path, which is not repeated here because it looks like an address "
            "that holds a password. Addresses of databases are like postgresql://host/database, "
            "for privclust.sql(address, query) in Python and before --query at a prompt; passwords "
            "are looked for in the driver's own places. If one was typed at a prompt, change it."
        )
