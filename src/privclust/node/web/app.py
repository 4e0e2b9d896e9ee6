"""The endpoints of a node, under /v1: public parameters come in, released models go out.

Every refusal is a problem of a fixed text. What goes wrong unforeseen is one fixed word, and the
log has the class of the error alone: its text might hold a cell.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote_to_bytes

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privclust.node.identity import Caller, IdentityError
from privclust.node.jobs.job import Kind
from privclust.node.requests._strict_json import BYTES_MAX, too_long
from privclust.node.requests.problems import (
    BUSY,
    FAILED,
    MEDIA_TYPE,
    NOT_FOUND,
    NOT_IDENTIFIED,
    Problem,
    RequestError,
    problem,
    refused,
)
from privclust.node.web import _endpoints, _federation_endpoints
from privclust.node.web._endpoints import Call
from privclust.node.web._events import Streams
from privclust.node.web._federation_endpoints import AGREEMENT_BYTES_MAX, REQUEST_BYTES_MAX
from privclust.node.web.metrics import Metrics
from privclust.node.web.parts import Node

THREADS, THREADS_PER_ANALYST = 4, 2
"""Requests that are worked on at the same time: of all analysts, and of one."""
REQUESTS_PER_ANALYST = 16
"""Requests of one analyst that arrive, wait or are worked on: each keeps one of the connections
that all analysts share. What comes beyond is refused at once."""
BODY_SECONDS = 10.0
CERTIFICATE_HEADER = "x-client-certificate"
"""nginx puts the connection's certificate there, and overwrites what a client sent."""
_TEMPLATE = "privclust.template"
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_log = logging.getLogger(__name__)

Work: TypeAlias = Callable[[Call], Response]
Result = TypeVar("Result")


def make_app(node: Node) -> Starlette:
    """Return the web application of a node.

    Parameters
    ----------
    node : Node
        All that it works with.
    """
    service = _Service(node)
    routes = [
        service.route("/v1/tables", _endpoints.tables),
        service.route("/v1/tables/{table}", _endpoints.table),
        service.route("/v1/tables/{table}/forecast", _endpoints.forecast, "POST"),
        service.route("/v1/fits", _endpoints.submit_fit, "POST"),
        service.route("/v1/profiles", _endpoints.submit_profile, "POST"),
    ]
    kinds: tuple[tuple[Kind, str], ...] = (("fit", "model"), ("profile", "profile"))
    for kind, file in kinds:
        one = f"/v1/{kind}s/{{id}}"
        routes += [
            service.route(f"/v1/{kind}s", partial(_endpoints.jobs, kind=kind)),
            service.route(one, partial(_endpoints.job, kind=kind)),
            service.route(f"{one}/{file}", partial(_endpoints.result, kind=kind)),
            service.route(f"{one}/cancel", partial(_endpoints.cancel, kind=kind), "POST"),
            service.events_route(f"{one}/events", kind),
        ]
    routes += _federation_routes(service)
    app = Starlette(
        routes=routes,
        middleware=[Middleware(_Outermost, metrics=node.metrics)],
        exception_handlers={HTTPException: _no_route},
    )
    app.router.redirect_slashes = False
    return app


def _federation_routes(service: _Service) -> list[Route]:
    """Return what coordinators of federations need."""
    one, work = "/v1/federations/{federation}", _federation_endpoints
    return [
        service.route("/v1/federations", work.federations),
        service.route(one, work.federation),
        service.route(f"{one}/offers", work.offer, "POST", AGREEMENT_BYTES_MAX),
        service.route(f"{one}/agreements", work.join, "POST", AGREEMENT_BYTES_MAX),
        service.route(f"{one}/requests", work.submit, "POST", REQUEST_BYTES_MAX),
        service.route(f"{one}/replies/{{agreement}}/{{request}}", work.reply),
        service.route(f"{one}/end", work.end, "POST"),
    ]


