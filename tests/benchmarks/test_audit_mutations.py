"""A kept result holds while neither the bug, nor its file, nor the test meant for it changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from mutations import Mutation, Trial

from benchmarks import audit_mutations, pieces
from benchmarks.audit_mutations import BY_NAME, Caught, digest_of
from benchmarks.pieces import Piece

NAN = BY_NAME["NaN past the clip"]
CURRENT = audit_mutations.current()


@pytest.mark.parametrize("piece", audit_mutations.pieces(), ids=lambda piece: piece.method)
def test_mutation_is_caught_by_the_test_meant_for_it(piece: Piece) -> None:
    """By a kept result that still holds, or else planted now."""
    caught = CURRENT[piece] if piece in CURRENT else audit_mutations.notice(piece)
    assert caught.test is not None
    assert caught.test.partition("[")[0] == BY_NAME[piece.method].test.partition("[")[0]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one file and its test, and an empty folder of results."""
    source, test = tmp_path / "package" / NAN.file, tmp_path / NAN.test.partition("::")[0]
    for file in (source, test):
        file.parent.mkdir(parents=True)
    source.write_text("clip")
    test.write_text("test")
    monkeypatch.setattr(pieces, "RESULTS", tmp_path)
    monkeypatch.setattr(audit_mutations, "PACKAGE", tmp_path / "package")
    monkeypatch.setattr(audit_mutations, "TESTS", tmp_path / "tests")
    return tmp_path


def test_a_digest_covers_the_mutation_its_file_and_its_test_and_nothing_else(
    folders: Path,
) -> None:
    before = digest_of(NAN)
    (folders / "package" / "other.py").write_text("more")
    (folders / "tests" / "test_other.py").write_text("more")
    assert digest_of(NAN) == before
    assert digest_of(replace(NAN, after="other")) != before
    (folders / "package" / NAN.file).write_text("clip more")
    changed = digest_of(NAN)
    (folders / NAN.test.partition("::")[0]).write_text("test more")
    assert len({before, changed, digest_of(NAN)}) == 3


def test_results_of_older_code_are_not_current(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (piece,) = (piece for piece in audit_mutations.pieces() if piece.method == NAN.name)
    monkeypatch.setattr(audit_mutations, "CATALOGUE", (NAN,))
    pieces.save("mutations", {piece: Caught(NAN.test, 1.0, digest_of(NAN))})
    assert list(audit_mutations.current()) == [piece]
    (folders / "package" / NAN.file).write_text("clip more")
    assert audit_mutations.current() == {}


@pytest.mark.parametrize("meant", [True, False])
def test_what_another_test_noticed_is_not_caught(
    meant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trial(mutation: Mutation, package: Path, tests: Path) -> Trial:
        return Trial(mutation.test, meant, "")

    monkeypatch.setattr(audit_mutations, "try_out", trial)
    piece = audit_mutations.pieces()[0]
    assert (audit_mutations.notice(piece).test is not None) == meant
