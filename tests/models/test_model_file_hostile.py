"""A file that is no model is refused as that, whoever wrote it, and nothing in it is executed."""

from __future__ import annotations

import json
import pickle
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from privclust import PrivateKMeans, load
from privclust.errors import ModelFileError
from privclust.models.model_file import WARNING_MAX, to_json
from privclust.testing import SeededNoise, noise_from

K, COLUMNS = 3, 2
GONE = object()
NOT_NUMBERS: tuple[Any, ...] = (None, "7", "nan", True, [], {}, [1.0])
NOT_TEXTS: tuple[Any, ...] = (None, 7, True, [], {})
NUMBERS = (
    "n_rows",
    "domain.box.lower.0",
    "domain.box.weights.1",
    "cluster_centers.0.1",
    "cluster_sizes.0",
    "center_stderr.0.0",
    "size_stderr.2",
    "cluster_radii.0",
    "coreset.points.0.0",
    "coreset.weights.0",
    "coreset.radii.0",
    "quality.cap",
    "quality.capped_loss_stderr",
    "quality.loss",
    "releases.0.result.0",
    "releases.0.scale",
    "releases.0.sampling_exponent",
    "releases.0.charge.quanta",
    "releases.0.charge.slack",
    "statement.delta",
    "statement.n_clusters",
    "statement.run.delta",
    "statement.run.reserved.quanta",
    "statement.run.unit.rows",
)
TEXTS = (
    "format",
    "estimator",
    "columns.0",
    "releases.0.slot",
    "releases.0.mechanism",
    "releases.0.noise",
    "statement.kind",
    "statement.estimator",
    "statement.bounds_origin",
    "statement.version",
    "statement.run.name",
    "statement.run.estimator",
    "statement.run.noise",
)


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    rows = np.random.default_rng(0).normal(0.0, 0.3, (1000, COLUMNS))
    bounds = ([-1.0, -1.0], [1.0, 1.0])
    model = PrivateKMeans(K, delta=1e-6, bounds=bounds, max_clusters=4, random_state=0)
    with noise_from(SeededNoise(0)):
        model.fit(pd.DataFrame(rows, columns=["age", "weight"]))
    content: dict[str, Any] = json.loads(to_json(model))
    return content


def changed(good: dict[str, Any], where: str, value: object) -> dict[str, Any]:
    """Return the content of a model file with something else at one place."""
    content = deepcopy(good)
    *path, last = where.split(".")
    part: Any = content
    for key in path:
        part = part[int(key) if isinstance(part, list) else key]
    if value is GONE:
        del part[last]
    else:
        part[int(last) if isinstance(part, list) else last] = value
    return content


def refused(content: object, folder: Path) -> str:
    """Return the refusal of a file with this content."""
    file = folder / "hostile.json"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(ModelFileError, match=r"'hostile\.json'") as error:
        load(file)
    assert error.value.__context__ is None or error.value.__suppress_context__
    return str(error.value)


def test_the_file_without_a_fault_loads(good: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(good))
    assert len(load(tmp_path / "good.json").cluster_centers_) == K


def test_file_that_another_release_wrote_in_this_format_loads(
    good: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "earlier.json").write_text(json.dumps(changed(good, "statement.version", "0.1.0")))
    assert load(tmp_path / "earlier.json").privacy_statement_.version == "0.1.0"


# Other files -------------------------------------------------------------------------------------