class _Service:
    """Turns functions into endpoints: identifies, reads the body, and works in a thread."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._streams = Streams()
        self._threads = asyncio.Semaphore(THREADS)
        self._requests: Counter[str] = Counter()
        self._own = {name: asyncio.Semaphore(THREADS_PER_ANALYST) for name in node.policy.analysts}

    def route(
        self, path: str, work: Work, method: str = "GET", bytes_max: int = BYTES_MAX
    ) -> Route:
        """Return the route of a function, whose requests have bodies of at most `bytes_max`."""

        async def endpoint(request: Request) -> Response:
            caller = self._identify(request, path)
            with self._counted(caller.analyst.id):
                call = await self._call(request, caller, bytes_max)
                return await self._run(call, work)

        return Route(path, _refusing(endpoint), methods=[method])

    def events_route(self, path: str, kind: Kind) -> Route:
        """Return the route of a job's events."""

        async def endpoint(request: Request) -> Response:
            caller = self._identify(request, path)
            call = await self._call(request, caller)

            def status(call: Call) -> dict[str, Any]:
                return _endpoints.status(call.node, _endpoints.named_job(call, kind))

            async def read() -> dict[str, Any]:
                return await self._run(call, status)

            def holds() -> bool:
                return self._node.clock() < caller.until

            with self._counted(call.analyst.id):
                await read()  # none or another's is refused before a stream begins
            tick = self._node.policy.node.tick
            return self._streams.response(call.analyst.id, read, tick, holds)

        return Route(path, _refusing(endpoint), methods=["GET"])

    def _identify(self, request: Request, path: str) -> Caller:
        request.scope[_TEMPLATE] = path
        return self._node.identities.identify(
            _single(request, "authorization"),
            _certificate(_single(request, CERTIFICATE_HEADER)),
            self._node.clock(),
        )

    @contextmanager
    def _counted(self, analyst: str) -> Iterator[None]:
        if self._requests[analyst] >= REQUESTS_PER_ANALYST:
            raise RequestError(BUSY)
        self._requests[analyst] += 1
        try:
            yield
        finally:
            self._requests[analyst] -= 1

    async def _call(self, request: Request, caller: Caller, bytes_max: int = BYTES_MAX) -> Call:
        body = await _body(request, bytes_max) if request.method == "POST" else b""
        return Call(self._node, caller.analyst, request.path_params, request.headers, body)

    async def _run(self, call: Call, work: Callable[[Call], Result]) -> Result:
        async with self._own[call.analyst.id], self._threads:
            return await run_in_threadpool(work, call)


def _refusing(endpoint: Callable[[Request], Any]) -> Callable[[Request], Any]:
    async def refusing(request: Request) -> Response:
        try:
            response: Response = await endpoint(request)
        except RequestError as error:
            later = {"Retry-After": "1"} if error.problem is BUSY else None
            return _problem_response(error.problem, later)
        except IdentityError:
            return _problem_response(NOT_IDENTIFIED, {"WWW-Authenticate": "Bearer"})
        return response

    return refusing


async def _no_route(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.status_code == 405:
        wrong = problem("invalid-request", "This address has no such method.", status=405)
        return _problem_response(wrong, error.headers)
    return _problem_response(NOT_FOUND)


def _problem_response(found: Problem, headers: Any = None) -> Response:
    return Response(found.to_json(), found.status, headers, MEDIA_TYPE)


def _single(request: Request, name: str) -> str | None:
    """Return a header that must not come twice: two parsers might each take another one."""
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise IdentityError
    return values[0] if values else None


def _certificate(header: str | None) -> bytes | None:
    """Return the DER of a certificate in PEM with its special characters escaped, as nginx does."""
    if not header:
        return None
    try:
        return ssl.PEM_cert_to_DER_cert(unquote_to_bytes(header).decode("ascii").strip())
    except ValueError:
        return None


async def _body(request: Request, bytes_max: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > bytes_max:
                    raise too_long(bytes_max)
    except TimeoutError:
        raise refused(
            "invalid-request", "The body did not arrive in time. Send it again.", status=408
        ) from None
    except ClientDisconnect:
        raise refused("invalid-request", "The body did not arrive.") from None
    return bytes(body)


class _Outermost:
    """Adds headers, counts each response before it leaves, and says of errors a fixed word."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._metrics.count_request(scope.get(_TEMPLATE, "none"), status)
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            _log.error("a request failed: %s", type(error).__name__)
            if not status:
                await _problem_response(FAILED)(scope, receive, sending)
