"""What a node sends is not trusted: values are taken out of its JSON by name and type."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from privclust.remote.error import RemoteError

TEXT_MAX = 2000
_REQUIRED = object()


class Fields:
    """An object of JSON whose values have the types that they should.

    Examples
    --------
    >>> fields = Fields({"name": "credit", "seconds": 600}, "a table")
    >>> fields.text("name"), fields.number("seconds"), fields.text("unit", "")
    ('credit', 600.0, '')
    """

    def __init__(self, content: object, what: str) -> None:
        self._what = what
        if not isinstance(content, dict):
            self.refuse("an object")
        self.content: Mapping[str, Any] = content

    @classmethod
    def of(cls, body: bytes, what: str) -> Fields:
        """Read the body of a response."""
        try:
            content = json.loads(body.decode("utf-8"), parse_constant=_no_number)
        except (ValueError, RecursionError):
            content = None
        return cls(content, what)

    def text(self, name: str, default: Any = _REQUIRED) -> str:
        """Return a text that can be printed."""
        found = self._value(name, default)
        if not isinstance(found, str):
            self.refuse(f"{name}, a text")
        return printable(found)

    def number(self, name: str, default: Any = _REQUIRED) -> float:
        """Return a finite number."""
        found = self._value(name, default)
        if isinstance(found, bool) or not isinstance(found, int | float):
            self.refuse(f"{name}, a number")
        if not abs(found) <= sys.float_info.max:
            self.refuse(f"{name}, a finite number")
        return float(found)

    def integer(self, name: str, default: Any = _REQUIRED) -> int:
        """Return an integer of 64 bits."""
        found = self._value(name, default)
        if isinstance(found, bool) or not isinstance(found, int) or abs(found) >= 2**63:
            self.refuse(f"{name}, an integer")
        return found

    def truth(self, name: str) -> bool:
        """Return True or False."""
        found = self._value(name, _REQUIRED)
        if not isinstance(found, bool):
            self.refuse(f"{name}, true or false")
        return found

    def texts(self, name: str, default: Any = _REQUIRED) -> tuple[str, ...]:
        """Return a list of texts."""
        found = self._value(name, default)
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            self.refuse(f"{name}, a list of texts")
        return tuple(map(printable, found))

    def parts(self, name: str) -> Iterator[Fields]:
        """Give the objects of a list."""
        found = self._value(name, _REQUIRED)
        if not isinstance(found, list):
            self.refuse(f"{name}, a list")
        return (Fields(one, self._what) for one in found)

    def refuse(self, wanted: str) -> NoReturn:
        """Say what is missing, and nothing of what was sent."""
        raise RemoteError(
            f"the node sent {self._what} without {wanted}. It may be of another version, or no "
            "node at all: check the address, and tell its owner."
        )

    def _value(self, name: str, default: object) -> Any:
        found = self.content.get(name)
        if found is not None:
            return found
        return self.refuse(name) if default is _REQUIRED else default


def printable(text: str) -> str:
    """Return a text of limited length that writes nowhere but where it is printed.

    Examples
    --------
    >>> printable("credit" + chr(27) + "[2J")
    'credit?[2J'
    """
    cut = text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"
    return "".join(letter if letter.isprintable() else "?" for letter in cut)


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
