"""Profiles of a fitted model: charged to the same account, the same on any table, silent."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from helpers.interruptions import Interrupted

from privclust import (
    BudgetExceededError,
    DPLloyd,
    Federation,
    Ledger,
    LedgerError,
    PrivateKMeans,
    load,
    load_profile,
    save,
    save_profile,
)
from privclust.domains.bounds_file import declared_column
from privclust.errors import (
    BoundsError,
    ColumnError,
    ColumnTypeError,
    ModelFileError,
    ParameterError,
)
from privclust.estimators._recompute import declares_as_recorded
from privclust.models.formatting import rounded_up
from privclust.models.profile import Profile
from privclust.models.report import to_html
from privclust.testing import RepeatableNoise, SeededNoise, noise_from

N_ROWS = 3000
DECLARED = """\
bounds_origin = "domain knowledge"

[columns.age]
type = "number"
lower = 0
upper = 120

[columns.ward]
type = "category"
levels = ["A", "B", "other"]

[columns.visit]
type = "date"
lower = 2020-01-01
upper = 2024-12-31
"""
BOUNDS: dict[str, Any] = {
    "age": (0, 120),
    "ward": {"type": "category", "levels": ["A", "B", "other"]},
    "visit": {"type": "date", "lower": date(2020, 1, 1), "upper": date(2024, 12, 31)},
}
OTHERS = list(BOUNDS)
CLUSTERED = {"x": (0, 100), "y": (0, 100)}


def people() -> Any:
    rng = np.random.default_rng(0)
    group = np.arange(N_ROWS) % 2
    first = date(2020, 1, 1).toordinal()
    return pa.table(
        {
            "x": rng.normal(30 + 40 * group, 2.0),
            "age": pa.array(rng.normal(30 + 30 * group, 10.0), mask=rng.random(N_ROWS) < 0.05),
            "y": rng.normal(50, 2.0, N_ROWS),
            "ward": rng.choice(["A", "B", "C"], N_ROWS),
            "visit": [date.fromordinal(first + int(day)) for day in rng.integers(0, 900, N_ROWS)],
            "who": [f"p{number % 700}" for number in range(N_ROWS)],
        }
    )


TABLE = people()


def fitted(**given: Any) -> Any:
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds=CLUSTERED, random_state=0, **given)
        return model.fit(TABLE.select(["x", "y", *([given["unit"]] if "unit" in given else [])]))


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted()


@pytest.fixture(scope="module")
def private() -> tuple[Any, Profile]:
    """Return a model and its profile, which files and pages call private."""
    model = PrivateKMeans(2, delta=1e-6, bounds=CLUSTERED, random_state=0)
    model.fit(TABLE.select(["x", "y"]))
    return model, model.profile(TABLE, OTHERS, bounds=BOUNDS, epsilon=1.0)


def profiled(model: Any, rows: Any = TABLE, **given: Any) -> Profile:
    given = {"columns": OTHERS, "bounds": BOUNDS, "epsilon": 1.0, **given}
    with noise_from(RepeatableNoise(0)):
        profile: Profile = model.profile(rows, **given)
    return profile


def results(profile: Profile) -> list[list[int]]:
    return [release.result.tolist() for release in profile.releases]


def test_means_and_shares_are_those_of_the_clusters(model: Any) -> None:
    profile = profiled(model)
    labels = model.predict(TABLE.select(["x", "y"]))
    age = TABLE["age"].to_numpy()
    for cluster in (0, 1):
        ours = labels == cluster
        means = profile["age"].means
        assert means is not None
        assert abs(means.values[cluster] - np.nanmean(np.clip(age, 0, 120)[ours])) < 3
        share = np.mean(np.array(TABLE["ward"].to_pylist())[ours] == "A")
        assert abs(profile["ward"].shares.values[cluster, 0] - share) < 0.05
        assert abs(profile.sizes.values[cluster] - ours.sum()) < 100
    assert "age" in str(profile)
    with pytest.raises(KeyError, match="it has 'age', 'ward', 'visit'"):
        profile["height"]


EPOCH = date(1970, 1, 1).toordinal()
FILLED: dict[str, Any] = {
    "age": {"type": "number", "lower": 0, "upper": 120, "missing": 20},
    "seen": {"type": "date", "lower": "2024-01-01", "upper": "2024-12-31", "missing": "2024-02-01"},
}


def test_missing_cells_keep_their_place_and_no_part_in_means(model: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    day = pa.array([date(2024, 12, 1)] * N_ROWS, pa.date32())
    seen = pc.if_else(pa.array(rng.random(N_ROWS) < 0.5), None, day)
    table = TABLE.append_column("seen", seen)
    plain = {name: {**one, "missing": None} for name, one in FILLED.items()}
    found = []
    for bounds in (FILLED, plain):
        with noise_from(SeededNoise(0)):  # the same for both
            found.append(model.profile(table, list(FILLED), bounds=bounds, epsilon=1.0))
    filled, middle = found
    labels = model.predict(TABLE.select(["x", "y"]))
    for cluster in (0, 1):
        gap = float(np.isnan(TABLE["age"].to_numpy()[labels == cluster]).mean())
        assert filled["age"].shares.values[cluster, -1] == pytest.approx(gap, abs=0.03)
        assert filled["seen"].shares.values[cluster, -1] == pytest.approx(0.5, abs=0.05)
        means = filled["seen"].means
        assert means is not None
        assert means.values[cluster] == pytest.approx(date(2024, 12, 1).toordinal() - EPOCH, abs=5)
    assert (_means(filled) == _means(middle)).all()
    assert (filled["age"].shares.values == middle["age"].shares.values).all()
    assert "Cells that are missing, or of no declared level: 'age'" in str(filled)
    save_profile(filled, tmp_path / "profile.json")
    again = load_profile(tmp_path / "profile.json")
    assert str(again) == str(filled)
    assert [one.column for one in again.columns] == [one.column for one in filled.columns]
    assert '"missing": 20.0' in (tmp_path / "profile.json").read_text()
    save_profile(middle, tmp_path / "middle.json")
    assert '"missing":' not in (tmp_path / "middle.json").read_text()


def test_no_gaps_are_named_where_noise_alone_makes_some(model: Any) -> None:
    """One of forty shares lies above 0 by two standard errors though no cell is missing."""
    table = TABLE.set_column(
        TABLE.column_names.index("age"),
        "age",
        pc.fill_null(pc.if_else(pc.is_nan(TABLE["age"]), 40.0, TABLE["age"]), 40.0),
    )
    bounds = {"age": (0, 120)}
    for seed in range(20):
        with noise_from(SeededNoise(seed)):
            assert "missing, or of no" not in str(
                model.profile(table, ["age"], bounds=bounds, epsilon=1.0)
            )


def _means(profile: Profile) -> Any:
    means = profile["age"].means
    assert means is not None
    return means.values


def test_profile_declares_of_missing_cells_what_its_ledger_recorded(ledger: str) -> None:
    model = fitted(ledger=ledger, dataset="people")
    profile = profiled(model, columns=["age"], bounds={"age": FILLED["age"]}, ledger=ledger)
    assert declares_as_recorded(profile, model.model_, Ledger.open(ledger))
    (found,) = profile.columns
    column = declared_column("age", {**FILLED["age"], "missing": 21})
    other = replace(profile, columns=(replace(found, column=column),))
    assert not declares_as_recorded(other, model.model_, Ledger.open(ledger))


def test_few_days_are_told_apart_each_and_the_file_knows(model: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    day = rng.integers(0, 3, N_ROWS)
    seen = [date(2024, 2, 28 + int(one)) if one < 2 else date(2024, 3, 1) for one in day]
    declared = {"type": "date", "lower": date(2024, 2, 28), "upper": date(2024, 3, 1)}
    table = TABLE.append_column("seen", pa.array(seen, pa.date32()))
    profile = profiled(model, table, columns=["seen"], bounds={"seen": declared})
    assert profile["seen"].labels == ("2024-02-28", "2024-02-29", "2024-03-01", "missing")
    labels = model.predict(TABLE.select(["x", "y"]))
    for cluster in (0, 1):
        counts = np.bincount(day[labels == cluster], minlength=4)
        np.testing.assert_allclose(
            profile["seen"].shares.values[cluster], counts / counts.sum(), atol=0.05
        )
    save_profile(profile, tmp_path / "profile.json")
    assert str(load_profile(tmp_path / "profile.json")) == str(profile)


# The same results wherever rows lie ---------------------------------------------------------------


def in_file(folder: Path) -> Any:
    pq.write_table(TABLE, folder / "people.parquet", row_group_size=777)
    return str(folder / "people.parquet")


def clients(folder: Path) -> Any:
    even = np.arange(N_ROWS) % 1400 < 700
    pq.write_table(TABLE.filter(pa.array(~even)), folder / "south.parquet")
    tables = {"north": TABLE.filter(pa.array(even)), "south": str(folder / "south.parquet")}
    return Federation.in_process(tables, ["x", "y"])


LAID_OUT = {
    "pandas": lambda _: TABLE.to_pandas(),
    "shuffled columns": lambda _: TABLE.select(["who", "visit", "ward", "y", "age", "x"]),
    "Polars": lambda _: pl.from_arrow(TABLE),
    "Parquet": in_file,
    "federation": clients,
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_every_engine_gives_the_same_results(name: str, model: Any, tmp_path: Path) -> None:
    assert results(profiled(model, LAID_OUT[name](tmp_path))) == results(profiled(model))


@pytest.mark.parametrize("name", ["pandas", "Parquet"])
def test_every_engine_sums_units_alike(name: str, tmp_path: Path) -> None:
    by_person = fitted(unit="who", max_rows_per_unit=2)
    found = profiled(by_person, LAID_OUT[name](tmp_path))
    assert results(found) == results(profiled(by_person))
    assert found.privacy_statement.unit == "who"
    # 700 people, of whom two rows count each.
    assert found.sizes.values.sum() == pytest.approx(1400, rel=0.25)


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("name", ["pandas", "Parquet"])
def test_each_row_of_a_person_weighs_alike_in_sizes_shares_and_means(
    name: str, most: int, tmp_path: Path
) -> None:
    """A person's rows in the middle weighed more, so that no share or mean was of the same rows."""
    rng = np.random.default_rng(0)
    whose = np.repeat(np.arange(900), np.tile([1, 2, 6], 300))
    n_rows = len(whose)
    age = rng.normal(np.where(rng.random(n_rows) < 0.5, 25.0, 60.0), 3.0)
    table = pa.table(
        {
            "x": rng.choice([30.0, 70.0], n_rows),
            "y": np.full(n_rows, 50.0),
            "age": age,
            "ward": np.where(age < 40, "A", "B"),
            "who": [f"p{number}" for number in whose],
        }
    )
    model = PrivateKMeans(2, delta=1e-6, bounds=CLUSTERED, unit="who", max_rows_per_unit=most)
    with noise_from(SeededNoise(0)):
        model.fit(table.select(["x", "y", "who"]))
    rows: Any = table.to_pandas() if name == "pandas" else tmp_path / "people.parquet"
    if name == "Parquet":
        pq.write_table(table, rows)
    columns: Any = {name: BOUNDS[name] for name in ("age", "ward")}
    found = profiled(model, rows, columns=list(columns), bounds=columns, epsilon=64.0)
    weights = np.minimum(1.0, most / np.bincount(whose))[whose]
    labels = model.predict(table.select(["x", "y"]))
    for cluster in range(2):
        own = weights * (labels == cluster)
        assert found.sizes.values[cluster] == pytest.approx(own.sum(), abs=4)
        means, shares = found["age"].means, found["ward"].shares
        assert means is not None
        assert means.values[cluster] == pytest.approx(own @ age / own.sum(), abs=0.5)
        in_a = own[age < 40].sum() / own.sum()
        assert shares.values[cluster] == pytest.approx([in_a, 1 - in_a, 0, 0], abs=0.02)


