"""Fits and profiles at a node: sent once, waited for, and fetched."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import sleep, time
from typing import Literal

from privclust.errors import Message, Parameter, ParameterError, safe_repr
from privclust.remote._connection import LARGE, PATIENT, Connection, Response
from privclust.remote._fields import Fields
from privclust.remote._problems import check, problem_of
from privclust.remote.error import DESCRIBE, FITS, RemoteError, parts_of

Kind = Literal["fit", "profile"]
Report = Callable[["RunStatus", float], None]
"""Gets how a run stands, and how many seconds are left until it may be released."""
PAUSE_MIN, PAUSE, PAUSE_MAX = 0.2, 2.0, 10.0
"""Seconds between two looks at a run: shortly before its end, before that or when late, at most."""
NEAR = 10.0
"""So many seconds before its end a run is looked at more often."""
_PLACES: dict[Kind, tuple[str, str]] = {
    "fit": ("fits", "model"),
    "profile": ("profiles", "profile"),
}
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_ENDED: dict[str, str] = {
    "failed": (
        "it failed. Why is withheld, because it may depend on rows; all that it reserved is spent. "
        "Ask the owner of the node, who finds out on their own machine"
    ),
    "cancelled": "it was cancelled, and all that it reserved is spent. Fit again",
    "refused": Message(
        "what was left of your part of the budget, or of the table's total, did not cover it. "
        "Nothing was read. ",
        DESCRIBE,
        " says what is left",
    ),
}
"""How a run may end without a result."""


@dataclass(frozen=True)
class RunStatus:
    """How a fit or a profile at a node stands; its times are public and say nothing of rows.

    Attributes
    ----------
    id : str
        What to resume or cancel it by.
    kind : {"fit", "profile"}
        What it is.
    table : str
        Which table it reads.
    state : {"queued", "running", "finished", "failed", "cancelled", "refused"}
        Where it stands.
    progress : float
        Which part of its time has passed, in tenths.
    submitted, starts_at, release_at : int
        When it came, starts, and is released, in seconds since 1970.
    price : float
        What it counts of the work that the node does for you.
    """

    id: str
    kind: str
    table: str
    state: str
    progress: float
    submitted: int
    starts_at: int
    release_at: int
    price: float

    @property
    def late(self) -> bool:
        """Whether it runs on past its time."""
        return self.state == "running" and self.progress >= 1

    def seconds_left(self, now: float) -> float:
        """Return how many seconds are left until it may be released.

        A node releases what is late once, twice or more often its length after its time. Just
        after its time, a result may be on its way: then it is 0.

        Examples
        --------
        >>> run = RunStatus("0a", "fit", "credit", "running", 0.5, 90, 100, 700, 600.0)
        >>> [run.seconds_left(now) for now in (400, 703, 760, 1360)]
        [300.0, 0.0, 540.0, 540.0]
        """
        length, over = self.release_at - self.starts_at, float(now - self.release_at)
        if over < NEAR or length <= 0:
            return max(-over, 0.0)
        return length - over % length

    @classmethod
    def of(cls, found: Fields) -> RunStatus:
        """Read what a node sent."""
        return cls(
            check_id(found.text("id")),
            found.text("kind", "fit"),
            found.text("table"),
            found.text("state"),
            min(max(found.number("progress", 0), 0.0), 1.0),
            found.integer("submitted", 0),
            found.integer("starts_at", 0),
            found.integer("release_at", 0),
            found.number("price", 0),
        )


def check_id(name: object, parameter: str = "resume") -> str:
    """Return the id of a run, or say that it is none."""
    if isinstance(name, str) and _ID.fullmatch(name):
        return name
    raise ParameterError(
        Message(
            Parameter(parameter),
            " must be the id of a fit at the node, such as ",
            FITS,
            f" lists; got {safe_repr(name)}.",
        )
    )


def run_at_node(
    connection: Connection,
    kind: Kind,
    content: Mapping[str, object],
    resume: str | None,
    report: Report,
) -> tuple[str, bytes]:
    """Return the id of a run and what it released: one that is sent now, or the one to resume."""
    name = check_id(resume) if resume is not None else _submit(connection, kind, content).id
    with _noting_how_to_resume(kind, name):
        return name, _result(connection, kind, name, report)


def _submit(connection: Connection, kind: Kind, content: Mapping[str, object]) -> RunStatus:
    place, _ = _PLACES[kind]
    body = json.dumps(content, allow_nan=False).encode()
    try:
        response = connection.send(
            "POST", connection.address.path(place), body, key=secrets.token_hex(16)
        )
    except RemoteError as error:
        if error.kind == "unreachable":
            error.add_note(
                Message(
                    f"privclust: the node may have taken the {kind} all the same: ",
                    FITS,
                    " of the table lists those that it has. Resume that one, so that nothing is "
                    "paid twice.",
                )
            )
        raise
    return RunStatus.of(Fields.of(check(response, 200, 201, 202).body, "a status"))


def _result(connection: Connection, kind: Kind, name: str, report: Report) -> bytes:
    """Wait until a run ends and return what it released."""
    place, result = _PLACES[kind]
    path = connection.address.path
    while True:
        response = check(connection.send("GET", path(place, name), pauses=PATIENT), 200)
        status = RunStatus.of(Fields.of(response.body, "a status"))
        if status.id != name:
            raise RemoteError(f"the node sent the status of another {kind}. Tell its owner.")
        now = _now(response)
        if status.state in _ENDED:
            cause = parts_of(_ENDED[status.state])
            raise RemoteError(Message(f"of the {kind} {name}: ", *cause, "."), status.state)
        if status.state == "finished":
            found = connection.send("GET", path(place, name, result), most=LARGE, pauses=PATIENT)
            if found.status == 200:
                return found.body
            problem = problem_of(found)
            if problem.kind != "not-ready":
                raise problem
        report(status, status.seconds_left(now))
        sleep(pause(max(status.release_at - now, 0.0)))


def pause(left: float) -> float:
    """Return how long to wait before the next look at a run that has so many seconds left.

    Examples
    --------
    >>> [pause(left) for left in (600, 15, 5, 1, 0)]
    [10.0, 2.0, 0.5, 0.2, 2.0]
    """
    least = PAUSE_MIN if 0 < left <= NEAR else PAUSE
    return min(max(left / 10, least), PAUSE_MAX)


def _now(response: Response) -> float:
    """Return the node's time, by which a run is released; ours, if it does not say."""
    try:
        return parsedate_to_datetime(response.headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return time()


@contextmanager
def _noting_how_to_resume(kind: Kind, name: str) -> Iterator[None]:
    """Whatever ends the waiting too early, add how to wait again."""
    try:
        yield
    except BaseException as error:
        if not (isinstance(error, RemoteError) and error.kind in (*_ENDED, "not-found")):
            call = f"fit(table, resume={name!r})"
            if kind == "profile":
                call = f"profile(table, ..., resume={name!r})"
            error.add_note(
                Message(
                    f"privclust: the {kind} {name} is at the node; ",
                    Parameter("resume", name, call),
                    " waits for it, and nothing is paid twice.",
                )
            )
        raise
