"""The suite's tables are the committed ones, and fits are measured as its report says."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning

from benchmarks import __main__ as command
from benchmarks import robustness
from benchmarks.data import Dataset
from benchmarks.methods import EPSILONS, METHODS, Method
from benchmarks.pieces import Piece
from benchmarks.rivals import FLAGSHIP, MARKED, REFERENCE, RIVALS
from benchmarks.robust.fits import (
    EXACT,
    EXACT_EPSILON,
    MAIN_EPSILON,
    SLOW,
    measure,
    method_on,
    pieces,
)
from benchmarks.robust.tables import DESIGN, DIGESTS, HELD_OUT, SPECS, TABLES, dataset, digest
from privclust import DPLloyd
from privclust.errors import FitWarning, warn_user
from privclust.kernels.grid import FloatArray


def test_tables_are_the_committed_ones() -> None:
    """Rows, bounds, clusters and the split, so that nobody fits them to an algorithm."""
    assert {name: digest(spec) for name, spec in TABLES.items()} == json.loads(DIGESTS.read_text())


def test_every_family_has_both_halves() -> None:
    families = {spec.family for spec in SPECS}
    for half in (DESIGN, HELD_OUT):
        assert {TABLES[name].family for name in half} == families
    assert len(TABLES) == len(SPECS) == len(DESIGN) + len(HELD_OUT) >= 40
    assert abs(len(DESIGN) - len(HELD_OUT)) <= 2
    assert len({spec.seed for spec in SPECS}) == len(SPECS)


@pytest.mark.parametrize("name", TABLES)
def test_rows_lie_within_bounds_and_can_be_told_apart(name: str) -> None:
    found, data = TABLES[name].draw(), dataset(name)
    assert (found.lower < found.upper).all()
    assert ((found.lower <= found.rows) & (found.rows <= found.upper)).all()
    assert np.abs(data.rows).max() <= data.half_width * (1 + 1e-9)
    assert len(np.unique(data.rows, axis=0)) > data.n_clusters


def test_users_have_few_rows_or_very_many() -> None:
    data = dataset("users_a")
    assert data.users is not None
    counts = np.bincount(data.users)
    assert counts.min() >= 1
    assert np.median(counts) <= data.max_rows_per_unit < counts.max() / 50
    assert 20_000 <= len(data.rows) <= 30_000
    assert data.n_counted == sum(min(count, 4) for count in counts.tolist())


def test_every_method_meets_every_table() -> None:
    made = pieces(held_out=True)
    assert {piece.method for piece in made} <= set(METHODS)
    assert len(set(made)) == len(made)
    for name in TABLES:
        seeds = {
            key: sum(
                (piece.method, piece.epsilon) == key for piece in made if piece.dataset == name
            )
            for key in {(piece.method, piece.epsilon) for piece in made}
        }
        assert seeds[REFERENCE, 0.0] == 1
        assert seeds[EXACT, EXACT_EPSILON] == 10
        for epsilon in EPSILONS:
            papers = seeds["PEMeans", epsilon] + seeds["HDPEMeans", epsilon]
            assert papers == (10 if epsilon == 1 else 3)
            assert seeds[FLAGSHIP, epsilon] == seeds["LSHCoreset", epsilon] == 10
        assert (seeds[MARKED, 1.0] == 0) == (dataset(name).users is not None)


def test_wide_tables_are_fitted_by_the_method_for_many_columns() -> None:
    assert method_on("PEMeans", "k_small_b") == "PEMeans"
    assert method_on("PEMeans", "correlated_a") == "HDPEMeans"
    assert method_on(FLAGSHIP, "correlated_a") == FLAGSHIP


@pytest.mark.parametrize("kind", [FitWarning, ConvergenceWarning, None])
def test_warnings_of_the_library_are_seen(
    kind: type[Warning] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(data: Dataset, epsilon: float, seed: int) -> FloatArray:
        if kind is FitWarning:
            warn_user("clusters will hardly be found", kind)
        elif kind is not None:
            warnings.warn("no convergence", kind, stacklevel=1)
        return data.rows[: data.n_clusters]

    monkeypatch.setitem(METHODS, FLAGSHIP, Method(fit))
    assert measure(Piece(FLAGSHIP, "few_rows_a", 0.25, 0)).warned == (kind is FitWarning)


def test_users_are_protected_where_rows_are_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[DPLloyd] = []
    original = DPLloyd.fit

    def fit(self: DPLloyd, table: pa.Table) -> DPLloyd:
        assert table.column_names == ["user", *(f"column {number}" for number in range(4))]
        given.append(self)
        return original(self, table)

    monkeypatch.setattr(DPLloyd, "fit", fit)
    measure(Piece("DPLloyd", "users_a", 1.0, 0))
    (model,) = given
    assert (model.unit, model.max_rows_per_unit) == ("user", 4)
    assert (model.delta, model.n_rows) == (1e-6, dataset("users_a").n_counted)


def test_fits_without_noise_are_repeatable() -> None:
    first, second = (measure(Piece(EXACT, "few_rows_1000_a", 4.0, 3)).loss for _ in range(2))
    assert first == second


@pytest.mark.parametrize("words", [["utility"], ["robustness", "--quick"]])
def test_held_out_half_is_opened_with_robustness_alone(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words, "--held-out"])
    with pytest.raises(SystemExit):
        command.main()
    assert "--held-out goes with robustness" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [[], ["--held-out"]])
def test_held_out_half_is_opened_only_if_named(
    flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: dict[str, set[str]] = {}

    def run(name: str, wanted: list[Piece], *_: object, **__: object) -> None:
        for piece in wanted:
            fitted.setdefault(piece.method, set()).add(piece.dataset)

    monkeypatch.setattr(robustness, "run", run)
    monkeypatch.setattr(robustness, "prepare", lambda: None)
    monkeypatch.setattr(robustness, "report", lambda: None)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "robustness", *flags])
    command.main()
    for method in (FLAGSHIP, EXACT):
        assert fitted[method] == {*DESIGN, *(HELD_OUT if flags else ())}
    assert fitted[REFERENCE] == fitted["LSHCoreset"] == set(TABLES)


def test_epsilon_of_the_targets_comes_first() -> None:
    rivals = [piece for piece in pieces(held_out=False) if piece.method in RIVALS]
    order = [(piece.method in SLOW, piece.epsilon != MAIN_EPSILON) for piece in rivals]
    assert order == sorted(order)
