"""Where a ledger lies, said so that others find it and nobody learns a password."""

from __future__ import annotations

from pathlib import Path

from privclust.errors import safe_repr

_SECRET = ("password", "passfile", "sslpassword")
"""Parts of a URL's query that libpq takes secrets from, or that say where they are."""


def ledger_name(place: str) -> str:
    """Return what a page calls the ledger at `place`: its file, or server and database.

    Folders, users and passwords are left out.

    Examples
    --------
    >>> ledger_name("/srv/ledgers/budget.db")
    "file 'budget.db'"
    >>> ledger_name("postgresql://ito:secret@db.example.org:5433/budgets?password=secret")
    "PostgreSQL database 'budgets' at 'db.example.org', port 5433"
    """
    if "://" not in place:
        return f"file {safe_repr(Path(place).name)}"
    from sqlalchemy import make_url

    url = make_url(place)
    where = f" at {safe_repr(url.host)}" if url.host else ""
    port = f", port {url.port}" if url.port else ""
    return f"PostgreSQL database {safe_repr(url.database)}{where}{port}"


def without_password(place: str) -> str:
    """Return a path, or a URL without its password, to print in a command.

    Examples
    --------
    >>> without_password("postgresql://ito:secret@db.example.org/budgets?sslmode=require")
    'postgresql://ito@db.example.org/budgets?sslmode=require'
    """
    if "://" not in place:
        return place
    from sqlalchemy import URL, make_url

    url = make_url(place)
    query = {name: value for name, value in url.query.items() if name.lower() not in _SECRET}
    kept = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, query)
    return kept.render_as_string()