@pytest.mark.attack
def test_person_with_any_number_of_rows_moves_a_profile_no_more_than_guaranteed() -> None:
    by_person = fitted(unit="who", max_rows_per_unit=2)
    once = TABLE.slice(0, 1).set_column(5, "who", pa.array(["new"]))
    for times in (1, 5000):
        more = pa.concat_tables([TABLE, *[once] * times])
        before, after = profiled(by_person), profiled(by_person, more)
        for release, other in zip(before.releases, after.releases, strict=True):
            noiseless = [_exact(by_person, rows, release.slot) for rows in (TABLE, more)]
            moved = np.abs(np.array(noiseless[0], dtype=float) - noiseless[1])
            allowed = release.scale * release.charge.mu
            assert 0 < np.sqrt((moved**2).sum()) <= allowed * (1 + 1e-9)
            assert release.scale == other.scale


def _exact(model: Any, rows: Any, slot: str) -> list[int]:
    from privclust.algorithms import profile as algorithm
    from privclust.engines.noisy import NoisyEngine
    from privclust.estimators._profile import open_profile
    from privclust.privacy.accounting import Budget

    table = open_profile(model, model.model_, rows, OTHERS, BOUNDS)
    centers = model.domain_.to_ball(model.cluster_centers_)
    planned = algorithm.plan(centers, table.domain, Budget(1.0, 1e-6))
    query = planned.tallies if slot == "tallies" else planned.sums
    assert query is not None
    assert not isinstance(table.engine, NoisyEngine)
    return list(table.engine.aggregate(query))


