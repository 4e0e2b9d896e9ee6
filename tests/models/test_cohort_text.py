"""What a statement says of nodes that added the noise themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from privclust import FedDPKMeans, NodeFederation, load, save
from privclust.errors import ModelFileError
from privclust.models._cohort_text import protections
from privclust.models.approval.trust import trusted_parties
from privclust.models.model_file import to_json
from privclust.models.statement import Participation, Statement
from privclust.privacy.accounting import epsilon_of, mu_of

RNG = np.random.default_rng(0)
TABLES = {
    name: RNG.normal(50.0, 5.0, (rows, 2))
    for name, rows in (("north", 400), ("south", 300), ("west", 500), ("east", 200))
}


@pytest.fixture(scope="module")
def fitted() -> FedDPKMeans:
    public = RNG.uniform(0, 100, (20, 2))
    model = FedDPKMeans(2, server_data=public, delta=1e-6, bounds=(0, 100), random_state=0)
    return model.fit(NodeFederation.in_process(TABLES, colluding=2))


def words(fitted: FedDPKMeans) -> Statement:
    found: Statement = fitted.privacy_statement_
    return found


def test_each_opponent_has_the_epsilon_of_the_noise_that_it_cannot_subtract(
    fitted: FedDPKMeans,
) -> None:
    statement = words(fitted)
    assert statement.cohort is not None
    mu = statement.run.reserved.mu
    assert mu == pytest.approx(mu_of(1.0, 1e-6), rel=1e-6)
    # Two of four shares are left, one, and all four; two of them have the noise of mu.
    expected = [epsilon_of(mu * factor, 1e-6) for factor in (1, 2**0.5, 0.5**0.5)]
    found = [one.epsilon for one in protections(statement.run, statement.cohort)]
    assert found == pytest.approx(expected, rel=1e-4)
    assert all(one >= true for one, true in zip(found, expected, strict=True))


def test_the_words_say_who_is_protected_against_whom(fitted: FedDPKMeans) -> None:
    text = str(words(fitted))
    assert "Nodes: 'east', 'north', 'south', 'west'; 'rehearsal' coordinated." in text
    assert "any 2 nodes together (its own, if it has one, counts): epsilon = 1," in text
    assert "the coordinator and all other nodes together: epsilon = 1.455," in text
    assert "one of which has one row more at one node." in text
    assert "Ledger: those of the nodes" in text
    assert "somebody with rows at two nodes, for whom epsilon is 2.1" in text
    assert "exact sums" not in text
    assert "client" not in text


def test_sensitivities_are_those_of_the_queries_and_noise_is_that_of_all_shares(
    fitted: FedDPKMeans,
) -> None:
    for release, line in zip(fitted.model_.releases, words(fitted).releases, strict=True):
        assert release.noise_ratio == pytest.approx(2**0.5)
        assert line.sensitivity == pytest.approx(
            line.sigma * release.charge.mu / release.noise_ratio, rel=1e-9
        )
    (votes,) = (one for one in words(fitted).releases if one.query == "NearestVotes")
    assert votes.sensitivity == pytest.approx(1.0)


def test_nobody_but_owners_of_nodes_is_trusted_with_rows(fitted: FedDPKMeans) -> None:
    parties = dict(trusted_parties(words(fitted)))
    assert parties["The coordinator, and any 2 nodes together"].startswith("Nothing about the rows")
    assert "The owners of nodes' ledgers" in parties
    assert not any("server" in who or "ran the fit" in who for who in parties)


def test_a_file_keeps_who_took_part(fitted: FedDPKMeans, tmp_path: Path) -> None:
    save(fitted, tmp_path / "model.json")
    assert str(load(tmp_path / "model.json").privacy_statement_) == str(words(fitted))


@pytest.mark.parametrize(
    "missing", ["members", "coordinator", "colluding", "agreement", "left", "repeated"]
)
def test_file_that_lacks_a_part_of_its_cohort_is_refused(
    missing: str, fitted: FedDPKMeans, tmp_path: Path
) -> None:
    content = json.loads(to_json(fitted))
    del content["statement"]["run"]["cohort"][missing]
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=f"cohort lacks {missing}"):
        load(tmp_path / "model.json")


def test_nodes_that_left_are_named_and_repeated_queries_counted(
    fitted: FedDPKMeans,
) -> None:
    statement = words(fitted)
    assert "No longer there" not in str(statement)
    assert "who takes part (all 4 nodes responded to each query)" in str(statement)
    assert statement.cohort is not None
    for repeated, times in ((1, "once"), (2, "2 times")):
        cohort = replace(statement.cohort, left=("north", "west"), repeated=repeated)
        run = replace(statement.run, cohort=cohort)
        fewer = replace(statement, run=run, participation=Participation(2, 4, 0))
        text = str(fewer)
        assert "No longer there at the end: 'north' and 'west'." in text
        assert f"sent again to those who stayed {times}" in text
        assert "at least 2 of 4 nodes responded" in text
        assert str(Statement.from_dict(fewer.to_dict(), fewer.releases)) == text


@pytest.mark.attack
@pytest.mark.parametrize(
    "changed",
    [
        {"colluding": 4},
        {"members": ["a\nb", "c", "d"]},
        {"left": ["other"], "repeated": 1},
        {"left": ["north"]},
        {"repeated": 1},
        {"agreement": "0" * 63},
    ],
)
def test_a_file_with_an_impossible_cohort_is_refused(
    fitted: FedDPKMeans, tmp_path: Path, changed: dict[str, object]
) -> None:
    save(fitted, tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    content["statement"]["run"]["cohort"] |= changed
    (tmp_path / "changed.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError):
        load(tmp_path / "changed.json")
