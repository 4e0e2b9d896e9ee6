"""What goes wrong between an analyst and a node."""

from __future__ import annotations


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
