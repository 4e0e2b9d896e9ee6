"""Requests of federations and their replies, in a table beside the jobs that serve them.

Every method is one transaction. What a reply says is decided by the ledger: a reply that is stored
twice is the same twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privclust.node.jobs.store import QuotaError
from privclust.privacy.ledger._database import Database
from privclust.privacy.ledger._sql_session import Session

REQUESTS_MAX = 4096
"""Of one fit: PrivateKMeans sends some 30."""
NUMBER_BYTES, ENTRY_BYTES = 22, 2**11
"""What a number of a reply takes up in a ledger, and what two entries do without any."""
Outcome = Literal["replied", "refused", "failed"]

_TABLE = """CREATE TABLE privclust_sum_requests (
    run TEXT NOT NULL,
    request TEXT NOT NULL,
    number BIGINT NOT NULL,
    content {bytes} NOT NULL,
    written BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('requested', 'replied', 'refused', 'failed')),
    visible_at BIGINT,
    reply {bytes},
    PRIMARY KEY (run, request),
    UNIQUE (run, number),
    CHECK ((state = 'requested') = (reply IS NULL)),
    CHECK ((state = 'requested') = (visible_at IS NULL)))"""
_KNOWN = "SELECT 1 FROM privclust_sum_requests WHERE run = :run AND request = :request"
_SIZE = "SELECT count(*), coalesce(sum(written), 0) FROM privclust_sum_requests WHERE run = :run"
_INSERT = (
    "INSERT INTO privclust_sum_requests (run, request, number, content, written, state) "
    "VALUES (:run, :request, :number, :content, :written, 'requested')"
)
_NEXT = (
    "SELECT request, content FROM privclust_sum_requests WHERE run = :run AND state = 'requested' "
    "ORDER BY number LIMIT 1"
)
_STORE = (
    "UPDATE privclust_sum_requests SET state = :state, reply = :reply, visible_at = :visible_at "
    "WHERE run = :run AND request = :request AND state = 'requested'"
)
_GET = (
    "SELECT state, visible_at, reply FROM privclust_sum_requests "
    "WHERE run = :run AND request = :request"
)
_DROP = "DELETE FROM privclust_sum_requests WHERE run = :run"


@dataclass(frozen=True, eq=False)
class SumState:
    """What became of a request.

    Attributes
    ----------
    outcome : {"replied", "refused", "failed"} or None
        None as long as it waits.
    visible_at : int
        From when that may be seen, in POSIX seconds; 0 as long as it waits.
    content : bytes
        The encoded reply, or why it was refused.
    """

    outcome: Outcome | None
    visible_at: int = 0
    content: bytes = b""


class SumRequestStore(Database):
    """The table of requests, which is made where it is missing.

    Parameters
    ----------
    place : str
        The ledger: path of a SQLite file, or a URL that starts with ``postgresql://``.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = SumRequestStore(f"{folder.name}/ledger.db")
    >>> store.submit("00112233aabbccdd", "ab12", b"a request", size=8, most=10**6)
    True
    >>> store.next("00112233aabbccdd")
    ('ab12', b'a request')
    >>> store.store("00112233aabbccdd", "ab12", SumState("replied", 1000, b"a reply"))
    >>> store.get("00112233aabbccdd", "ab12").content
    b'a reply'
    >>> folder.cleanup()
    """

    _table = "privclust_sum_requests"
    _lock = "SET LOCAL lock_timeout = '5s'; LOCK TABLE privclust_sum_requests IN EXCLUSIVE MODE"

    def __init__(self, place: str) -> None:
        super().__init__(place)
        if not self.exists():
            self.make()

    def submit(self, run: str, request: str, content: bytes, size: int, most: int) -> bool:
        """Keep a request of a hash, to which a reply has `size` numbers, and tell if it is new.

        Raises `QuotaError` if a fit has sent as many as one may, or requests and replies of it
        would take up more than `most` bytes of the ledger.
        """
        more = len(content) + NUMBER_BYTES * size + ENTRY_BYTES
        named = {"run": run, "request": request}
        with self._transaction() as session:
            if session.execute(_KNOWN, named):
                return False
            ((number, written),) = session.execute(_SIZE, {"run": run})
            if number >= REQUESTS_MAX:
                raise QuotaError(f"one fit may send {REQUESTS_MAX:,} requests, and has sent them.")
            if written + more > most:
                raise QuotaError(
                    f"one fit may write {most:,} bytes into the ledger of this node. So far it has "
                    f"written {written:,}, and this request, whose reply has {size:,} numbers, "
                    f"would write {more:,} more. Its owner may set more megabytes in the policy."
                )
            new = {"number": number + 1, "content": content, "written": more}
            session.execute(_INSERT, {**named, **new})
        return True

    def next(self, run: str) -> tuple[str, bytes] | None:
        """Return hash and content of the first request that waits, or None."""
        with self._connected() as session:
            found = session.execute(_NEXT, {"run": run})
        return (found[0][0], bytes(found[0][1])) if found else None

    def store(self, run: str, request: str, found: SumState) -> None:
        """Keep what became of a request, unless that is known."""
        values = {"state": found.outcome, "reply": found.content, "visible_at": found.visible_at}
        with self._transaction() as session:
            session.execute(_STORE, {"run": run, "request": request, **values})

    def get(self, run: str, request: str) -> SumState | None:
        """Return what became of a request; None if it was never sent."""
        with self._connected() as session:
            rows = session.execute(_GET, {"run": run, "request": request})
        if not rows:
            return None
        state, visible_at, content = rows[0]
        return (
            SumState(None) if state == "requested" else SumState(state, visible_at, bytes(content))
        )

    def drop(self, run: str) -> None:
        """Delete all requests of a fit; the ledger keeps what was measured."""
        with self._transaction() as session:
            session.execute(_DROP, {"run": run})

    def _schema(self, session: Session) -> tuple[str, ...]:
        return (_TABLE.format(bytes="BYTEA" if session.server else "BLOB"),)
