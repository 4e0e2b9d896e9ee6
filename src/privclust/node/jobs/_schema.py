"""The table of jobs, which is made beside the entries of a ledger, and its statements.

Both databases understand all of them.
"""

from __future__ import annotations

from privclust.node.jobs.job import COLUMNS
from privclust.privacy.ledger._sql_schema import grant as ledger_grant
from privclust.privacy.ledger._sql_schema import quoted

TABLE = (
    """CREATE TABLE privclust_jobs (
    run TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('fit', 'profile', 'replies')),
    analyst TEXT NOT NULL,
    table_name TEXT NOT NULL,
    request TEXT NOT NULL,
    price DOUBLE PRECISION NOT NULL CHECK (price >= 0),
    submitted BIGINT NOT NULL,
    lane BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    release_at BIGINT NOT NULL,
    seconds BIGINT NOT NULL CHECK (seconds > 0),
    state TEXT NOT NULL CHECK (
        state IN ('queued', 'refused', 'finished', 'failed', 'cancelled')),
    lease TEXT NOT NULL,
    lease_until DOUBLE PRECISION NOT NULL,
    attempts BIGINT NOT NULL,
    visible_at BIGINT,
    result TEXT,
    CHECK ((state IN ('finished', 'failed')) = (visible_at IS NOT NULL)),
    CHECK ((state = 'finished') = (result IS NOT NULL)))""",
    "CREATE INDEX privclust_jobs_lane ON privclust_jobs (lane, release_at)",
    "CREATE INDEX privclust_jobs_analyst ON privclust_jobs (analyst, submitted)",
    "CREATE INDEX privclust_jobs_queued ON privclust_jobs (starts_at) WHERE state = 'queued'",
)

INSERT = (
    f"INSERT INTO privclust_jobs ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(f':{name}' for name in COLUMNS)})"
)
GET = f"SELECT {', '.join(COLUMNS)} FROM privclust_jobs WHERE run = :run"
OF_ANALYST = (  # without results, which may be long
    f"SELECT {', '.join(COLUMNS[:-1])} FROM privclust_jobs WHERE analyst = :analyst "
    "ORDER BY submitted, starts_at, run"
)
ENDS = "SELECT lane, max(release_at) FROM privclust_jobs WHERE state <> 'refused' GROUP BY lane"
WORK = (  # also of refused jobs: they are stored, and could be sent for ever
    "SELECT coalesce(sum(price), 0) FROM privclust_jobs "
    "WHERE analyst = :analyst AND submitted > :since"
)

_PUBLIC_STATE = (
    "CASE WHEN state IN ('refused', 'cancelled') THEN state WHEN starts_at > :now THEN 'queued' "
    "WHEN visible_at IS NULL OR visible_at > :now THEN 'running' ELSE state END"
)
"""What `status_at` says, for the database to count."""
UNFINISHED = (  # a cancelled one keeps its lane, so that times of others stay as they are
    "SELECT count(*) FROM privclust_jobs WHERE analyst = :analyst "
    f"AND ({_PUBLIC_STATE} IN ('queued', 'running') "
    "OR (state = 'cancelled' AND release_at > :now))"
)
COUNTS = f"SELECT {_PUBLIC_STATE} AS public_state, count(*) FROM privclust_jobs GROUP BY 1"

FAILED = (
    "SELECT run, analyst, table_name FROM privclust_jobs WHERE state = 'failed' "
    "AND visible_at <= :now ORDER BY visible_at DESC, run LIMIT 20"
)

HELD = (
    "SELECT coalesce(sum(CASE WHEN lease_until > :now THEN 1 ELSE 0 END), 0), "
    "coalesce(sum(CASE WHEN lease_until <= :now AND starts_at <= :since THEN 1 ELSE 0 END), 0) "
    "FROM privclust_jobs WHERE state = 'queued'"
)
DUE = (
    f"SELECT {', '.join(COLUMNS)} FROM privclust_jobs WHERE state = 'queued' "
    "AND starts_at <= :now AND lease_until <= :now ORDER BY starts_at, submitted, run LIMIT 1"
)
LEASE = (
    "UPDATE privclust_jobs SET lease = :token, lease_until = :until, attempts = attempts + 1 "
    "WHERE run = :run"
)
_HOLDS = "run = :run AND state = 'queued' AND lease = :token AND lease_until > :now RETURNING run"
RENEW = f"UPDATE privclust_jobs SET lease_until = :until WHERE {_HOLDS}"
GIVE_BACK = f"UPDATE privclust_jobs SET lease = '', lease_until = 0 WHERE {_HOLDS}"
END = (
    "UPDATE privclust_jobs SET state = :state, result = :result, visible_at = :visible_at, "
    f"lease = '', lease_until = 0 WHERE {_HOLDS}"
)
GIVE_UP = (
    "UPDATE privclust_jobs SET state = 'failed', visible_at = :visible_at, lease = '', "
    "lease_until = 0 WHERE run = :run"
)
CANCEL = (
    "UPDATE privclust_jobs SET state = 'cancelled', visible_at = NULL, result = NULL, "
    "lease = '', lease_until = 0 WHERE run = :run "
    f"AND {_PUBLIC_STATE} IN ('queued', 'running')"
)
CLOSE = (
    "UPDATE privclust_jobs SET state = 'finished', result = '', visible_at = :at, "
    "release_at = :at, lease = '', lease_until = 0 "
    "WHERE run = :run AND kind = 'replies' AND state = 'queued'"
)
AGAIN = (
    "UPDATE privclust_jobs SET state = 'queued', result = NULL, visible_at = NULL, "
    "price = price + :price, seconds = :seconds, submitted = :submitted, lane = :lane, "
    "starts_at = :starts_at, release_at = :release_at, attempts = 0 "
    "WHERE run = :run AND kind = 'replies' AND state = 'finished'"
)
REFUSE = (
    "UPDATE privclust_jobs SET state = 'refused', visible_at = NULL, lease = '', lease_until = 0 "
    "WHERE run = :run AND state IN ('queued', 'failed')"
)


def grant(role: str) -> str:
    """Return the statements by which a ledger's owner lets a role run a node, and nothing else.

    Web process and worker are one role: a run belongs to the role that reserved it.

    Examples
    --------
    >>> print(grant("node").splitlines()[-3])
    GRANT SELECT, INSERT, UPDATE ON privclust_jobs TO "node";
    """
    *lines, last = ledger_grant(role).splitlines()
    lines.append(f"GRANT SELECT, INSERT, UPDATE ON privclust_jobs TO {quoted(role)};")
    lines.append(
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON privclust_sum_requests TO {quoted(role)};"
    )
    return "\n".join([*lines, last])
