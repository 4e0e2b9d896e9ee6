"""A fit that was interrupted goes on where it was, and nothing is paid for twice."""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.interruptions import Interrupted
from helpers.postgres import cut, execute

from privclust import (
    BalcanKMeans,
    DPLloyd,
    FastLloyd,
    FedDPKMeans,
    HDPEMeans,
    LSHCoreset,
    PEMeans,
    PrivateKMeans,
    __version__,
)
from privclust.errors import EngineError
from privclust.estimators import _recording
from privclust.kernels.grid import FloatArray, IntArray
from privclust.privacy.accounting import Spend
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.noise import OpenDPNoise
from privclust.testing import RepeatableNoise, noise_from

EITHER = [(PEMeans, {}), (PrivateKMeans, {"max_clusters": 4})]
either_kind = pytest.mark.parametrize(("kind", "more"), EITHER, ids=["PEMeans", "PrivateKMeans"])


def two_groups(seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(middle, 0.1, (200, 2)) for middle in (-0.5, 0.5)])


class Unreadable(np.ndarray[Any, Any]):
    """Rows that fail when read."""

    def __getitem__(self, item: Any) -> Any:
        raise OSError("rows were read")


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A ledger whose data set "table" has budget for two fits or more."""
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=4.0, delta=1e-6)
    return place


def model_of(place: str | None, kind: Any = PEMeans, **parameters: Any) -> Any:
    given = {"dataset": None if place is None else "table", "random_state": 0, **parameters}
    return kind(**{"n_clusters": 2, "delta": 1e-6, "radius": 1.0, "ledger": place, **given})


def fit(model: Any, resume: str | None = None, noise: RepeatableNoise | None = None) -> Any:
    with noise_from(noise or RepeatableNoise(0)):
        return model.fit(two_groups(), resume=resume)


def interrupt(model: Any, at: int, resume: str | None = None) -> str:
    """Fit until the user loses patience at one draw of noise; return the name of the run."""
    with pytest.raises(KeyboardInterrupt):
        fit(model, resume, Interrupted(at))
    return Ledger.open(model.ledger).runs(model.dataset)[-1].name


def assert_twins(one: Any, other: Any) -> None:
    for name, value in vars(one.model_).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(other.model_, name), err_msg=name)
    for mine, its in zip(one.releases_, other.releases_, strict=True):
        assert mine.result.tolist() == its.result.tolist(), mine.slot
        assert (mine.slot, mine.charge, mine.sampling_exponent) == (
            its.slot,
            its.charge,
            its.sampling_exponent,
        )
    assert one.privacy_statement_.releases == other.privacy_statement_.releases


# The twin ----------------------------------------------------------------------------------------


@either_kind
def test_a_fit_interrupted_anywhere_ends_as_its_twin_and_costs_as_much(
    kind: Any, more: dict[str, Any], place: str
) -> None:
    twin = fit(model_of(place, kind, **more))
    ledger = Ledger.open(place)
    cost = ledger.remaining("table")
    assert len(twin.releases_) >= 6
    for at in range(1, len(twin.releases_) + 1):
        label = f"interrupted at {at}"
        ledger.add(label, 4.0, 1e-6)
        model = model_of(place, kind, dataset=label, **more)
        run = interrupt(model, at)
        assert len(ledger.run(run).charges) == at
        assert_twins(fit(model, run), twin)
        assert ledger.remaining(label) == cost
        assert model.privacy_statement_.run.name == run
    assert ledger.verify() == []


def test_a_fit_interrupted_at_every_draw_ends_as_its_twin(place: str) -> None:
    twin = fit(model_of(None))
    model = model_of(place)
    run = interrupt(model, 1)
    for _ in range(1, len(twin.releases_)):
        assert interrupt(model, 2, run) == run
    assert_twins(fit(model, run), twin)
    assert len(Ledger.open(place).runs("table")) == 1


def test_fit_that_measures_a_sample_is_resumed_too(place: str) -> None:
    given = {"max_clusters": 4, "n_rows": 400_000}
    twin = fit(model_of(None, PrivateKMeans, **given))
    assert {release.sampling_exponent for release in twin.releases_} == {0, 2}
    model = model_of(place, PrivateKMeans, **given)
    assert_twins(fit(model, interrupt(model, 5)), twin)


@pytest.mark.parametrize("at", [1, 4])
def test_a_fit_whose_server_was_lost_ends_as_its_twin(database: str, at: int) -> None:
    Ledger.create(database, "table", epsilon=4.0, delta=1e-6)
    model = model_of(database)
    # A journal that takes a new connection for each entry would not even notice.
    with suppress(LedgerError):
        fit(model, noise=Interrupted(at, lambda: cut(database)))
    (run,) = Ledger.open(database).runs("table")
    assert len(run.charges) >= at
    assert_twins(fit(model, run.name), fit(model_of(None)))
    ledger = Ledger.open(database)
    assert len(ledger.runs("table")) == 1
    assert ledger.head() == model.privacy_statement_.record.head


def test_a_ledger_changes_nothing_about_a_fit(place: str) -> None:
    assert_twins(fit(model_of(place)), fit(model_of(None)))


@pytest.mark.attack
def test_resuming_draws_only_what_is_missing(place: str) -> None:
    model = model_of(place)
    run = interrupt(model, 4)
    before = Ledger.open(place).run(run).spent
    noise = Interrupted(at=99)
    fit(model, run, noise)
    assert noise.draws == len(model.releases_) - 3
    after = Ledger.open(place).run(run)
    assert after.charges.keys() == {release.slot for release in model.releases_}
    assert before.quanta == sum(after.charges[r.slot].quanta for r in model.releases_[:4])


@pytest.mark.attack
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        *EITHER,
        (HDPEMeans, {}),
        (DPLloyd, {}),
        (FastLloyd, {}),
        (LSHCoreset, {}),
        (BalcanKMeans, {}),
        (FedDPKMeans, {}),
    ],
    ids=[
        "PEMeans",
        "PrivateKMeans",
        "HDPEMeans",
        "DPLloyd",
        "FastLloyd",
        "LSHCoreset",
        "BalcanKMeans",
        "FedDPKMeans",
    ],
)
def test_finished_run_is_repeated_at_no_cost_and_without_the_rows(
    kind: Any, more: dict[str, Any], place: str
) -> None:
    first = fit(model_of(place, kind, **more))
    ledger = Ledger.open(place)
    before = ledger.export()
    again = model_of(place, kind, **more)
    with noise_from(Interrupted(at=1)):
        again.fit(two_groups().view(Unreadable), resume=first.privacy_statement_.run.name)
    assert_twins(again, first)
    assert again.privacy_statement_ == first.privacy_statement_
    assert ledger.export() == before


def test_results_drawn_in_testing_stay_marked_when_resumed_with_real_noise(place: str) -> None:
    run = interrupt(model_of(place), 6)
    model = model_of(place).fit(two_groups(), resume=run)
    assert {release.noise for release in model.releases_} == {"testing: repeatable", "OpenDP"}
    assert not model.privacy_statement_.private


def test_without_a_seed_the_runs_own_is_used(place: str) -> None:
    model = model_of(place, random_state=None)
    run = interrupt(model, 3)
    seed = int(Ledger.open(place).run(run).facts["seed"])
    assert_twins(fit(model, run), fit(model_of(None, random_state=seed)))
    assert model.random_state is None


# What is charged stays charged -------------------------------------------------------------------


def test_a_new_fit_says_before_it_pays_that_another_one_is_open(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = interrupt(model_of(place), 2)
    runs_at_warning: list[int] = []

    def warn(message: str) -> None:
        assert f"an open run, {run} (run 1 of 1: PEMeans, 2 clusters, epsilon 1)" in message
        assert f"resume={run!r}" in message
        runs_at_warning.append(len(Ledger.open(place).runs("table")))

    monkeypatch.setattr(_recording, "warn_user", warn)
    fit(model_of(place))

    assert runs_at_warning == [1]


@pytest.mark.filterwarnings("error:data set .* has .*open run")
def test_who_resumes_a_run_or_has_none_open_hears_of_none(place: str) -> None:
    run = interrupt(model_of(place), 2)
    fit(model_of(place), run)
    fit(model_of(place))


def test_of_several_open_runs_the_last_is_named(place: str) -> None:
    interrupt(model_of(place), 2)
    last = interrupt(model_of(place), 2)
    with pytest.warns(
        UserWarning, match=f"has 2 open runs, the last of which is {last} .run 2 of 2"
    ):
        fit(model_of(place))


@pytest.mark.attack
def test_an_interrupted_fit_keeps_its_reservation_until_it_is_closed(place: str) -> None:
    ledger = Ledger.open(place)
    total = ledger.remaining("table")
    run = ledger.run(interrupt(model_of(place), 3))
    assert run.open
    assert ledger.remaining("table").quanta == total.quanta - run.reserved.quanta
    ledger.close(run.name)
    assert ledger.remaining("table").quanta == total.quanta - run.spent.quanta
    assert len(run.charges) == 3


@pytest.mark.attack
def test_a_closed_run_reads_nothing_more(place: str) -> None:
    model = model_of(place)
    run = interrupt(model, 3)
    Ledger.open(place).close(run)
    before = Ledger.open(place).export()
    with (
        noise_from(RepeatableNoise(0)),
        pytest.raises(LedgerError, match="was closed before"),
    ):
        model.fit(two_groups().view(Unreadable), resume=run)
    assert Ledger.open(place).export() == before
    assert not hasattr(model, "cluster_centers_")


def notes_of(error: BaseException) -> list[str]:
    return [str(note) for note in getattr(error, "__notes__", [])]


def test_run_that_was_closed_is_not_said_to_go_on(place: str) -> None:
    """Its refusal ended with "goes on with it, and nothing is paid twice", which is false."""
    model = model_of(place)
    run = interrupt(model, 1)
    Ledger.open(place).close(run)
    with pytest.raises(LedgerError, match="Start a new one, which spends anew") as refused:
        fit(model, run)
    assert notes_of(refused.value) == []


def test_open_run_is_said_to_go_on_even_if_its_ledger_cannot_be_read(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> Any:
        raise OSError("the disk is gone")

    monkeypatch.setattr(Ledger, "run", unreadable)
    with pytest.raises(KeyboardInterrupt) as stopped:
        fit(model_of(place), None, Interrupted(1))
    (note,) = notes_of(stopped.value)
    assert "goes on with it, and nothing is paid twice" in note


def test_a_failing_read_is_charged_and_resumed(place: str) -> None:
    model = model_of(place)
    with noise_from(RepeatableNoise(0)), pytest.raises(EngineError):
        model.fit(two_groups().view(Unreadable))
    (run,) = Ledger.open(place).runs("table")
    assert list(run.charges) == ["count"]
    assert_twins(fit(model, run.name), fit(model_of(None)))


# What must be equal ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_clusters": 3}, "n_clusters was 2, is 3"),
        ({"epsilon": 0.5}, "epsilon was 1, is 0.5"),
        ({"delta": 1e-7}, "delta was 1e-06, is 1e-07"),
        ({"radius": 2.0}, "bounds was [0-9a-f]+, is [0-9a-f]+"),
        ({"radius": None, "bounds": (-1, 1)}, "bounds was [0-9a-f]+, is [0-9a-f]+"),
        ({"n_rows": 400}, "n_rows was None, is 400"),
        ({"random_state": 1}, "seed was 0, is 1"),
        ({"dataset": "chairs"}, "dataset was table, is chairs"),
        ({"kind": HDPEMeans}, "estimator was PEMeans, is HDPEMeans"),
    ],
)
def test_a_run_is_not_resumed_with_something_else(
    place: str, changed: dict[str, Any], message: str
) -> None:
    Ledger.create(place, "chairs", epsilon=4.0, delta=1e-6)
    run = interrupt(model_of(place), 2)
    before = Ledger.open(place).export()
    other = model_of(place, **changed)
    with noise_from(RepeatableNoise(0)), pytest.raises(LedgerError, match=message):
        other.fit(two_groups().view(Unreadable), resume=run)
    assert Ledger.open(place).export() == before


@pytest.mark.attack
def test_a_run_is_not_resumed_with_more_rows_of_a_unit(place: str) -> None:
    """Noise drawn for one row of a person would pass for that of two."""
    Ledger.create(place, "people", epsilon=4.0, delta=1e-6, unit="who")
    frame = pd.DataFrame(two_groups(), columns=["x", "y"]).assign(who=np.arange(400) // 2)
    given: dict[str, Any] = {"dataset": "people", "unit": "who"}
    with noise_from(Interrupted(2)), pytest.raises(KeyboardInterrupt):
        model_of(place, **given, max_rows_per_unit=1).fit(frame)
    (run,) = Ledger.open(place).runs("people")
    with pytest.raises(LedgerError, match="max_rows_per_unit was 1, is 2"):
        model_of(place, **given, max_rows_per_unit=2).fit(frame, resume=run.name)


@pytest.mark.parametrize("package", ["privclust", "numpy", "scikit-learn"])
def test_a_run_is_not_resumed_by_another_version(
    place: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = interrupt(model_of(place), 2)
    monkeypatch.setattr(
        "privclust.estimators._recording.version",
        lambda name: "99" if name == package else version(name),
    )
    monkeypatch.setattr(
        "privclust.estimators._recording.__version__",
        "99" if package == "privclust" else __version__,
    )
    with pytest.raises(LedgerError, match=f"{package} was .*, is 99. Resume it with"):
        fit(model_of(place), run)


def test_max_clusters_is_a_parameter_like_others(place: str) -> None:
    run = interrupt(model_of(place, PrivateKMeans, max_clusters=4), 2)
    with pytest.raises(LedgerError, match="max_clusters was 4, is 5"):
        fit(model_of(place, PrivateKMeans, max_clusters=5), run)


def test_a_changed_table_does_not_end_a_run_because_nothing_of_it_is_known(place: str) -> None:
    model = model_of(place)
    run = interrupt(model, 4)
    with noise_from(RepeatableNoise(0)):
        model.fit(np.vstack([two_groups(7), two_groups(8)]), resume=run)
    before = fit(model_of(None))
    for mine, its in zip(model.releases_[:3], before.releases_[:3], strict=True):
        assert mine.result.tolist() == its.result.tolist()
    assert model.releases_[3].result.tolist() != before.releases_[3].result.tolist()


@pytest.mark.attack
def test_different_query_ends_the_run(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it would if another version had other candidates and forgot to say so."""
    run = interrupt(model_of(place), 4)
    before = Ledger.open(place).export()
    monkeypatch.setattr("privclust.algorithms.pe_means.STEP", 0.123)
    with (
        noise_from(RepeatableNoise(0)),
        pytest.raises(LedgerError, match="slot 'votes 2' belongs to"),
    ):
        model_of(place).fit(two_groups().view(Unreadable), resume=run)
    assert Ledger.open(place).export() == before


