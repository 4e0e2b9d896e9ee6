"""Addresses at nodes, such as https://host/tables/credit and https://host/federations/wards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from privclust.errors import ParameterError, safe_repr

LOCAL = ("127.0.0.1", "localhost")
"""Hosts to which a token may go without TLS: it does not leave the machine."""
NAME_MAX = 200
_PATH = r"(?P<prefix>(?:/[\w.~-]+)*?)(?:/v1)?/{place}/(?P<name>[^/]+)/?"


Place = Literal["tables", "federations"]
_WHAT: dict[Place, tuple[str, str]] = {
    "tables": ("table", "https://host/tables/credit"),
    "federations": ("federation", "https://host/federations/wards"),
}


@dataclass(frozen=True)
class Address:
    """Where a node is, and what it calls a table, or a federation that it takes part in.

    Examples
    --------
    >>> address = Address.of("https://node.example/tables/credit")
    >>> address.host, address.table, address.path("tables", "credit cards")
    ('node.example', 'credit', '/v1/tables/credit%20cards')
    """

    secure: bool
    host: str
    port: int
    prefix: str
    table: str

    @classmethod
    def of(cls, url: object, place: Place = "tables") -> Address:
        """Read an address as a user types it."""
        what, example = _WHAT[place]
        if not isinstance(url, str) or not is_address(url):
            # A text is not repeated: it may be an address of something else, with a password.
            got = "another text" if isinstance(url, str) else safe_repr(url)
            raise ParameterError(f"a remote {what} needs an address such as {example}; got {got}.")
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None:
            # Nothing of it is repeated here: it may be a password.
            raise ParameterError(
                f"the address of a remote {what} holds a user or a password. Leave them out, and "
                "put a token into the environment variable PRIVCLUST_TOKEN."
            )
        found = re.fullmatch(_PATH.format(place=place), parts.path)
        name = unquote(found["name"]) if found else ""
        if found is None or parts.query or parts.fragment or not _is_name(name):
            raise ParameterError(
                f"the address does not name a {what}. Type its address, such as {example}, "
                "without anything behind the name."
            )
        secure, host = parts.scheme == "https", parts.hostname or ""
        if not secure and host not in LOCAL:
            raise ParameterError(
                "a token must not travel in the clear: http:// is for 127.0.0.1 and localhost "
                f"alone. Type https:// in place of it; got {safe_repr(url)}."
            )
        return cls(secure, host, _port(parts.port, secure), found["prefix"], name)

    @property
    def place(self) -> str:
        """Host and port, for messages."""
        usual = self.port == (443 if self.secure else 80)
        return self.host if usual else f"{self.host}:{self.port}"

    def path(self, *parts: str) -> str:
        """Return the path of something at the node."""
        return f"{self.prefix}/v1/{'/'.join(quote(part, safe='') for part in parts)}"


def is_address(text: str) -> bool:
    """Tell whether a text is an address and not a path.

    Examples
    --------
    >>> is_address("https://host/tables/credit"), is_address("credit.parquet")
    (True, False)
    """
    try:
        parts = urlsplit(text)
        return parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not an integer, or half an IPv6 address
        return False


def _is_name(text: str) -> bool:
    return 0 < len(text) <= NAME_MAX and text.isprintable()


def _port(typed: int | None, secure: bool) -> int:
    return typed if typed is not None else 443 if secure else 80