# The account --------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    place = str(tmp_path / "budget.db")
    Ledger.create(place, "people", epsilon=2.0, delta=1e-6)
    return place


@pytest.mark.attack
def test_a_profile_is_charged_to_the_account_of_the_fit(ledger: str) -> None:
    model = fitted(ledger=ledger, dataset="people")
    before = Ledger.open(ledger).remaining("people").mu2
    profile = profiled(model, epsilon=0.5)
    book = Ledger.open(ledger)
    spent = sum(release.charge.mu2 for release in profile.releases)
    assert before - book.remaining("people").mu2 == pytest.approx(spent, rel=1e-9)
    run = book.runs("people")[-1]
    assert (run.state, run.facts["estimator"], set(run.charges)) == (
        "finished",
        "profile",
        {"tallies", "sums"},
    )
    statement = profile.privacy_statement
    record = statement.record
    assert record is not None
    assert (record.dataset, statement.run.name) == ("people", run.name)
    assert book.verify(record.head) == []


@pytest.mark.attack
def test_a_profile_that_the_account_cannot_pay_is_refused_before_rows_are_read(ledger: str) -> None:
    model = fitted(ledger=ledger, dataset="people")
    with pytest.raises(BudgetExceededError, match="nothing was read"):
        profiled(model, epsilon=1.9)
    assert len(Ledger.open(ledger).runs("people")) == 1


