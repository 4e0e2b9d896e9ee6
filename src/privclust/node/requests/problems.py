"""What a node says when it refuses: problem+json (RFC 9457), of a few kinds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Kind = Literal[
    "not-identified",
    "not-allowed",
    "not-found",
    "not-ready",
    "invalid-request",
    "too-costly",
    "budget-exceeded",
    "quota-exceeded",
    "conflict",
    "failed",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
MEDIA_TYPE = "application/problem+json"
_STATUS: dict[Kind, int] = {
    "not-identified": 401,
    "not-allowed": 403,
    "not-found": 404,
    "not-ready": 409,
    "invalid-request": 400,
    "too-costly": 422,
    "budget-exceeded": 403,
    "quota-exceeded": 429,
    "conflict": 409,
    "failed": 500,
}
_TITLES: dict[Kind, str] = {
    "not-identified": "The request identifies no analyst",
    "not-allowed": "The policy of this node does not allow this",
    "not-found": "There is nothing here",
    "not-ready": "There is no result yet",
    "invalid-request": "The request is not one that this node can read",
    "too-costly": "The fit would take more computing than is allowed",
    "budget-exceeded": "The privacy budget does not cover this",
    "quota-exceeded": "Too much at a time",
    "conflict": "The same Idempotency-Key came with another request",
    "failed": "It failed",
}


@dataclass(frozen=True)
class Problem:
    """One refusal.

    Attributes
    ----------
    status : int
        The HTTP status.
    kind : str
        What a program tells problems apart by; the member ``type`` is ``urn:privclust:`` and this.
    title, detail : str
        The kind in words, and what to do.
    extra : mapping
        Public numbers, such as what was requested and what remains.

    Examples
    --------
    >>> Problem(404, "not-found", "There is nothing here", "Check the address.").to_dict()["type"]
    'urn:privclust:not-found'
    """

    status: int
    kind: Kind
    title: str
    detail: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        own = {
            "type": f"urn:privclust:{self.kind}",
            "kind": self.kind,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        return {**self.extra, **own}

    def to_json(self) -> bytes:
        """Return the body."""
        return json.dumps(self.to_dict(), allow_nan=False).encode()


class RequestError(ValueError):
    """A request is refused; the problem says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def problem(kind: Kind, detail: str, *, status: int | None = None, **extra: Any) -> Problem:
    """Return a problem with the status and title of its kind.

    Examples
    --------
    >>> problem("too-costly", "Ask for at most 64 clusters.", max_clusters=64).status
    422
    """
    return Problem(status or _STATUS[kind], kind, _TITLES[kind], detail, extra)


def refused(kind: Kind, detail: str, *, status: int | None = None, **extra: Any) -> RequestError:
    """Return the error of a problem, to be raised.

    Examples
    --------
    >>> raise refused("conflict", "Send another key.")
    Traceback (most recent call last):
    privclust.node.requests.problems.RequestError: Send another key.
    """
    return RequestError(problem(kind, detail, status=status, **extra))


NOT_IDENTIFIED = problem(
    "not-identified",
    "Send a current token of your issuer as 'Authorization: Bearer TOKEN'. If that does not help, "
    "the owner of the node can tell you who is known to it.",
)
NOT_FOUND = problem(
    "not-found",
    "There is none, or it is not yours. GET /v1/tables and GET /v1/fits list what there is for "
    "you.",
)
"""One text for all that does not exist and all that is another's, so that they look alike."""
BUSY = problem(
    "quota-exceeded",
    "As many of your requests are worked on as may be at the same time. Send this one again in a "
    "second.",
)
FAILED = problem("failed", "The owner of the node can find out why. Nothing more can be said here.")
