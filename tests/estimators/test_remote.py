"""Fits and profiles at a node come back as those made here, or are refused."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import pytest
from helpers.remote_stand_in import TOKEN, Node, problem, running

import privclust
from privclust import BudgetExceededError, PEMeans, PrivateKMeans, RemoteTable
from privclust.errors import ModelFileError, ParameterError
from privclust.estimators import _progress
from privclust.privacy.progress import Wait, watching
from privclust.remote import _connection, runs
from privclust.remote.error import RemoteError
from privclust.remote.request import ESTIMATORS

MODEL = PEMeans(2, epsilon=0.5)


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(_connection, "sleep", lambda seconds: None)
    with running() as found:
        yield found


def table(node: Node, **settings: Any) -> RemoteTable:
    return RemoteTable(node.url, **{"token": TOKEN, **settings})


def test_fit_returns_the_model_that_the_node_released(node: Node) -> None:
    model = PrivateKMeans(2, epsilon=1.0, max_clusters=4, random_state=0).fit(table(node))
    assert sorted(model.cluster_centers_[:, 0].round(-1).tolist()) == [30.0, 60.0]
    statement = model.privacy_statement_
    assert (statement.run.epsilon, statement.run.delta) == (1.0, 1e-6)
    assert statement.dataset == "credit"
    assert model.refit(1).cluster_centers_.shape == (1, 2)
    assert node.bodies[0] == {
        "table": "credit",
        "estimator": "PrivateKMeans",
        "parameters": {
            "n_clusters": 2,
            "epsilon": 1.0,
            "delta": 1e-6,
            "random_state": 0,
            "metric": "euclidean",
            "max_clusters": 4,
        },
        "columns": None,
    }


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_fitted(node: Node, name: str) -> None:
    model = getattr(privclust, name)(2, epsilon=1.0).fit(table(node, columns=["age"]))
    assert model.model_.estimator == name
    assert list(model.feature_names_in_) == ["age"]


def test_lost_response_is_requested_again_and_paid_once(node: Node) -> None:
    node.drop_after = 2
    MODEL.fit(table(node))
    assert len(node.keys) == 3
    assert len(set(node.keys)) == 1
    assert node.fits == 1


def test_node_that_is_gone_says_how_to_find_the_fit(node: Node) -> None:
    found = table(node)
    node.drop_after = 100
    with pytest.raises(RemoteError, match="cannot be reached") as failed:
        PEMeans(2, epsilon=0.5, delta=1e-6).fit(found)
    assert "fits() of the table lists" in failed.value.__notes__[0]
    node.drop_after = 0
    (one,) = found.fits()
    model = PEMeans(2, epsilon=0.5).fit(found, resume=one.id)
    assert model.privacy_statement_.run.name == one.id
    assert node.fits == 1


def test_waiting_reports_public_time_and_an_interrupt_says_how_to_go_on(node: Node) -> None:
    node.seconds = 600
    seen: list[Wait] = []

    def interrupt(step: Wait) -> None:
        seen.append(step)
        raise KeyboardInterrupt

    with watching(interrupt), pytest.raises(KeyboardInterrupt) as interrupted:
        MODEL.fit(table(node))
    (wait,) = seen
    assert wait.state == "running"
    assert 590 < wait.seconds_left <= 601
    (name,) = node.runs
    (note,) = interrupted.value.__notes__
    assert f"fit(table, resume='{name}')" in note
    node.seconds = 0
    assert MODEL.fit(table(node), resume=name).privacy_statement_.run.name == name


def test_bar_shows_public_time(monkeypatch: pytest.MonkeyPatch) -> None:
    views: list[_progress._View] = []
    _progress._timed(views.append)(Wait("running", 0.3, 420.0))
    assert views == [_progress._View("running at the node", "", 0.3, 1.0, "7 minutes left")]


@pytest.mark.parametrize(
    ("seconds_left", "text"), [(0.0, "to be released"), (540.0, "late; next release in 9 minutes")]
)
def test_bar_of_a_late_fit_says_when_it_may_come(seconds_left: float, text: str) -> None:
    views: list[_progress._View] = []
    _progress._timed(views.append)(Wait("running", 1.0, seconds_left))
    assert views[0].left == text


@pytest.mark.parametrize(
    ("state", "text"), [("failed", "Why is withheld"), ("cancelled", "was cancelled")]
)
def test_run_that_ends_without_a_model_is_an_error(node: Node, state: str, text: str) -> None:
    node._note("a" * 16, "fit")
    node.runs["a" * 16]["state"] = state
    with pytest.raises(RemoteError, match=text) as ended:
        MODEL.fit(table(node), resume="a" * 16)
    assert ended.value.kind == state
    assert not hasattr(ended.value, "__notes__")


def test_budget_that_does_not_suffice_is_said_as_at_home(node: Node) -> None:
    with pytest.raises(BudgetExceededError) as refused:
        PEMeans(2, epsilon=9.0).fit(table(node))
    assert str(refused.value).splitlines()[0] == (
        "what is left of your part of the budget, or of the table's total, does not cover this "
        "run; nothing was read."
    )
    assert re.search(r"at most epsilon = (3.9|4)\S*, or talk to the owner", str(refused.value))


def test_budget_of_which_nothing_is_left_is_for_the_owner_to_talk_about(node: Node) -> None:
    def spoil(method: str, path: str, *response: Any) -> Any:
        if (method, path) != ("POST", "/v1/fits"):
            return response
        return problem(403, "budget-exceeded", requested=0.5, remaining=0)

    node.spoil = spoil
    with pytest.raises(BudgetExceededError, match=r"Nothing is left of it\. Talk to the owner"):
        MODEL.fit(table(node))


def test_wrong_parameters_are_refused_before_anything_is_sent(node: Node) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "bounds": {"bounds": {"age": (0, 1)}},
        "n_clusters": {"n_clusters": 0},
        "random_state": {"random_state": -1},
        "epsilon": {"epsilon": -1.0, "delta": 1e-6},
    }
    for name, parameters in wrong.items():
        with pytest.raises(ParameterError, match=name):
            PEMeans(**parameters).fit(table(node))
    assert node.requests == []


def changed(**changes: Any) -> Callable[..., Any]:
    """Change a model on its way: `a__b` stands for the key b in a."""

    def spoil(method: str, path: str, status: int, headers: Any, body: bytes) -> Any:
        if not path.endswith(("/model", "/profile")):
            return status, headers, body
        content = json.loads(body)
        for place, value in changes.items():
            *above, last = place.split("__")
            part = content
            for key in above:
                part = part[key]
            part[last] = value
        return status, headers, json.dumps(content).encode()

    return spoil


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"format": "privclust model 99"}, ModelFileError),
        ({"cluster_centers": [[1e9, 0.0]]}, ModelFileError),
        ({"statement__run__epsilon": 0.1}, ModelFileError),
        ({"statement__run__name": "other"}, RemoteError),
    ],
)
def test_model_that_is_not_the_requested_one_is_refused(
    node: Node, changes: dict[str, Any], error: type[Exception]
) -> None:
    node.spoil = changed(**changes)
    estimator = PEMeans(2, epsilon=0.5)
    with pytest.raises(error):
        estimator.fit(table(node))
    assert not hasattr(estimator, "model_")


def test_resumed_fit_of_another_kind_or_a_larger_epsilon_is_refused(node: Node) -> None:
    name = MODEL.fit(table(node)).privacy_statement_.run.name
    others = {
        "estimator PEMeans": PrivateKMeans(2, epsilon=0.5),
        "epsilon=0.5": PEMeans(2, epsilon=0.1),
        "delta=1e-06": PEMeans(2, epsilon=0.5, delta=1e-8),
        "n_clusters=2": PEMeans(3, epsilon=0.5),
        "n_clusters=2, epsilon=0.5": PEMeans(3, epsilon=0.1),
    }
    said = f"run {name} was started with other parameters: "
    for text, estimator in others.items():
        with pytest.raises(ParameterError, match=f"^{said}{text}. Resume it with those"):
            estimator.fit(table(node), resume=name)
        assert not hasattr(estimator, "model_")
    with pytest.raises(ParameterError, match=r"columns=\['age', 'income'\]"):
        PEMeans(2, epsilon=0.5).fit(table(node, columns=["age"]), resume=name)


def test_new_fit_with_other_parameters_is_the_nodes_fault(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = node._fit

    def fit_otherwise(content: Any) -> str:
        return fit({**content, "parameters": {**content["parameters"], "n_clusters": 3}})

    monkeypatch.setattr(node, "_fit", fit_otherwise)
    with pytest.raises(RemoteError, match=r"other parameters: n_clusters=3\. It is not used"):
        MODEL.fit(table(node))


def test_run_is_looked_at_every_two_seconds_and_more_often_only_at_its_end(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = MODEL.fit(table(node)).privacy_statement_.run.name
    begun, slept = int(time.time()), [0.0]
    node.runs[name] |= {"state": "running", "release_at": begun + 30}
    monkeypatch.setattr(runs, "sleep", slept.append)
    monkeypatch.setattr(runs, "_now", lambda response: begun + sum(slept))

    def spoil(method: str, path: str, *response: Any) -> Any:
        if sum(slept) > 50:
            node.runs[name]["state"] = "finished"
        return response

    node.spoil = spoil
    MODEL.fit(table(node), resume=name)
    ends = list(accumulate(slept))
    early = [pause for pause, end in zip(slept[1:], ends, strict=False) if 30 - end > 10]
    late = [pause for pause, end in zip(slept[1:], ends, strict=False) if end >= 30]
    assert min(early) >= 2
    assert set(late) == {2.0}
    assert len(slept) < 60


def test_model_that_is_no_json_is_refused_without_its_text(node: Node) -> None:
    def spoil(method: str, path: str, status: int, headers: Any, body: bytes) -> Any:
        return status, headers, b"secret" if path.endswith("/model") else body

    node.spoil = spoil
    with pytest.raises(ModelFileError, match="it is not JSON") as refused:
        MODEL.fit(table(node))
    assert "secret" not in str(refused.value)


def test_profile_is_measured_at_the_node(node: Node) -> None:
    model = MODEL.fit(table(node))
    found = model.profile(table(node), ["ward"], epsilon=0.5)
    assert [one.column.name for one in found.columns] == ["ward"]
    assert found.privacy_statement.run.epsilon == 0.5
    assert node.bodies[-1] == {
        "fit": model.privacy_statement_.run.name,
        "columns": ["ward"],
        "epsilon": 0.5,
        "delta": 1e-6,
    }
    again = model.profile(
        table(node), ["ward"], epsilon=0.5, resume=found.privacy_statement.run.name
    )
    assert again.privacy_statement == found.privacy_statement
    name = found.privacy_statement.run.name
    with pytest.raises(ParameterError, match=r"other parameters: columns=\['ward'\]. Resume it"):
        model.profile(table(node), ["age"], epsilon=0.5, resume=name)
    other = PEMeans(2, epsilon=0.5).fit(table(node))
    fitted = model.privacy_statement_.run.name
    with pytest.raises(ParameterError, match=f"epsilon=0.5, the model of run {fitted}"):
        other.profile(table(node), ["ward"], epsilon=0.1, resume=name)


def test_profile_is_not_resumed_with_another_choice_of_clusters(node: Node) -> None:
    model = PrivateKMeans(2, epsilon=0.5, max_clusters=4).fit(table(node))
    name = model.profile(table(node), ["ward"], epsilon=0.5).privacy_statement.run.name
    with pytest.raises(ParameterError, match="other parameters: a model with other clusters"):
        model.refit(1).profile(table(node), ["ward"], epsilon=0.5, resume=name)


def test_profile_refuses_what_is_the_owners(node: Node) -> None:
    model = MODEL.fit(table(node))
    sent = len(node.requests)
    owners: dict[str, Any] = {"bounds": {"ward": (0, 1)}, "ledger": "b.db", "period": "w"}
    for name, value in owners.items():
        with pytest.raises(ParameterError, match=f"{name} cannot be set"):
            model.profile(table(node), ["ward"], epsilon=0.5, **{name: value})
    with pytest.raises(TypeError, match="a list of names"):
        model.profile(table(node), "ward", epsilon=0.5)
    assert len(node.requests) == sent


def test_rows_of_a_node_are_not_labelled(node: Node) -> None:
    for work in (PEMeans(2).fit_predict, PEMeans(2).fit_transform):
        with pytest.raises(TypeError, match="never leave their node"):
            work(table(node))
    assert node.requests == []