@pytest.mark.attack
def test_loaded_model_of_a_recorded_fit_needs_its_ledger(ledger: str, tmp_path: Path) -> None:
    save(fitted(ledger=ledger, dataset="people"), tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    with pytest.raises(ParameterError, match="Type its path or URL"):
        profiled(model)
    profile = profiled(model, ledger=ledger, epsilon=0.5)
    assert profile.privacy_statement.record is not None
    assert len(Ledger.open(ledger).runs("people")) == 2


def test_a_fit_without_a_ledger_gets_an_account_for_this_profile_alone(model: Any) -> None:
    statement = profiled(model, epsilon=0.7, delta=1e-7).privacy_statement
    assert statement.record is None
    assert (statement.run.epsilon, statement.run.delta) == (0.7, 1e-7)
    assert profiled(model).privacy_statement.run.delta == 1e-6


@pytest.mark.attack
@pytest.mark.parametrize("at", [1, 2])
def test_interrupted_profile_is_resumed_at_no_cost(ledger: str, at: int) -> None:
    model = fitted(ledger=ledger, dataset="people")
    twin = profiled(fitted(), epsilon=0.5)
    with noise_from(Interrupted(at)), pytest.raises(KeyboardInterrupt) as stopped:
        model.profile(TABLE, OTHERS, bounds=BOUNDS, epsilon=0.5)
    book = Ledger.open(ledger)
    run = book.runs("people")[-1]
    assert f"profile(X, ..., resume={run.name!r})" in stopped.value.__notes__[0]
    left = book.remaining("people")
    noise = Interrupted(99)
    with noise_from(noise):
        profile = model.profile(TABLE, OTHERS, bounds=BOUNDS, epsilon=0.5, resume=run.name)
    assert results(profile) == results(twin)
    assert noise.draws == 3 - at
    assert profile.privacy_statement.run.name == run.name
    assert book.run(run.name).state == "finished"
    assert book.remaining("people").quanta >= left.quanta
    before = book.export()
    again = profiled(model, TABLE.slice(0, 5), epsilon=0.5, resume=run.name)
    assert results(again) == results(profile)
    assert again.privacy_statement == profile.privacy_statement
    assert book.export() == before


@pytest.mark.attack
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0.4}, r"epsilon was 0\.5, is 0\.4"),
        ({"delta": 1e-7}, "delta was 1e-06, is 1e-07"),
        ({"columns": ["age"], "bounds": {"age": (0, 120)}}, "columns was age, ward, visit, is age"),
        ({"bounds": {**BOUNDS, "age": (0, 130)}}, "bounds was [0-9a-f]+, is [0-9a-f]+"),
    ],
)
def test_profile_is_not_resumed_with_something_else(
    ledger: str, changed: dict[str, Any], message: str
) -> None:
    model = fitted(ledger=ledger, dataset="people")
    run = profiled(model, epsilon=0.5).privacy_statement.run.name
    before = Ledger.open(ledger).export()
    with pytest.raises(LedgerError, match=message):
        profiled(model, resume=run, **{"epsilon": 0.5, **changed})
    with pytest.raises(LedgerError, match="estimator was PrivateKMeans, is profile"):
        profiled(model, epsilon=0.5, resume=model.privacy_statement_.run.name)
    assert Ledger.open(ledger).export() == before


