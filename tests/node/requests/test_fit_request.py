"""A request is hostile: only what is listed is read, and reading it opens no file."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.node_policy import policy_in
from hypothesis import example, given
from hypothesis import strategies as st

from privclust import estimators
from privclust.domains.bounds import read_bounds
from privclust.node.policy.policy import AnalystPolicy, Policy
from privclust.node.requests.fit_request import (
    ESTIMATORS,
    FitRequest,
    estimator_of,
    read_fit_request,
    read_forecast_request,
    read_profile_request,
)
from privclust.node.requests.problems import RequestError
from privclust.remote import request as remote_request
from privclust.remote.request import OWNERS

BODY: dict[str, Any] = {
    "table": "credit",
    "estimator": "PrivateKMeans",
    "parameters": {"n_clusters": 4, "epsilon": 1, "delta": 1e-6},
    "columns": ["amount", "age"],
}
RUN = "0123456789abcdef"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return policy_in(tmp_path_factory.mktemp("node"))


@pytest.fixture(scope="module")
def ada(policy: Policy) -> AnalystPolicy:
    return policy.analysts["a1"]


def read(policy: Policy, analyst: AnalystPolicy, **changes: Any) -> FitRequest:
    return read_fit_request(json.dumps(BODY | changes).encode(), policy, analyst)


def kind_of(policy: Policy, analyst: AnalystPolicy, body: bytes) -> str:
    with pytest.raises(RequestError) as raised:
        read_fit_request(body, policy, analyst)
    return raised.value.problem.kind


# What is read -------------------------------------------------------------------------------------


def test_request_is_read(policy: Policy, ada: AnalystPolicy) -> None:
    request = read(policy, ada)
    assert request.table == "credit"
    assert request.estimator == "PrivateKMeans"
    assert request.parameters == {"n_clusters": 4, "epsilon": 1.0, "delta": 1e-6}
    assert request.columns == ("age", "amount")
    assert (request.n_clusters, request.period) == (4, None)


def test_all_columns_are_clustered_unless_some_are_named(
    policy: Policy, ada: AnalystPolicy
) -> None:
    assert read(policy, ada, columns=None).columns == ("age", "amount", "day")


def test_same_request_has_the_same_bytes(policy: Policy, ada: AnalystPolicy) -> None:
    other = read(
        policy,
        ada,
        columns=["age", "amount"],
        parameters={"delta": 0.000001, "epsilon": 1.0, "n_clusters": 4, "scale": None},
    )
    assert other.canonical() == read(policy, ada).canonical()
    assert read(policy, ada, columns=["age"]).canonical() != read(policy, ada).canonical()


def test_canonical_bytes_are_read_as_the_same_request(policy: Policy, ada: AnalystPolicy) -> None:
    request = read(policy, ada)
    assert read_fit_request(request.canonical(), policy, ada) == request


def test_forecast_is_of_the_table_in_the_address(policy: Policy, ada: AnalystPolicy) -> None:
    body = json.dumps({key: value for key, value in BODY.items() if key != "table"}).encode()
    table = policy.tables["credit"]
    assert read_forecast_request(body, table, ada) == read(policy, ada)
    with pytest.raises(RequestError):
        read_forecast_request(json.dumps(BODY).encode(), table, ada)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimator_is_made_as_the_policy_says(
    policy: Policy, ada: AnalystPolicy, name: str
) -> None:
    made = estimator_of(read(policy, ada, estimator=name), policy, seed=7)
    assert type(made).__name__ == name
    assert (made.n_clusters, made.epsilon, made.delta) == (4, 1.0, 1e-6)
    assert (made.unit, made.max_rows_per_unit, made.random_state) == (None, 1, 7)
    assert (made.ledger, made.dataset) == (policy.node.ledger, "credit")
    assert made.bounds is not None
    assert read_bounds(made.bounds, ["age", "amount"], 2).origin == "domain knowledge"


def test_unit_of_the_policy_is_that_of_the_estimator(policy: Policy) -> None:
    made = estimator_of(read(policy, policy.analysts["b2"], table="wards"), policy, seed=7)
    assert (made.unit, made.max_rows_per_unit) == ("patient", 3)


def test_requested_seed_is_kept(policy: Policy, ada: AnalystPolicy) -> None:
    request = read(policy, ada, parameters={"random_state": 3})
    assert estimator_of(request, policy, seed=7).random_state == 3


def test_every_parameter_of_an_estimator_is_listed_somewhere() -> None:
    for name, known in ESTIMATORS.items():
        found = set(getattr(estimators, name)().get_params(deep=False))
        assert found - set(OWNERS) == set(known)
    assert set(estimators.__all__) - set(ESTIMATORS) == {"FedDPKMeans"}


def test_client_sends_the_estimators_that_a_node_takes() -> None:
    assert tuple(ESTIMATORS) == remote_request.ESTIMATORS


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OWNERS)
@pytest.mark.parametrize("value", ["/etc/passwd", 1, None, {"age": [0, 1]}])
def test_parameters_of_the_owner_are_refused(
    policy: Policy, ada: AnalystPolicy, name: str, value: Any
) -> None:
    with pytest.raises(RequestError, match=f"No request may set {name}"):
        read(policy, ada, parameters={name: value})


@pytest.mark.attack
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"estimator": "PrivateKmeans"}, "Did you mean 'PrivateKMeans'"),
        ({"estimator": "FedDPKMeans"}, "must be one of"),
        ({"estimator": "__class__"}, "must be one of"),
        ({"estimator": ["PEMeans"]}, "must be one of"),
        ({"seed": 3}, "The request has 'seed'"),
        ({"parameters": [1]}, "must be an object"),
        ({"parameters": {"n_cluster": 3}}, "Did you mean 'n_clusters'"),
        ({"parameters": {"rounds": 3}}, "not one of this estimator"),
        ({"parameters": {"n_clusters": 0}}, "integer from 1"),
        ({"parameters": {"n_clusters": 3.0}}, "integer from 1"),
        ({"parameters": {"n_clusters": True}}, "integer from 1"),
        ({"parameters": {"n_clusters": "3"}}, "integer from 1"),
        ({"parameters": {"n_clusters": 65}}, "at most 64"),
        ({"parameters": {"max_clusters": 65}}, "at most 64"),
        ({"parameters": {"epsilon": "1"}}, "epsilon must be a number"),
        ({"parameters": {"epsilon": -1}}, "epsilon must be a number"),
        ({"parameters": {"epsilon": True}}, "epsilon must be a number"),
        ({"parameters": {"delta": [1e-6]}}, "delta must be a number"),
        ({"parameters": {"metric": "cosine"}}, "metric must be one of 'euclidean'"),
        ({"parameters": {"scale": "/etc/passwd"}}, "scale must be one of"),
        ({"parameters": {"period": "2026-w07"}}, "period must be capital letters"),
        ({"parameters": {"period": "A" * 65}}, "period must be capital letters"),
        ({"parameters": {"random_state": -1}}, "integer from 0"),
        ({"parameters": {"n_rows": 2**53 + 1}}, "integer from 1"),
        ({"columns": []}, "list of one or more"),
        ({"columns": "age"}, "list of one or more"),
        ({"columns": ["age", "age"]}, "list of one or more"),
        ({"columns": ["age", 3]}, "list of one or more"),
        ({"columns": ["agee"]}, "Did you mean 'age'"),
        ({"columns": ["patient"]}, "list of one or more"),
    ],
)
def test_mistake_is_refused_in_words(
    policy: Policy, ada: AnalystPolicy, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        read(policy, ada, **changes)


@pytest.mark.attack
def test_many_unknown_members_get_a_short_reply(policy: Policy, ada: AnalystPolicy) -> None:
    with pytest.raises(RequestError) as raised:
        read(policy, ada, **{f"columnz{number}": 1 for number in range(3000)})
    assert "Did you mean" in raised.value.problem.detail
    assert len(raised.value.problem.to_json()) < 1000


def test_unknown_and_forbidden_tables_are_alike(policy: Policy, ada: AnalystPolicy) -> None:
    problems = []
    for table in ("wards", "nothing", "", None, 3, ["credit"], "../credit"):
        with pytest.raises(RequestError) as raised:
            read(policy, ada, table=table, columns=["nothing"], estimator="nothing")
        problems.append(raised.value.problem.to_json())
    assert len(set(problems)) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"3",
        b"{",
        b"\xff{}",
        b'\xef\xbb\xbf{"table": "credit"}',
        b'{"table": "credit", "table": "credit"}',
        b'{"table": "credit", "parameters": {"epsilon": 1, "epsilon": 2}}',
        b'{"table": "credit", "parameters": {"epsilon": NaN}}',
        b'{"table": "credit", "parameters": {"epsilon": Infinity}}',
        b'{"table": "credit", "parameters": {"epsilon": -Infinity}}',
        b'{"table": "credit", "parameters": {"epsilon": 1e999}}',
        b'{"table": "credit", "parameters": {"n_rows": ' + b"9" * 5000 + b"}}",
        b'{"table": "credit", "parameters": ' + b"[" * 60_000,
        b'{"a":' * 12_000,
        b'{"table": "credit", "columns": ["\\ud800"]}',
        b'{"table": "credit"}' + b" " * 2**16,
    ],
)
def test_strange_body_is_refused(policy: Policy, ada: AnalystPolicy, body: bytes) -> None:
    assert kind_of(policy, ada, body) == "invalid-request"


def test_million_clusters_are_refused_at_once(policy: Policy, ada: AnalystPolicy) -> None:
    start = time.perf_counter()
    body = json.dumps(BODY | {"parameters": {"n_clusters": 10**6}}).encode()
    assert kind_of(policy, ada, body) == "too-costly"
    assert time.perf_counter() - start < 0.1


# Any request at all -------------------------------------------------------------------------------

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = PLAIN | st.sampled_from(["/etc/passwd", "bounds", "age", "credit", "none", 1e308, 10**30])
NAMES = st.sampled_from([*OWNERS, *ESTIMATORS["PrivateKMeans"], "constants", "X"]) | st.text()
REQUESTS = st.fixed_dictionaries(
    {
        "table": st.sampled_from(["credit", "wards"]) | VALUES,
        "estimator": st.sampled_from([*ESTIMATORS, "FedDPKMeans"]) | VALUES,
        "parameters": st.dictionaries(NAMES, VALUES | st.lists(VALUES, max_size=3), max_size=4),
    },
    optional={
        "columns": st.lists(st.sampled_from(["age", "day", "amount"]) | VALUES, max_size=4)
        | VALUES,
        "path": VALUES,
    },
)
opened: list[str] = []
watching = [False]


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if watching[0] and event in ("open", "os.listdir", "os.scandir", "import", "exec"):
        opened.append(f"{event} {arguments[0]}")


sys.addaudithook(_watch)


@pytest.fixture
def _no_files() -> Iterator[None]:
    yield
    watching[0] = False


def _check(body: bytes, policy: Policy, analyst: AnalystPolicy) -> None:
    opened.clear()
    watching[0] = True
    request, problem = None, None
    try:
        request = read_fit_request(body, policy, analyst)
    except RequestError as error:
        problem = error.problem
    watching[0] = False
    assert opened == []
    if problem is not None:
        assert 400 <= problem.status < 500
        assert len(problem.to_json()) < 2000
    if request is None:
        return
    for value in request.parameters.values():
        assert isinstance(value, str | int | float)
        assert isinstance(value, str) or (math.isfinite(value) and abs(value) <= 1e308)
    assert request.n_clusters <= analyst.max_clusters
    assert set(request.columns) <= set(policy.tables[request.table].columns)
    assert request.parameters.keys().isdisjoint(OWNERS)
    assert read_fit_request(request.canonical(), policy, analyst) == request


@pytest.mark.usefixtures("_no_files")
@given(REQUESTS)
@example(BODY)
def test_any_request_is_read_or_refused(policy: Policy, ada: AnalystPolicy, body: Any) -> None:
    _check(json.dumps(body).encode(), policy, ada)


@pytest.mark.usefixtures("_no_files")
@given(
    st.binary(max_size=300)
    | st.text(alphabet='{}[]":,0123456789.eE+-truefalsn \\u').map(str.encode)
)
def test_any_bytes_are_read_or_refused(policy: Policy, ada: AnalystPolicy, body: bytes) -> None:
    _check(body, policy, ada)


def test_opened_file_would_be_noticed(tmp_path: Path) -> None:
    opened.clear()
    watching[0] = True
    (tmp_path / "a").write_text("")
    watching[0] = False
    assert opened


# Profiles -----------------------------------------------------------------------------------------

PROFILE = {"fit": RUN, "columns": ["region"], "epsilon": 1, "delta": 1e-6}


def test_profile_is_of_a_fit_that_is_found(policy: Policy, ada: AnalystPolicy) -> None:
    fit = read(policy, ada)
    request = read_profile_request(json.dumps(PROFILE).encode(), policy, ada, {RUN: fit}.get)
    assert (request.fit, request.columns) == (RUN, ("region",))
    assert (request.epsilon, request.delta) == (1.0, 1e-6)
    assert (request.table, request.n_clusters, request.period) == ("credit", 4, None)
    again = read_profile_request(request.canonical(), policy, ada, {RUN: fit}.get)
    assert again == request


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"fit": "0" * 16}, "not-found"),
        ({"fit": "../" + RUN}, "not-found"),
        ({"fit": None}, "not-found"),
        ({"columns": ["age"]}, "invalid-request"),
        ({"epsilon": None}, "invalid-request"),
        ({"delta": "1"}, "invalid-request"),
        ({"bounds": "/etc/passwd"}, "invalid-request"),
    ],
)
def test_other_profiles_are_refused(
    policy: Policy, ada: AnalystPolicy, changes: dict[str, Any], kind: str
) -> None:
    body, fit = json.dumps(PROFILE | changes).encode(), read(policy, ada)
    with pytest.raises(RequestError) as raised:
        read_profile_request(body, policy, ada, {RUN: fit}.get)
    assert raised.value.problem.kind == kind


def test_profile_needs_columns_that_the_owner_allows(policy: Policy) -> None:
    bob = policy.analysts["b2"]
    fit = read(policy, bob, table="wards")
    with pytest.raises(RequestError, match="no columns of this table"):
        read_profile_request(json.dumps(PROFILE).encode(), policy, bob, {RUN: fit}.get)
