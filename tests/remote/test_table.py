"""What a node says of a table is read by type, shown in words, and never believed beyond that."""

from __future__ import annotations

import copy
import json
import pickle
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.remote_stand_in import TOKEN, Node, problem, running

from privclust import PrivateKMeans, RemoteTable
from privclust.cli.messages import option_of
from privclust.errors import ColumnError, ParameterError
from privclust.remote import _connection
from privclust.remote.error import RemoteError


@pytest.fixture(scope="module")
def working() -> Iterator[Node]:
    with running() as found:
        yield found


@pytest.fixture
def node(working: Node, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(_connection, "sleep", lambda seconds: None)
    yield working
    working.spoil = None


def table(node: Node) -> RemoteTable:
    return RemoteTable(node.url, token=TOKEN)


def changed_table(node: Node, **changes: Any) -> None:
    """Let the node say something else of its table; None leaves it out."""
    content = {**node.table(), **changes}
    node.spoil = lambda *_: (200, {}, json.dumps(content).encode())


def test_description_says_what_is_public_and_what_is_left(node: Node) -> None:
    found = table(node).describe()
    assert found.columns[0].name == "age"
    text = str(found)
    for part in ("age (number, 0 to 120)", "epsilon 4 for one more fit", "about 600", "one row"):
        assert part in text
    assert "<th" in found._repr_html_()


def test_description_says_what_missing_cells_count_as(node: Node) -> None:
    declared = {"name": "bmi", "type": "number", "lower": 12.0, "upper": 60.0, "missing": 25.0}
    changed_table(node, columns=[declared, {**declared, "missing": "\x1b<b>"}])
    found = table(node).describe()
    assert "bmi (number, 12.0 to 60.0, missing cells count as 25.0)" in str(found)
    assert "\x1b" not in str(found)
    assert "count as ?&lt;b&gt;" in found._repr_html_()


def test_names_of_a_node_are_escaped_and_write_nowhere(node: Node) -> None:
    changed_table(node, description="<b>\x1b[2J", unit="who", max_rows_per_unit=3)
    found = table(node).describe()
    assert "\x1b" not in str(found)
    assert "<b>?" not in found._repr_html_()
    assert "all rows of one 'who', of which 3 count" in str(found)


def test_long_list_of_levels_is_cut(node: Node) -> None:
    ward = {"name": "ward", "type": "category", "levels": [f"w{i}" for i in range(40)]}
    changed_table(node, columns=[ward])
    assert "w11 and 28 more" in str(table(node).describe())


@pytest.mark.parametrize(
    "changes",
    [
        {"name": None},
        {"name": 7},
        {"columns": "age"},
        {"columns": [7]},
        {"columns": [{}]},
        {"seconds": "10"},
        {"seconds": True},
        {"seconds": 2**70},
        {"delta": 1.5},
        {"delta": -1e-6},
        {"epsilon_left": "4"},
        {"epsilon_left": 10**400},
        {"estimators": [1]},
    ],
)
def test_description_that_is_none_is_refused(node: Node, changes: dict[str, Any]) -> None:
    changed_table(node, **changes)
    with pytest.raises(RemoteError, match="the node s"):
        table(node).describe()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"7", b"\xff", b"[" * 10**5, b'{"delta": NaN}', b"<html>", b"null"]
)
def test_body_that_is_no_object_is_refused(node: Node, body: bytes) -> None:
    node.spoil = lambda *_: (200, {}, body)
    with pytest.raises(RemoteError, match="the node sent a table without an object"):
        table(node).describe()


def test_forecast_spends_nothing(node: Node) -> None:
    fits = node.fits
    found = table(node).forecast(PrivateKMeans(2, epsilon=1.0))
    assert (found.epsilon, found.delta, found.allowed) == (1.0, 1e-6, True)
    assert node.bodies[-1]["columns"] is None
    assert node.fits == fits
    refused = table(node).forecast(PrivateKMeans(2, epsilon=5.0))
    assert "would not take it" in str(refused)


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (401, "not-identified", "token may have expired"),
        (403, "not-allowed", "does not allow this to you"),
        (404, "not-found", "look like those that do not exist"),
        (400, "invalid-request", "cannot use this request"),
        (422, "too-costly", "does not compute as much"),
        (429, "quota-exceeded", "Nothing was spent"),
        (409, "conflict", "another request under the same key"),
        (500, "failed", "Why is withheld"),
    ],
)
def test_problem_is_an_error_with_cause_and_remedy(
    node: Node, status: int, kind: str, text: str
) -> None:
    node.spoil = lambda *_: problem(status, kind, detail="look\x1b here", left=3, title=None)
    with pytest.raises(RemoteError, match=text) as refused:
        table(node).describe()
    assert refused.value.kind == kind
    assert refused.value.numbers == {"left": 3.0}
    assert "The node says: look? here" in str(refused.value)


@pytest.mark.parametrize("body", [b"", b"<html>secret</html>", b"[]", b'{"type": 7}', b"[" * 10**5])
def test_error_of_a_proxy_is_one_too(node: Node, body: bytes) -> None:
    node.spoil = lambda *_: (418, {"Content-Type": "application/json"}, body)
    with pytest.raises(RemoteError, match="failed with status 418") as refused:
        table(node).describe()
    assert "secret" not in str(refused.value)


def test_cause_is_said_in_words_of_the_prompt_too(node: Node) -> None:
    node.spoil = lambda *_: problem(404, "not-found", detail="none")
    with pytest.raises(
        RemoteError, match=r"compare ids with fits\(\); .* The node says: none"
    ) as no:
        table(node).describe()
    assert "with privclust describe --fits;" in no.value.args[0].render(option_of)


def test_unknown_column_is_refused_with_what_was_meant(node: Node) -> None:
    assert RemoteTable(node.url, ["income"], TOKEN).describe().name == "credit"
    with pytest.raises(ColumnError, match=r"no column 'agee' .*'age' instead of 'agee'"):
        RemoteTable(node.url, ["agee", "income"], TOKEN).describe()


def test_fits_are_listed_and_cancelled(node: Node) -> None:
    node.runs["0" * 16] = {
        "id": "0" * 16,
        "kind": "fit",
        "table": "credit",
        "state": "queued",
        "submitted": 1,
        "starts_at": 2,
        "release_at": 3,
        "price": 1.0,
    }
    node.runs["1" * 16] = {**node.runs["0" * 16], "id": "1" * 16, "table": "other"}
    assert [one.id for one in table(node).fits()] == ["0" * 16]
    assert table(node).cancel("0" * 16).state == "cancelled"
    with pytest.raises(RemoteError, match="nothing of that name"):
        table(node).cancel("2" * 16)
    with pytest.raises(ParameterError, match="the id of a fit"):
        table(node).cancel("../tables")
    node.runs.clear()


def test_token_is_in_no_text_pickle_or_traceback(node: Node) -> None:
    found = RemoteTable(node.url, ["age"], TOKEN)
    assert TOKEN not in repr(found)
    assert TOKEN.encode() not in pickle.dumps(found)
    assert repr(pickle.loads(pickle.dumps(found))) == repr(copy.deepcopy(found)) == repr(found)
    node.spoil = lambda *_: problem(404, "not-found")
    try:
        found.describe()
    except RemoteError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][1:]
        assert len(frames) > 1
        assert not any(TOKEN in repr(frame.f_locals) for frame in frames)


@pytest.mark.parametrize("columns", ["age", [], ["age", "age"], [7]])
def test_columns_are_different_names(columns: Any) -> None:
    with pytest.raises(ColumnError, match="a list of different names"):
        RemoteTable("https://host/tables/credit", columns)