def test_profile_without_a_ledger_is_not_resumed(model: Any) -> None:
    with pytest.raises(ValueError, match="resume='feed' needs a ledger"):
        profiled(model, resume="feed")


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"columns": ["height"]}, ColumnError, "Declare what is missing"),
        ({"columns": ["height", "a, b"]}, ColumnError, "got 'height', 'a, b', and bounds for '"),
        ({"columns": []}, ColumnError, "one or more different names"),
        ({"columns": ["age", "age"]}, ColumnError, "one or more different names"),
        ({"columns": "age"}, TypeError, "a list of names"),
        ({"columns": ["ward"], "bounds": {"ward": (0, 1)}}, ColumnTypeError, "ward"),
        ({"columns": ["lost"], "bounds": {"lost": (0, 1)}}, ColumnError, "lost"),
        ({"bounds": ([0], [1])}, TypeError, "path of a bounds file, or a mapping"),
        ({"columns": ["age"], "bounds": {"age": (1, 0)}}, BoundsError, "lower below the upper"),
        ({"epsilon": np.inf}, ParameterError, "finite epsilon"),
        ({"epsilon": -1.0}, ParameterError, "epsilon"),
        ({"delta": 0.0}, ParameterError, "cannot guarantee delta=0"),
        ({"dataset": "people"}, ValueError, "Give both, .* or neither"),
    ],
)
def test_what_cannot_be_profiled_is_refused(
    given: dict[str, Any], error: type[Exception], words: str, model: Any
) -> None:
    with pytest.raises(error, match=words):
        profiled(model, **given)


def test_models_without_names_ids_and_pure_guarantees_are_refused() -> None:
    with noise_from(SeededNoise(0)):
        nameless = PrivateKMeans(2, delta=1e-6, bounds=(0, 1)).fit(np.zeros((1000, 2)))
        pure = DPLloyd(2, delta=0, bounds=CLUSTERED).fit(TABLE.select(["x", "y"]))
    with pytest.raises(ColumnError, match="without names"):
        profiled(nameless)
    with pytest.raises(ParameterError, match="cannot guarantee delta=0"):
        profiled(pure)
    assert profiled(pure, delta=1e-6).privacy_statement.run.delta == 1e-6
    with pytest.raises(ColumnError, match="column of ids"):
        profiled(fitted(unit="who"), columns=["who"], bounds={"who": BOUNDS["ward"]})


