"""What a node refuses, as an error with cause and remedy."""

from __future__ import annotations

import json
import re
from typing import Any

from privclust.errors import Message
from privclust.remote._connection import Response
from privclust.remote._fields import printable
from privclust.remote.error import FITS, RemoteError, parts_of, said_as

_CAUSES: dict[str, str] = {
    "not-identified": Message(
        "the node does not know who you are. Your token may have expired: get a new one from your "
        "identity provider. If the node wants a client certificate, name it with ",
        said_as("certificate", "--certificate"),
        ".",
    ),
    "not-allowed": "the node does not allow this to you.",
    "not-found": Message(
        "the node has nothing of that name for you. Check the name of the table, and compare ids "
        "with ",
        FITS,
        "; tables that you may not use look like those that do not exist. Ask the owner for "
        "access.",
    ),
    "invalid-request": "the node cannot use this request.",
    "too-costly": "the node does not compute as much as this for you.",
    "budget-exceeded": (
        "what is left of your part of the budget, or of the table's total, does not cover this "
        "run; nothing was read. Ask for less, or talk to the owner of the table."
    ),
    "quota-exceeded": (
        "you have used up what the node computes for you now. Wait for fits that are queued, or "
        "until tomorrow. Nothing was spent."
    ),
    "conflict": "the node has another request under the same key. Send this one again.",
    "not-ready": "the fit has not ended. Wait for it.",
    "failed": (
        "the run failed at the node. Why is withheld, because it may depend on rows; all that it "
        "reserved is spent. Ask the owner of the node, who finds out on their own machine."
    ),
}
"""Of each kind of problem: what it means, and what to do if that never differs."""
_REMEDIES = {
    "not-allowed": " Ask the owner of the table.",
    "too-costly": " Ask for fewer clusters or columns.",
}
"""What to do if the node does not say it: its own advice may be another."""
_STATUSES = {401: "not-identified", 403: "not-allowed", 404: "not-found", 429: "quota-exceeded"}
"""What a proxy may say before a node does."""
_KIND = re.compile(r"[a-z-]{1,40}")


def check(response: Response, *expected: int) -> Response:
    """Return a response of an expected status; raise an error of any other."""
    if response.status in expected:
        return response
    raise problem_of(response)


def problem_of(response: Response) -> RemoteError:
    """Return the error that a response describes, by RFC 9457 or by its status alone."""
    content = _content(response)
    kind = re.split(r"[/:#]", str(content.get("type", "")))[-1]
    if not _KIND.fullmatch(kind) or kind not in _CAUSES:
        kind = _STATUSES.get(response.status, "")
    if 300 <= response.status < 400:
        text = "the node sends to another address, and no token follows. Type that address."
    else:
        text = _CAUSES.get(
            kind,
            f"the node failed with status {response.status}. Try again later, or tell its owner.",
        )
    detail = _detail(content)
    advice = f" The node says: {detail}" if detail else _REMEDIES.get(kind, "")
    if advice:
        text = Message(*parts_of(text), advice)
    return RemoteError(text, kind, _numbers(content))


def said_by_node(response: Response) -> str:
    """Return a node's own words of a problem, as far as they can be printed; "" without any."""
    return _detail(_content(response))


def _detail(content: dict[str, Any]) -> str:
    detail = content.get("detail")
    return printable(detail.strip()) if isinstance(detail, str) else ""


def _content(response: Response) -> dict[str, Any]:
    if "json" not in response.headers.get("content-type", ""):
        return {}
    try:
        content = json.loads(response.body.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _numbers(content: dict[str, Any]) -> dict[str, float]:
    """Return what a problem says in numbers beside its status."""
    return {
        name: float(value)
        for name, value in content.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and name != "status"
        and abs(value) < 2**63
    }
