"""What PostgreSQL knows of a query before it runs it: its plan, its views and its functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeAlias

from privclust.errors import ParameterError
from privclust.sources.sql.query_text import (
    CHANGING_CALLS,
    check_repeatable,
    refuse_changing,
    refuse_cutting,
)
from privclust.sources.sql.session import Query
from privclust.sources.sql.tokens import PLAN, calls_in, readings

Run: TypeAlias = Callable[[str], list[Any]]
"""What gives the rows of a statement that is about the query, in the transaction of the fit."""

_INDEXED = ("enable_indexscan", "enable_indexonlyscan")
_NAMES = {
    *("Node Type", "Alias", "Relation Name", "Schema", "Index Name", "CTE Name", "Subplan Name"),
    *("Function Name", "Table Function Name", "Tuplestore Name"),
}
"""What a plan shows without quotes, and no part of which is ever called."""
_CHANGING_NODES = {"Sample Scan": "tablesample", "Foreign Scan": "a foreign table"}
_VOLATILE = (
    "SELECT DISTINCT proname::text FROM pg_proc WHERE provolatile = 'v' "
    "AND proname::text = ANY (ARRAY[{}]::text[])"
)
_VOLATILE_OPERATORS = """
SELECT DISTINCT o.oprname::text FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode
WHERE p.provolatile = 'v' AND NOT EXISTS (
    SELECT FROM pg_operator s
    WHERE s.oprname = o.oprname AND s.oprnamespace = 'pg_catalog'::regnamespace
)"""
"""Of operators that are called like one of the server's own, a text does not say which is meant."""
_IN_VIEWS = r"""
WITH view AS (
    SELECT DISTINCT r.oid, r.ev_action::text AS tree
    FROM pg_lock_status() l
    JOIN pg_class c ON c.oid = l.relation AND c.relkind = 'v'
    JOIN pg_rewrite r ON r.ev_class = c.oid
    WHERE l.locktype = 'relation' AND l.pid = pg_backend_pid()
), called AS (
    SELECT number[1]::oid AS oid
    FROM view, regexp_matches(tree, ':(?:funcid|opfuncid|winfnoid) (\d+)', 'g') AS number
    UNION
    SELECT o.oprcode::oid
    FROM view, regexp_matches(tree, ':(?:opno|eqop|sortop) (\d+)', 'g') AS number
    JOIN pg_operator o ON o.oid = number[1]::oid
)
SELECT proname::text, provolatile::text FROM pg_proc WHERE oid IN (SELECT oid FROM called)
UNION ALL SELECT 'limit', 'cut' FROM view WHERE tree ~ ':limit(Count|Offset) \{'
UNION ALL SELECT 'tablesample', 'v' FROM view WHERE tree ~ ':tablesample \{'
UNION ALL
SELECT 'current_date or the like', 'v' FROM view WHERE tree ~ 'SQLVALUEFUNCTION :op [0-8] '"""
"""What views do that the transaction has opened: a view is locked as soon as a query names it."""


def check_plan(query: Query, run: Run) -> None:
    """Refuse a query that changes or cuts rows off, also where a view hides it."""
    plan = _plan(query, run)
    texts = list(_texts_in(plan))
    for text in texts:
        check_repeatable(text, PLAN)
    nodes = set(_nodes_in(plan))
    refuse_changing(_CHANGING_NODES[node] for node in nodes & set(_CHANGING_NODES))
    refuse_cutting(["limit"] if "Limit" in nodes else [])
    _check_views(run)
    _check_calls(query.text, texts, run)


def _plan(query: Query, run: Run) -> Any:
    # The largest value of a column would be found by a limit that is none of the query's.
    for way in _INDEXED:
        run(f"SET LOCAL {way} = off")
    found: Any = None
    with suppress(Exception):  # planning runs some functions, so that its text may hold cells
        found = run(f"EXPLAIN (FORMAT JSON, VERBOSE, COSTS OFF) {query.selecting(['*'])}")
    if found is None:
        raise ParameterError(
            "the database cannot plan the query. Why is withheld, because it may depend on "
            "rows. Try EXPLAIN with it there first."
        )
    for way in _INDEXED:
        run(f"SET LOCAL {way} TO DEFAULT")
    return json.loads("\n".join(str(line) for (line,) in found))


def _check_views(run: Run) -> None:
    found = run(_IN_VIEWS)
    refuse_cutting(name for name, kind in found if kind == "cut")
    refuse_changing({name for name, kind in found if kind == "v" or name in CHANGING_CALLS})


def _check_calls(text: str, plan: list[str], run: Run) -> None:
    (tokens,) = readings(text, "PostgreSQL")
    calls = calls_in(tokens).union(*(calls_in(readings(one, PLAN)[0]) for one in plan))
    names = ", ".join("'" + name.replace("'", "''") + "'" for name in sorted(calls))
    refuse_changing(name for (name,) in run(_VOLATILE.format(names)))
    marks = "".join(one.text if one.part == "mark" else " " for one in tokens)
    refuse_changing(name for (name,) in run(_VOLATILE_OPERATORS) if name in marks)


def _texts_in(plan: Any) -> Iterator[str]:
    """Yield the expressions of a plan, each by itself.

    Examples
    --------
    >>> list(_texts_in([{"Plan": {"Alias": "now", "Output": ["a", "b"], "Filter": "(a > 5)"}}]))
    ['a', 'b', '(a > 5)']
    """
    if isinstance(plan, str):
        yield plan
    elif isinstance(plan, list):
        for one in plan:
            yield from _texts_in(one)
    elif isinstance(plan, dict):
        for key, value in plan.items():
            if key not in _NAMES:
                yield from _texts_in(value)


def _nodes_in(plan: Any) -> Iterator[str]:
    """Yield what the nodes of a plan do.

    Examples
    --------
    >>> list(_nodes_in([{"Plan": {"Node Type": "Limit", "Plans": [{"Node Type": "Sort"}]}}]))
    ['Limit', 'Sort']
    """
    for node in plan if isinstance(plan, list) else [plan]:
        if "Node Type" in node:
            yield str(node["Node Type"])
        for below in ("Plan", "Plans"):
            yield from _nodes_in(node.get(below, []))
