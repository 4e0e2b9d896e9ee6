"""Which ledger it is, said so that others find it."""

from __future__ import annotations

from pathlib import Path

from privclust.errors import safe_repr


def ledger_name(place: str) -> str:
    """Return what a page calls the ledger at `place`: its file, or server and database.

    Folders and users are left out; a URL with a password is no ledger's.

    Examples
    --------
    >>> ledger_name("/srv/ledgers/budget.db")
    "file 'budget.db'"
    >>> ledger_name("postgresql://ito@db.example.org:5433/budgets")
    "PostgreSQL database 'budgets' at 'db.example.org', port 5433"
    """
    if "://" not in place:
        return f"file {safe_repr(Path(place).name)}"
    from sqlalchemy import make_url

    url = make_url(place)
    where = f" at {safe_repr(url.host)}" if url.host else ""
    port = f", port {url.port}" if url.port else ""
    return f"PostgreSQL database {safe_repr(url.database)}{where}{port}"