class Payload:
    """Something that acts when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.place,)


def test_a_pickle_is_refused_and_does_nothing(tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refused(pickle.dumps(Payload(harm), protocol), tmp_path)
    assert not harm.exists()
    pickle.loads(pickle.dumps(Payload(harm)))
    assert harm.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"3",
        b'"format"',
        b"[]",
        b"{}",
        b"{",
        b"\xff\xfe\x00",
        b"\x89PNG\r\n\x1a\n",
        b"PAR1\x00PAR1",
        b'{"format": "privclust model 5"}',
        b'{"format": 1' + b"0" * 5000 + b"}",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"format":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=lambda content: repr(content[:24]),
)
def test_a_file_of_another_kind_is_refused(content: bytes, tmp_path: Path) -> None:
    refused(content, tmp_path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere.json", tmp_path / "a" / "b.json", "a\0b"):
        with pytest.raises(ModelFileError):
            load(place)


def test_the_statement_alone_is_no_model(good: dict[str, Any], tmp_path: Path) -> None:
    refused(good["statement"], tmp_path)


@pytest.mark.parametrize("version", [1, 2, 3, 4, 999_999_999])
def test_file_of_another_version_is_refused_by_its_number(
    version: int, good: dict[str, Any], tmp_path: Path
) -> None:
    message = refused(changed(good, "format", f"privclust model {version}"), tmp_path)
    assert (
        f"is a model of format {version}, and this version of privclust reads format 5" in message
    )


# Faults in one place -----------------------------------------------------------------------------


def places(content: Any, where: str = "") -> list[str]:
    """Return the places of all keys of an object, and of what is in it."""
    if isinstance(content, list):
        return places(content[0], f"{where}0.") if content else []
    if not isinstance(content, dict):
        return []
    return [where + key for key in content] + [
        place for key, part in content.items() for place in places(part, f"{where}{key}.")
    ]


def accepted(contents: dict[str, Any], folder: Path) -> list[str]:
    """Return those contents that are not refused as they should be, with what happens instead."""
    found = []
    for name, content in contents.items():
        try:
            refused(content, folder)
        except BaseException as error:
            found.append(f"{name}: {type(error).__name__} {error}"[:120])
    return found


def test_a_file_that_lacks_any_key_is_refused(good: dict[str, Any], tmp_path: Path) -> None:
    # Parameters have defaults, so that a later version may have one more.
    keys = [place for place in places(good) if not place.startswith("parameters.")]
    assert len(keys) > 50
    assert accepted({key: changed(good, key, GONE) for key in keys}, tmp_path) == []


def test_a_file_with_a_key_too_many_is_refused(good: dict[str, Any], tmp_path: Path) -> None:
    objects = {place.rpartition(".")[0] for place in places(good)}
    assert {"", "parameters", "domain", "domain.box", "coreset", "releases.0.charge"} < objects
    more = {where: changed(good, f"{where}.more".lstrip("."), 7) for where in objects}
    assert accepted(more, tmp_path) == []


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused_where_one_belongs(
    value: object, good: dict[str, Any], tmp_path: Path
) -> None:
    assert accepted({where: changed(good, where, value) for where in NUMBERS}, tmp_path) == []


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400])
def test_numbers_that_are_not_finite_or_too_large_are_refused(
    literal: str, good: dict[str, Any], tmp_path: Path
) -> None:
    mark = 0.123456789
    texts = {
        where: json.dumps(changed(good, where, mark)).replace(str(mark), literal)
        for where in NUMBERS
    }
    assert accepted(texts, tmp_path) == []


@pytest.mark.parametrize("value", NOT_TEXTS, ids=repr)
def test_what_is_no_text_is_refused_where_one_belongs(
    value: object, good: dict[str, Any], tmp_path: Path
) -> None:
    assert accepted({where: changed(good, where, value) for where in TEXTS}, tmp_path) == []


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("format", "privclust model 1"),
        ("estimator", "KMeans"),
        ("estimator", "__class__"),
        ("estimator", "PEMeans"),
        ("private", "no"),
        ("statement.private", 1),
        ("statement.epsilon", "1"),
        ("statement.run.record", {}),
        ("statement.run.record", []),
        ("statement.releases", []),
        ("statement.not_covered", "nothing"),
        ("statement.dependencies", {}),
        ("statement.participation", []),
        ("statement.public_points", ["mine"]),
        ("statement.public_points", [{"parameter": "x\nepsilon = 0", "count": 1}]),
        ("quality", []),
        ("quality.cap", 0.0),
        ("quality.loss_stderr", -1.0),
        ("quality.far_share", 0.5),
        ("quality.far_share", "half"),
        ("fit_warning", 7),
        ("fit_warning", True),
        ("fit_warning", []),
        ("fit_warning", {}),
        ("fit_warning", ["few rows"]),
        ("parameters", []),
        ("parameters.epsilon", "1"),
        ("parameters.epsilon", None),
        ("parameters.epsilon", 0.5),
        ("parameters.delta", 0.5),
        ("parameters.n_clusters", [3]),
        ("parameters.ledger", "/etc/budget.db"),
        ("parameters.bounds", "/etc/bounds.toml"),
        ("columns", "ab"),
        ("columns", ["age"]),
        ("columns", ["age", "weight", "more"]),
        ("columns", ["age", "age"]),
        ("domain", {}),
        ("domain", {"box": {"lower": [0], "upper": [1], "weights": [1]}}),
        ("domain", {"ball": {"middle": [0, 0], "radius": 0}}),
        ("domain", {"ball": {"middle": [0, 0], "radius": "1"}}),
        ("domain.ball", {"middle": [0, 0], "radius": 1}),
        ("domain.box.upper", [-1.0, 1.0]),
        ("domain.box.weights", [1.0, -1.0]),
        ("cluster_centers", []),
        ("cluster_centers", [[]]),
        ("cluster_centers", [[1.0, 2.0]]),
        ("cluster_centers", [[1.0, 2.0], [1.0], [1.0, 2.0]]),
        ("cluster_sizes", [[1.0], [1.0], [1.0]]),
        ("size_stderr", [1.0]),
        ("coreset.points", [[0.0]]),
        ("coreset.weights", [1.0]),
        ("n_rows", 1.5),
        ("releases", {}),
        ("releases.0.result", 5),
        ("releases.0.result", [[5]]),
        ("releases.0.result", [1.5]),
        ("releases.0.charge", {"quanta": 1}),
        ("releases.0.charge.quanta", -1),
        ("releases.0.mechanism", "magic"),
        ("releases.0.sampling_exponent", -1),
    ],
)
def test_wrong_shapes_words_and_kinds_are_refused(
    where: str, value: object, good: dict[str, Any], tmp_path: Path
) -> None:
    refused(changed(good, where, value), tmp_path)


def test_a_file_cannot_call_itself_private_against_its_statement(
    good: dict[str, Any], tmp_path: Path
) -> None:
    assert good["private"] is False
    refused(changed(good, "private", True), tmp_path)


@pytest.mark.attack
def test_statement_that_its_results_contradict_is_refused(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.3, (1000, COLUMNS))
    model = PrivateKMeans(K, delta=1e-6, radius=2.0, max_clusters=4).fit(rows)
    honest: dict[str, Any] = json.loads(to_json(model))
    (tmp_path / "honest.json").write_text(json.dumps(honest))
    assert load(tmp_path / "honest.json").privacy_statement_.private
    for where, value, cause in (
        ("statement.epsilon", 0.5, "what they do not come to"),
        ("statement.delta", 1e-12, "what they do not come to"),
        ("statement.private", False, "of itself what its statement does not"),
        ("statement.run.epsilon", 0.5, "reserved more than it guarantees"),
        ("statement.run.delta", 1e-12, "reserved more than it guarantees"),
        ("statement.run.epsilon", -5, "epsilon"),
        ("statement.run.reserved.quanta", 1, "cost more than it guarantees"),
        ("releases", [], "of its noise"),
        ("releases.0.noise", "none", "of its noise"),
        ("statement.run.noise", "OpenDP\nPrivacy guarantee: epsilon = 0.01", "cannot be printed"),
        ("statement.version", "1\nPrivacy guarantee: epsilon = 0.01", "cannot be printed"),
        ("statement.bounds_origin", "God", "bounds_origin is none of"),
        ("statement.kind", "profile", "depends on the run of its clusters"),
        ("statement.n_clusters", 9, "about something else"),
        ("statement.columns", ["age", "weight"], "about something else"),
        ("statement.estimator", "PEMeans", "another estimator"),
        ("statement.run.estimator", "a b", "letters and digits"),
        ("statement.run.name", "two words", "letters and digits"),
    ):
        assert cause in refused(changed(honest, where, value), tmp_path)


@pytest.mark.parametrize("where", ["center_stderr.0.0", "size_stderr.2", "cluster_radii.0"])
def test_an_error_or_radius_below_zero_is_refused(
    where: str, good: dict[str, Any], tmp_path: Path
) -> None:
    """It loaded, and the report could not be drawn."""
    assert "negative" in refused(changed(good, where, -1.0), tmp_path)


@pytest.mark.parametrize("place", ["cluster_centers.0.1", "coreset.points.0.0"])
@pytest.mark.parametrize("value", [1.5e308, -7.0])
def test_a_point_beyond_the_models_own_bounds_is_refused(
    place: str, value: float, good: dict[str, Any], tmp_path: Path
) -> None:
    """It loaded, and the report could not be drawn."""
    assert "beyond its own bounds" in refused(changed(good, place, value), tmp_path)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("x" * (WARNING_MAX + 1), "more than 2,000 characters"),
        ("few rows\nPrivacy guarantee: epsilon = 0.01", "cannot be printed"),
        ("few rows\x1b[2J", "cannot be printed"),
        ("\ud800", "cannot be printed"),
    ],
    ids=["long", "a line of its own", "obeyed by a terminal", "half a letter"],
)
def test_warning_that_is_too_long_or_cannot_be_printed_is_refused(
    text: str, cause: str, good: dict[str, Any], tmp_path: Path
) -> None:
    assert cause in refused(changed(good, "fit_warning", text), tmp_path)


def test_warning_as_long_as_a_fit_may_give_is_loaded(good: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "long.json").write_text(json.dumps(changed(good, "fit_warning", "x" * WARNING_MAX)))
    assert load(tmp_path / "long.json").fit_warning_ == "x" * WARNING_MAX


def test_columns_are_texts_and_as_many_as_there_are(good: dict[str, Any], tmp_path: Path) -> None:
    for names in (["age", "age"], ["age", "age", "weight"], ["age", "\ud800"]):
        refused(changed(good, "columns", names), tmp_path)


def test_fit_of_thousands_of_clusters_can_be_loaded(good: dict[str, Any], tmp_path: Path) -> None:
    """It was paid for and saved, and a limit of 4,096 points refused it."""
    coreset = {name: (part * 5000)[:5000] for name, part in good["coreset"].items()}
    path = tmp_path / "many.json"
    path.write_text(json.dumps(changed(good, "coreset", coreset)))
    assert len(load(path).coreset_.points) == 5000


def test_a_file_that_would_keep_a_machine_busy_is_refused(
    good: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = changed(good, "cluster_centers", [[0.0, 0.0]] * 5000)
    monkeypatch.setattr("privclust.models._json_file.POINTS_MAX", 4999)
    assert "more than 4,999" in refused(many, tmp_path)
    monkeypatch.setattr("privclust.models._json_file.BYTES_MAX", 1000)
    assert "bytes" in refused(good, tmp_path)


def test_a_message_is_short_whatever_the_file_holds(good: dict[str, Any], tmp_path: Path) -> None:
    assert len(refused(changed(good, "format", "x" * 100_000), tmp_path)) < 500
    assert len(refused(changed(good, "cluster_centers", "x" * 100_000), tmp_path)) < 500
