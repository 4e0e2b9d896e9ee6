"""A node of a federation, as whoever coordinates a fit sees it: over HTTPS, as bytes."""

from __future__ import annotations

from typing import NoReturn

from privclust.errors import (
    AbsentNodeError,
    FailedNodeError,
    Message,
    NodeRefusedError,
    Parameter,
    ParameterError,
)
from privclust.remote._address import Address
from privclust.remote._connection import BYTES, SMALL, Certificate, Connection, Response
from privclust.remote._fields import Fields
from privclust.remote._problems import problem_of, said_by_node
from privclust.remote.error import RemoteError

_KEY_BYTES = 32
_RESTART: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0, 10.0)
"""So long a node may take to come back. What is set aside at one that is not told of the end stays
so until its owner frees it."""
_ONCE: tuple[float, ...] = ()
"""Requests are sent again anyway, by whoever waits for all nodes."""
_OWN_WORDS = ("not-allowed", "quota-exceeded", "conflict")
"""Kinds of problems of which a node says itself what is wrong, and with what values."""


class RemoteNode:
    """A node that takes part in a federation, for `NodeFederation`.

    The node decides by its owner's policy and ledger whether it takes part. What it sends has its
    noise and is masked: only the sum over all nodes can be read (docs/federated-nodes.md).

    Parameters
    ----------
    url : str
        Where it is, such as "https://north.example/federations/wards". TLS is always verified;
        http:// is for 127.0.0.1 and localhost alone.
    name : str, optional
        What the other nodes call it; by default what it says itself.
    identity : str, optional
        Its public key, 64 hexadecimal digits, as its owner gave it to you; by default what it says
        itself. The other nodes compare it with their own policies in either case.
    token : str, optional
        Who you are: a token of the identity provider that this node trusts. By default it is that
        of the environment variable PRIVCLUST_TOKEN, or of the file that PRIVCLUST_TOKEN_FILE
        names, read anew for each request. It is never shown, pickled or saved.
    ca_file : str, optional
        A PEM file with the authority that signed the node's certificate, if it is your own.
    certificate : str or pair of str, optional
        A PEM file with your client certificate and its key, or one file each, if the node wants it.

    Examples
    --------
    >>> RemoteNode("https://north.example/federations/wards", name="north", identity="ab" * 32)
    RemoteNode('https://north.example/federations/wards', name='north')
    """

    def __init__(
        self,
        url: str,
        name: str | None = None,
        identity: str | None = None,
        token: str | None = None,
        ca_file: str | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        self.url = url
        self._name = name
        self._identity = None if identity is None else _key(identity)
        self._files = ca_file, certificate
        self._connection = Connection(Address.of(url, "federations"), token, ca_file, certificate)

    def __repr__(self) -> str:
        name = "" if self._name is None else f", name={self._name!r}"
        return f"{type(self).__name__}({self.url!r}{name})"

    def __reduce__(self) -> tuple[object, ...]:
        # Without the token: those who get a pickle bring their own.
        identity = None if self._identity is None else self._identity.hex()
        return type(self), (self.url, self._name, identity, None, *self._files)

    @property
    def name(self) -> str:
        """What the other nodes call it."""
        if self._name is None:
            self._describe()
        assert self._name is not None
        return self._name

    @property
    def identity(self) -> bytes:
        """The public key that the other nodes know it by."""
        if self._identity is None:
            self._describe()
        assert self._identity is not None
        return self._identity

    def offer(self, message: bytes) -> bytes:
        """Return the node's signed key for a fit of the terms in `message`."""
        return self._accepted(self._send("POST", "offers", message, _RESTART), 200).body

    def join(self, message: bytes) -> None:
        """Let the node check the agreement in `message` in full and set its price aside."""
        self._accepted(self._send("POST", "agreements", message, _RESTART), 204)

    def submit(self, message: bytes) -> None:
        """Send the request for sums in `message`."""
        self._accepted(self._send("POST", "requests", message), 202)

    def reply(self, agreement: bytes, request: bytes) -> bytes | None:
        """Return the reply to a `request` of an `agreement`, both by hash; None before it is there.

        A node that has lost the request is absent.
        """
        path = f"replies/{agreement.hex()}/{request.hex()}"
        response = self._send("GET", path)
        if response.status == 404:
            raise AbsentNodeError(f"{self.name} does not know of the request any more.")
        found = self._accepted(response, 200, 204)
        return found.body if found.status == 200 else None

    def end(self, agreement: bytes) -> None:
        """End the fit of an `agreement`: the node deletes its secret and frees what is left."""
        self._accepted(self._send("POST", "end", agreement, _RESTART), 204)

    def _send(
        self,
        method: str,
        path: str = "",
        body: bytes | None = None,
        pauses: tuple[float, ...] = _ONCE,
    ) -> Response:
        address = self._connection.address
        whole = address.path("federations", address.table, *filter(None, path.split("/")))
        try:
            return self._connection.send(method, whole, body, most=SMALL, pauses=pauses, kind=BYTES)
        except RemoteError as error:
            if error.kind != "unreachable":
                raise
            raise AbsentNodeError(f"{self._called}: {error}") from None

    @property
    def _called(self) -> str:
        return self._name or self.url

    def _accepted(self, response: Response, *expected: int) -> Response:
        """Return a response of an expected status, or say what the node refuses."""
        return response if response.status in expected else self._refuse(response)

    def _refuse(self, response: Response) -> NoReturn:
        error, own_words = problem_of(response), said_by_node(response)
        is_problem = "json" in response.headers.get("content-type", "")
        if error.kind == "failed":
            raise FailedNodeError(self._called)
        if response.status >= 500 or (response.status == 429 and not is_problem):
            # A database that is gone for a moment, or a proxy that wants fewer requests a second.
            raise AbsentNodeError(f"{self._called}: {error}")
        if error.kind in _OWN_WORDS and own_words:
            named = own_words.startswith(f"{self._name} refuses: ")
            raise NodeRefusedError(own_words if named else f"{self._called} refuses: {own_words}")
        raise NodeRefusedError(f"{self._called}: {error}")

    def _describe(self) -> None:
        """Take the node's word for what the user did not give."""
        found = Fields.of(self._accepted(self._send("GET"), 200).body, "a federation")
        self._name = self._name or found.text("member")
        self._identity = self._identity or _key(found.text("identity"))


def _key(text: object) -> bytes:
    try:
        key = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise ParameterError(
            Message(
                Parameter("identity"),
                f" must be {2 * _KEY_BYTES} hexadecimal digits, as the owner of the node gave it "
                "to you; 'privclust node init' prints it there.",
            )
        )
    return key