def test_a_model_without_noise_is_not_profiled() -> None:
    model = PrivateKMeans(2, epsilon=np.inf, bounds=CLUSTERED).fit(TABLE.select(["x", "y"]))
    with pytest.raises(ParameterError, match="nothing is private"):
        profiled(model)


# Files and the page -------------------------------------------------------------------------------


def test_a_profile_comes_back_as_it_was_saved(model: Any, tmp_path: Path) -> None:
    file, bounds = tmp_path / "profile.json", tmp_path / "people.toml"
    bounds.write_text(DECLARED)
    profile = profiled(model, bounds=bounds)
    assert results(profile) == results(profiled(model))
    assert profile.privacy_statement.bounds_origin == "domain knowledge"
    save_profile(profile, file)
    again = load_profile(file)
    assert str(again) == str(profile)
    assert again.privacy_statement == profile.privacy_statement
    for one, other in zip(again.columns, profile.columns, strict=True):
        assert (one.column, one.labels) == (other.column, other.labels)
        assert (one.shares.lower == other.shares.lower).all()
    assert str(tmp_path) not in file.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"n_clusters": 2', '"n_clusters": 3'),
        ('"n_clusters": 2', '"n_clusters": 1000000000'),
        ('"epsilon": 1.0', '"epsilon": 0.1'),
        ('"type": "category"', '"type": "number"'),
        ('"private": true', '"private": false'),
        ("{", "["),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(
    before: str, after: str, private: tuple[Any, Profile], tmp_path: Path
) -> None:
    file = tmp_path / "profile.json"
    save_profile(private[1], file)
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    with pytest.raises(ModelFileError, match="not a profile of privclust"):
        load_profile(file)


def test_model_and_profile_files_are_told_apart(
    private: tuple[Any, Profile], tmp_path: Path
) -> None:
    model, profile = private
    save(model, tmp_path / "model.json")
    save_profile(profile, tmp_path / "profile.json")
    with pytest.raises(ModelFileError, match=r"is a profile, not a model.*load_profile\.$"):
        load(tmp_path / "profile.json")
    with pytest.raises(ModelFileError, match=r"is a model, not a profile.*privclust\.load\.$"):
        load_profile(tmp_path / "model.json")


def test_the_page_shows_profiles_of_its_model_and_no_others(private: tuple[Any, Profile]) -> None:
    model, profile = private
    page = to_html(model, [profile])
    for text in (
        "Profile: other columns",
        "<h3>ward</h3>",
        "no outcome of what is released",
        "2 runs on the rows together",
        "2021-",
    ):
        assert text in page
    assert "runs on the rows together" not in to_html(model)
    with noise_from(SeededNoise(9)):
        other = PrivateKMeans(2, delta=1e-6, bounds=CLUSTERED).fit(TABLE.select(["x", "y"]))
    with pytest.raises(ModelFileError, match="belongs to another model"):
        to_html(other, [profile])


def test_the_page_states_what_all_its_runs_come_to() -> None:
    model = PrivateKMeans(2, delta=1e-6, bounds=CLUSTERED, n_rows=N_ROWS)
    model.fit(TABLE.select(["x", "y"]))
    profile = model.profile(TABLE, ["age"], bounds=BOUNDS, epsilon=1.0)
    page = " ".join(to_html(model, [profile]).split())
    replacing = profile.privacy_statement.composed.replacing_epsilon
    assert replacing is not None
    assert f"replacing one row instead, at epsilon = {rounded_up(replacing)}" in page
    assert (
        "an epsilon, or whether to run again, that was chosen after looking at an earlier run"
        in page
    )
    assert f"{len(model.releases_) + len(profile.releases)} noisy results" in page


def test_names_cannot_write_on_the_page(model: Any) -> None:
    evil = "<script>alert(1)</script>"
    bounds = {"ward": {"type": "category", "levels": [evil, "A", "missing"]}}
    page = to_html(model, [profiled(model, columns=["ward"], bounds=bounds)])
    assert evil not in page
    assert "&lt;script&gt;" in page