def test_equal_numbers_of_different_types_are_equal_facts(place: str) -> None:
    run = interrupt(model_of(place, epsilon=1), 2)
    fit(model_of(place, epsilon=1.0), run)


def test_a_run_that_no_estimator_started_is_refused_in_words(place: str) -> None:
    run = Ledger.open(place).reserve("table", Spend(9), {})
    with pytest.raises(LedgerError, match="started differently"):
        fit(model_of(place, random_state=None), run)


class RealThenInterrupted(OpenDPNoise):
    """Real noise, until the user loses patience."""

    draws = 0

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        self.draws += 1
        if self.draws == 3:
            raise KeyboardInterrupt
        return super().gaussian(exact, sigma)


@pytest.mark.attack
def test_one_result_without_real_noise_makes_a_fit_not_private(place: str) -> None:
    with noise_from(RealThenInterrupted()), pytest.raises(KeyboardInterrupt):
        model_of(place).fit(two_groups())
    model = fit(model_of(place), Ledger.open(place).runs("table")[0].name)
    assert model.privacy_statement_.run.noise == "OpenDP and testing: repeatable"
    assert not model.privacy_statement_.private


def test_fits_leave_no_connections_behind(database: str) -> None:
    Ledger.create(database, "table", epsilon=60.0, delta=1e-6)
    gc.disable()
    try:
        for _ in range(5):
            fit(model_of(database))
        ((count,),) = execute(
            database, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        )
    finally:
        gc.enable()
    assert count == 1
