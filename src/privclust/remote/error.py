"""What goes wrong between an analyst and a node."""

from __future__ import annotations

from privclust.errors import Message, Parameter


def said_as(python: str, prompt: str) -> Parameter:
    """Return what a message calls otherwise at a prompt than in Python.

    Examples
    --------
    >>> str(said_as("fits()", "privclust describe --fits"))
    'fits()'
    """
    return Parameter(prompt, python=python)


def parts_of(text: str) -> tuple[str | Parameter, ...]:
    """Return the parts of a text, to make a longer message of it."""
    return text.parts if isinstance(text, Message) else (text,)


DESCRIBE = said_as("describe()", "privclust describe")
FITS = said_as("fits()", "privclust describe --fits")


class RemoteError(RuntimeError):
    """A node could not be reached, refused a request, or sent what it should not.

    Attributes
    ----------
    kind : str
        What the node calls it, such as "not-found"; "unreachable" if it gave no response, "" if it
        says nothing of the kind.
    numbers : dict
        What it says in numbers, such as what was requested and what remains.

    Examples
    --------
    >>> from privclust import RemoteError, RemoteTable
    >>> try:
    ...     RemoteTable("https://node.example/tables/credit").describe()
    ... except RemoteError as error:
    ...     print(str(error)[:23])
    there is no token to sh
    """

    def __init__(self, text: str, kind: str = "", numbers: dict[str, float] | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.numbers = numbers or {}
