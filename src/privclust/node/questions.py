"""Questions of federations and their answers, in a table beside the jobs that answer them.

Every method is one transaction. What is answered is decided by the ledger: an answer that is stored
twice is the same twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privclust.node.jobs import QuotaError
from privclust.privacy.ledger._database import Database
from privclust.privacy.ledger._sql_session import Session

QUESTIONS_MAX, BYTES_MAX = 4096, 2**28
"""Of one fit: PrivateKMeans puts some 30, and a question has a few kilobytes."""
Outcome = Literal["answered", "refused", "failed"]

_TABLE = """CREATE TABLE privclust_questions (
    run TEXT NOT NULL,
    question TEXT NOT NULL,
    number BIGINT NOT NULL,
    content {bytes} NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'refused', 'failed')),
    visible_at BIGINT,
    answer {bytes},
    PRIMARY KEY (run, question),
    UNIQUE (run, number),
    CHECK ((state = 'asked') = (answer IS NULL)),
    CHECK ((state = 'asked') = (visible_at IS NULL)))"""
_KNOWN = "SELECT 1 FROM privclust_questions WHERE run = :run AND question = :question"
_SIZE = (
    "SELECT count(*), coalesce(sum(length(content)), 0) FROM privclust_questions WHERE run = :run"
)
_INSERT = (
    "INSERT INTO privclust_questions (run, question, number, content, state) "
    "VALUES (:run, :question, :number, :content, 'asked')"
)
_NEXT = (
    "SELECT question, content FROM privclust_questions WHERE run = :run AND state = 'asked' "
    "ORDER BY number LIMIT 1"
)
_STORE = (
    "UPDATE privclust_questions SET state = :state, answer = :answer, visible_at = :visible_at "
    "WHERE run = :run AND question = :question AND state = 'asked'"
)
_GET = (
    "SELECT state, visible_at, answer FROM privclust_questions "
    "WHERE run = :run AND question = :question"
)
_DROP = "DELETE FROM privclust_questions WHERE run = :run"


@dataclass(frozen=True, eq=False)
class Asked:
    """What became of a question.

    Attributes
    ----------
    outcome : {"answered", "refused", "failed"} or None
        None as long as it waits.
    visible_at : int
        From when that may be seen, in POSIX seconds; 0 as long as it waits.
    content : bytes
        The encoded answer, or why it was refused.
    """

    outcome: Outcome | None
    visible_at: int = 0
    content: bytes = b""


class QuestionStore(Database):
    """The table of questions, which is made where it is missing.

    Parameters
    ----------
    place : str
        The ledger: path of a SQLite file, or a URL that starts with ``postgresql://``.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = QuestionStore(f"{folder.name}/ledger.db")
    >>> store.ask("00112233aabbccdd", "ab12", b"a question")
    True
    >>> store.next("00112233aabbccdd")
    ('ab12', b'a question')
    >>> store.store("00112233aabbccdd", "ab12", Asked("answered", 1000, b"an answer"))
    >>> store.get("00112233aabbccdd", "ab12").content
    b'an answer'
    >>> folder.cleanup()
    """

    _table = "privclust_questions"
    _lock = "SET LOCAL lock_timeout = '5s'; LOCK TABLE privclust_questions IN EXCLUSIVE MODE"

    def __init__(self, place: str) -> None:
        super().__init__(place)
        if not self.exists():
            self.make()

    def ask(self, run: str, question: str, content: bytes) -> bool:
        """Keep a question of a hash, and tell whether it is new.

        Raises `QuotaError` if a fit has put as many as one may.
        """
        named = {"run": run, "question": question}
        with self._transaction() as session:
            if session.execute(_KNOWN, named):
                return False
            ((number, size),) = session.execute(_SIZE, {"run": run})
            if number >= QUESTIONS_MAX or size + len(content) > BYTES_MAX:
                raise QuotaError(
                    f"one fit may put {QUESTIONS_MAX:,} questions of {BYTES_MAX:,} bytes together."
                )
            session.execute(_INSERT, {**named, "number": number + 1, "content": content})
        return True

    def next(self, run: str) -> tuple[str, bytes] | None:
        """Return hash and content of the first question that waits, or None."""
        with self._connected() as session:
            found = session.execute(_NEXT, {"run": run})
        return (found[0][0], bytes(found[0][1])) if found else None

    def store(self, run: str, question: str, found: Asked) -> None:
        """Keep what became of a question, unless that is known."""
        values = {"state": found.outcome, "answer": found.content, "visible_at": found.visible_at}
        with self._transaction() as session:
            session.execute(_STORE, {"run": run, "question": question, **values})

    def get(self, run: str, question: str) -> Asked | None:
        """Return what became of a question; None if it was never put."""
        with self._connected() as session:
            rows = session.execute(_GET, {"run": run, "question": question})
        if not rows:
            return None
        state, visible_at, content = rows[0]
        return Asked(None) if state == "asked" else Asked(state, visible_at, bytes(content))

    def drop(self, run: str) -> None:
        """Delete all questions of a fit; the ledger keeps what was answered."""
        with self._transaction() as session:
            session.execute(_DROP, {"run": run})

    def _schema(self, session: Session) -> tuple[str, ...]:
        return (_TABLE.format(bytes="BYTEA" if session.server else "BLOB"),)