def test_nothing_of_the_rows_stays_on_a_profile(model: Any) -> None:
    secret = 73.19283746501928
    rows = TABLE.set_column(1, "age", pa.array(np.full(N_ROWS, secret)))
    profile = profiled(model, rows)
    assert set(vars(profile)) == {"clusters", "sizes", "columns", "releases", "privacy_statement"}
    assert "73.19283746501928" not in repr(vars(profile))


@pytest.mark.parametrize(
    ("kind", "keep"),
    [
        ("numbers", pa.table),
        ("numbers", pl.from_arrow),
        ("numbers", pa.Table.to_pandas),
        ("vectors", pa.table),
        ("vectors", pl.from_arrow),
    ],
)
def test_rows_count_in_the_cluster_that_predict_says_by_direction_too(kind: str, keep: Any) -> None:
    """Long and short rows of two directions, of which only the directions differ."""
    rng = np.random.default_rng(0)
    rows = np.array([[10.0, 1.0], [10.0, 6.0]])[np.arange(2000) % 2] * rng.uniform(1, 50, (2000, 1))
    columns: dict[str, Any] = {"x": rows[:, 0], "y": rows[:, 1]}
    if kind == "vectors":
        columns = {"way": pa.FixedSizeListArray.from_arrays(rows.ravel(), 2)}
    clustered = keep(pa.table(columns))
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, metric="cosine", epsilon=5, delta=1e-6, random_state=0)
        model.fit(clustered)
        table = keep(pa.table({**columns, "age": rng.uniform(0, 99, 2000)}))
        found = model.profile(table, ["age"], bounds={"age": (0, 99)}, epsilon=5)
    assert found.sizes.values == pytest.approx(np.bincount(model.predict(clustered)), abs=30)


def test_a_recorded_fit_is_profiled_at_the_expense_of_the_account_that_paid(tmp_path: Path) -> None:
    first, second = str(tmp_path / "first.db"), str(tmp_path / "second.db")
    for place in (first, second):
        Ledger.create(place, "people", epsilon=3.0, delta=1e-6)
    other = Ledger.open(first)
    other.add("others", 3.0, 1e-6)
    with noise_from(SeededNoise(0)):
        model = fitted(ledger=first, dataset="people")
        for account in ({"ledger": second}, {"dataset": "others"}):
            with pytest.raises(ParameterError, match="that paid for the fit"):
                model.profile(TABLE, ["age"], bounds=BOUNDS, epsilon=0.5, **account)
    assert Ledger.open(second).runs("people") == other.runs("others") == ()


def test_a_period_pays_for_the_profile_of_its_fit(tmp_path: Path) -> None:
    place = str(tmp_path / "year.db")
    Ledger.create(place, "people", epsilon=4.0, delta=1e-6, periods=4)
    with noise_from(SeededNoise(0)):
        model = fitted(ledger=place, dataset="people", epsilon=0.5, period="2026-W07")
        model.profile(TABLE, ["age"], bounds=BOUNDS, epsilon=0.5)
        model.profile(TABLE, ["age"], bounds=BOUNDS, epsilon=0.5, period="2026-W08")
        with pytest.raises(ParameterError, match="period must be a text"):
            model.profile(TABLE, ["age"], bounds=BOUNDS, epsilon=0.5, period=7)
    facts = [run.facts["period"] for run in Ledger.open(place).runs("people")]
    assert sorted(facts) == ["2026-W07", "2026-W07", "2026-W08"]


def test_reports_say_nothing_of_clusters_that_are_too_small() -> None:
    with noise_from(SeededNoise(0)):
        model = fitted()
        profile = model.profile(TABLE, OTHERS, bounds=BOUNDS, epsilon=5)
    least = float(np.mean(model.cluster_sizes_))
    assert to_html(model, [profile], min_size=least).count("<td>not reported</td>") > 0
    assert "in each cluster, with 95 % intervals" not in to_html(model, [profile], min_size=1e9)
