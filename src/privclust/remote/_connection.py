"""Requests to a node: over verified TLS, of bounded size, tried again when the network fails."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Timer
from time import monotonic, sleep

from privclust._version import __version__
from privclust.errors import Message, Parameter, ParameterError
from privclust.remote._address import Address
from privclust.remote._fields import printable
from privclust.remote._token import read_token
from privclust.remote.error import RemoteError, parts_of, said_as

Certificate = str | tuple[str, str]
"""A PEM file with a certificate and its key, or one file each."""
PAUSES: tuple[float, ...] = (0.5, 1.0, 2.0)
"""Seconds between tries: so often, and once, a request is sent."""
PATIENT: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, *(30.0,) * 6)
"""While a fit that was paid for is waited for."""
TIMEOUT = 30.0
"""Seconds without a byte."""
JSON, BYTES = "application/json", "application/octet-stream"
"""What a body is: parameters, or a message of a federation."""
SMALL, LARGE = 2**24, 2**28
"""Bytes of a response: of a description or a status, and of a model or a profile."""
SECONDS = {SMALL: 120.0, LARGE: 1800.0}
"""How long a response of either size may take altogether."""
_BROKEN = (502, 503, 504)
"""A proxy that finds no node behind it, which may come back."""


@dataclass(frozen=True)
class Response:
    """What a node sent back."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class Connection:
    """Sends requests to one node, each with a token that is read then.

    Redirects are not followed: a token goes to the host that was typed, and to no other.
    """

    def __init__(
        self,
        address: Address,
        token: str | None = None,
        ca_file: str | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        self.address = address
        self._token, self._ca_file, self._certificate = token, ca_file, certificate
        self._context: ssl.SSLContext | None = None

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        key: str | None = None,
        most: int = SMALL,
        pauses: tuple[float, ...] = PAUSES,
        kind: str = JSON,
    ) -> Response:
        """Return a response of any status, or say why there is none.

        Every request may be sent twice: it reads, or `key` makes the second the same as the first.
        """
        cause: str = ""
        for pause in (*pauses, None):
            response = None
            try:
                response = self._exchange(method, path, body, key, most, kind)
            except ssl.SSLCertVerificationError as error:
                cause = _untrusted(error)
                break
            except (OSError, http.client.HTTPException) as error:
                cause = printable(getattr(error, "strerror", None) or type(error).__name__)
            if response is not None:
                if response.status not in _BROKEN and not (pause and _is_busy(response)):
                    return response
                cause = f"status {response.status}"
            if pause is not None:
                sleep(pause)
        raise RemoteError(
            Message(
                f"the node at {self.address.place} cannot be reached: ",
                *parts_of(cause),
                ". Check the address and your network, or try again later.",
            ),
            "unreachable",
        )

    def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        key: str | None,
        most: int,
        kind: str,
    ) -> Response:
        connection = self._open()
        headers = {
            "Authorization": f"Bearer {read_token(self._token)}",
            "Accept": f"{kind}, application/problem+json",
            "User-Agent": f"privclust/{__version__}",
        }
        if body is not None:
            headers["Content-Type"] = kind
        if key is not None:
            headers["Idempotency-Key"] = key
        # Headers that never end keep no timeout of single bytes.
        end = Timer(SECONDS.get(most, TIMEOUT), _abort, [connection])
        end.daemon = True
        end.start()
        try:
            connection.request(method, path, body, headers)
            found = connection.getresponse()
            names = {name.lower(): value for name, value in found.getheaders()}
            return Response(found.status, names, _content(found, most))
        finally:
            end.cancel()
            connection.close()

    def _open(self) -> http.client.HTTPConnection:
        address = self.address
        if not address.secure:
            return http.client.HTTPConnection(address.host, address.port, timeout=TIMEOUT)
        if self._context is None:
            self._context = _verified(self._ca_file, self._certificate)
        return http.client.HTTPSConnection(
            address.host, address.port, timeout=TIMEOUT, context=self._context
        )


def _is_busy(response: Response) -> bool:
    """Whether a node works on as many of the analyst's requests as it does at a time."""
    return response.status == 429 and "retry-after" in response.headers


def _abort(connection: http.client.HTTPConnection) -> None:
    """End a connection that another thread waits for, which then fails there."""
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def _verified(ca_file: str | None, certificate: Certificate | None) -> ssl.SSLContext:
    """Return how to talk TLS: names and chains are always verified."""
    context = _trusting(ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate is None:
        return context
    with suppress(OSError, TypeError, ValueError):
        own, key = (certificate, None) if isinstance(certificate, str) else certificate
        # Without a password OpenSSL would stop and ask for one at the terminal.
        context.load_cert_chain(own, key, password="")
        return context
    raise ParameterError(
        Message(
            Parameter("certificate"),
            " cannot be read. Name a PEM file with your certificate and its key",
            said_as(", or a pair of files", ""),
            "; the key has no passphrase. Nothing was sent.",
        )
    )


def _trusting(ca_file: str | None) -> ssl.SSLContext:
    with suppress(OSError):
        return ssl.create_default_context(cafile=ca_file)
    raise ParameterError(
        Message(
            Parameter("ca_file"),
            " cannot be read as certificates. Name a PEM file with those of the authority that "
            "signed the node's. Nothing was sent.",
        )
    )


def _content(found: http.client.HTTPResponse, most: int) -> bytes:
    """Read a response, however slowly it comes, and no more of it than `most` bytes."""
    end, parts, size = monotonic() + SECONDS.get(most, TIMEOUT), [], 0
    while part := found.read1(2**16):
        parts.append(part)
        size += len(part)
        if size > most:
            raise RemoteError(
                f"the node sent more than {most:,} bytes, which nothing that it may send has. "
                "Tell the owner of the node."
            )
        if monotonic() > end:
            raise TimeoutError
    if found.length:  # of what was announced, so much is missing
        raise http.client.IncompleteRead(b"", found.length)
    return b"".join(parts)


def _untrusted(error: ssl.SSLCertVerificationError) -> Message:
    return Message(
        f"its certificate is not trusted ({printable(error.verify_message)}). If the node has one "
        "of your organisation's own authority, name that with ",
        Parameter("ca_file"),
    )
