"""The one table of a ledger in a database, and who may do what with it.

What reservations and claims cost is in columns of its own, which the database derives from the
entry itself, so that it can add them up.
"""

from __future__ import annotations

from importlib.resources import files

from privclust.errors import ParameterError

_COSTS = ("quanta INTEGER", "slack REAL", "tail REAL", "pure INTEGER")
_DERIVED = ",\n    ".join(
    f"{column} GENERATED ALWAYS AS (CASE WHEN kind IN ('reserve', 'claim') AND json_valid(body) "
    f"THEN json_extract(body, '$.spend.{column.split()[0]}') END) STORED"
    for column in _COSTS
)
_REFUSE = "BEGIN SELECT RAISE(ABORT, 'a ledger is only ever appended to'); END"

SQLITE = (
    f"""CREATE TABLE privclust_entries (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    label TEXT NOT NULL,
    run TEXT NOT NULL,
    slot TEXT NOT NULL,
    {_DERIVED},
    body TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    hash TEXT NOT NULL,
    UNIQUE (kind, label, run, slot),
    CHECK (kind NOT IN ('reserve', 'claim') OR coalesce(
        typeof(quanta) = 'integer' AND quanta >= 0 AND typeof(slack) = 'real' AND slack >= 0
        AND typeof(tail) = 'real' AND tail >= 0
        AND (pure IS NULL OR (typeof(pure) = 'integer' AND pure >= 0)), 0)))""",
    "CREATE INDEX privclust_entries_run ON privclust_entries (run)",
    # All that adding up needs, so that no entry is read for it.
    "CREATE INDEX privclust_entries_cost ON privclust_entries "
    "(label, kind, run, quanta, slack, tail, pure) WHERE kind IN ('reserve', 'claim', 'close')",
    f"CREATE TRIGGER privclust_no_update BEFORE UPDATE ON privclust_entries {_REFUSE}",
    f"CREATE TRIGGER privclust_no_delete BEFORE DELETE ON privclust_entries {_REFUSE}",
    # INSERT OR REPLACE deletes rows without telling the trigger for deletes.
    "CREATE TRIGGER privclust_no_replace BEFORE INSERT ON privclust_entries WHEN NEW.number <= "
    "(SELECT max(number) FROM privclust_entries) OR EXISTS (SELECT 1 FROM privclust_entries "
    "WHERE (kind, label, run, slot) = (NEW.kind, NEW.label, NEW.run, NEW.slot)) " + _REFUSE,
)


def postgresql(schema: str) -> str:
    """Return the statements that make a ledger in a `schema`, whose name is quoted already."""
    return files(__package__).joinpath("server.sql").read_text("utf-8").replace("{schema}", schema)


def grant(role: str) -> str:
    """Return the statements by which a ledger's owner lets a role fit, and nothing else.

    Examples
    --------
    >>> print(grant("analyst").splitlines()[1])
    GRANT SELECT ON privclust_entries TO "analyst";
    """
    name = quoted(role)
    verbs = (
        "privclust_lock()",
        "privclust_reserve(text, text, jsonb)",
        "privclust_claim(text, text, jsonb, bytea)",
        "privclust_result(text, text, jsonb)",
        "privclust_close(text, jsonb)",
    )
    lines = ["BEGIN;", f"GRANT SELECT ON privclust_entries TO {name};"]
    lines += [f"GRANT EXECUTE ON FUNCTION {verb} TO {name};" for verb in verbs]
    return "\n".join([*lines, "COMMIT;"])


def quoted(role: str) -> str:
    """Return the name of a role as SQL takes it."""
    if not role.strip():
        raise ParameterError("role must not be empty. Type the name of a role of the server.")
    return '"' + role.replace('"', '""') + '"'
