"""What each endpoint does, as plain functions: they run in threads, one for each request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from privclust.domains.bounds import declared_columns
from privclust.node.jobs.job import ENDED, Job, Kind, status_at
from privclust.node.policy.policy import AnalystPolicy, TablePolicy
from privclust.node.requests.fit_request import (
    FitRequest,
    read_fit_request,
    read_forecast_request,
    read_profile_request,
)
from privclust.node.requests.problems import NOT_FOUND, RequestError, refused
from privclust.node.web import _submission
from privclust.node.web.parts import Node
from privclust.privacy.ledger._admission import RUN_NAME

_KEY = re.compile(r"[\x20-\x7e]{1,200}")


@dataclass(frozen=True)
class Call:
    """A request of an analyst, after the analyst was identified."""

    node: Node
    analyst: AnalystPolicy
    path: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""


def tables(call: Call) -> Response:
    """List the tables that exist for the analyst."""
    found = [call.node.policy.tables[name] for name in call.analyst.tables]
    return _json({"tables": [_table(call, table) for table in found]})


def table(call: Call) -> Response:
    """Describe a table."""
    return _json(_table(call, _named_table(call)))


def forecast(call: Call) -> Response:
    """Say what a fit would cost and give; nothing is spent."""
    node, analyst = call.node, call.analyst
    request = read_forecast_request(call.body, _named_table(call), analyst)
    price = _submission.priced(node, request)
    _submission.check_pace(price)
    balance = _submission.Balance.of(node, analyst, request, price)
    affordable = balance.covers and price.units <= analyst.work_per_day
    return _json(
        {
            "price": price.units,
            "epsilon": price.budget.epsilon,
            "delta": price.budget.delta,
            "epsilon_left": balance.remaining,
            "allowed": affordable,
            "forecast": node.booking.forecast(request),
        }
    )


def submit_fit(call: Call) -> Response:
    """Queue a fit."""
    key = _idempotency_key(call)
    return _submitted(call, "fit", read_fit_request(call.body, call.node.policy, call.analyst), key)


def submit_profile(call: Call) -> Response:
    """Queue a profile of a finished fit."""
    key = _idempotency_key(call)

    def find(run: str) -> FitRequest | None:
        job = own_job(call, "fit", run)
        if job is None or status(call.node, job)["state"] != "finished":
            return None
        return read_fit_request(job.request.encode(), call.node.policy, call.analyst)

    request = read_profile_request(call.body, call.node.policy, call.analyst, find)
    return _submitted(call, "profile", request, key)


def jobs(call: Call, kind: Kind) -> Response:
    """List the analyst's own."""
    found = call.node.jobs.of_analyst(call.analyst.id)
    mine = [job for job in found if job.kind == kind and job.table_name in call.analyst.tables]
    return _json({f"{kind}s": [status(call.node, job) for job in mine]})


def job(call: Call, kind: Kind) -> Response:
    """Say how far one is."""
    return _json(status(call.node, named_job(call, kind)))


def result(call: Call, kind: Kind) -> Response:
    """Return the released file."""
    found = named_job(call, kind)
    state = status(call.node, found)["state"]
    if state != "finished" or found.result is None:
        raise refused(
            "not-ready",
            "Nothing is released of it. Its state says whether something will be.",
            state=state,
        )
    tag = f'"{found.run}"'
    if call.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    now = call.node.clock()
    call.node.audit_log.write(now, call.analyst.id, found.table_name, "fetched", fit=found.run)
    return Response(found.result, media_type="application/json", headers={"ETag": tag})


def cancel(call: Call, kind: Kind) -> Response:
    """End one; all that it reserved stays spent."""
    node, now = call.node, call.node.clock()
    found = named_job(call, kind)
    had_ended = status(node, found)["state"] in ENDED
    ended = node.jobs.cancel(found.run, now) or found
    if not had_ended:
        node.audit_log.write(now, call.analyst.id, found.table_name, "cancelled", fit=found.run)
        node.metrics.count_job("cancelled")
    return _json(status(node, ended))


def own_job(call: Call, kind: Kind, run: str) -> Job | None:
    """Return a job if there is one of this id for the analyst; none and another's are alike."""
    found = call.node.jobs.get(run) if RUN_NAME.fullmatch(run) else None
    if found is None or (found.analyst, found.kind) != (call.analyst.id, kind):
        return None
    return found if found.table_name in call.analyst.tables else None


def named_job(call: Call, kind: Kind) -> Job:
    """Return the analyst's own job that the address names, or refuse."""
    found = own_job(call, kind, call.path["id"])
    if found is None:
        raise RequestError(NOT_FOUND)
    return found


def status(node: Node, found: Job) -> dict[str, Any]:
    """Return what may be seen of a job now."""
    public = status_at(found, node.clock())
    return {
        "id": found.run,
        "kind": found.kind,
        "table": found.table_name,
        "state": public.state,
        "progress": public.progress,
        "submitted": found.submitted,
        "starts_at": found.starts_at,
        "release_at": found.release_at,
        "price": found.price,
    }


def _table(call: Call, table: TablePolicy) -> dict[str, Any]:
    node, account = call.node, call.node.ledger.dataset(table.dataset)
    columns, _ = declared_columns(table.columns, list(table.columns))
    return {
        "name": table.name,
        "description": table.description,
        "columns": [column.to_dict() for column in columns],
        "profile_columns": list(table.profile_columns or ()),
        "unit": table.unit,
        "max_rows_per_unit": table.max_rows_per_unit,
        "about_rows": table.about_rows,
        "seconds": table.seconds,
        "delta": account.budget.delta,
        "periods": account.periods,
        "epsilon_left": node.booking.epsilon_left(call.analyst, table),
        "max_clusters": call.analyst.max_clusters,
        "estimators": list(table.estimators),
    }


def _named_table(call: Call) -> TablePolicy:
    found = call.node.policy.table_for(call.analyst, call.path["table"])
    if found is None:
        raise RequestError(NOT_FOUND)
    return found


def _submitted(call: Call, kind: Kind, request: Any, key: str) -> Response:
    made = _submission.submit(call.node, call.analyst, kind, request, key)
    headers = {"Location": f"/v1/{kind}s/{made.run}"}
    return _json(status(call.node, made), 202, headers)


def _idempotency_key(call: Call) -> str:
    key = call.headers.get("idempotency-key", "")
    if not _KEY.fullmatch(key):
        raise refused(
            "invalid-request",
            "Send a header Idempotency-Key of 1 to 200 printable ASCII characters, a new one for "
            "each fit: sent again with the same one, a request is paid for once.",
        )
    return key


def _json(
    content: Mapping[str, Any], code: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    text = json.dumps(content, allow_nan=False)
    return Response(text, code, headers, "application/json")
