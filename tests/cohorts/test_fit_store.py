"""What a node keeps of its fits: the first of several, for this node alone, until the end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.cohort_parts import NAMES, agreed, identity, membership_of, terms_of
from helpers.processes import race

from privclust._version import __version__
from privclust.cohorts.fit_store import FitStore, OwnOffer
from privclust.cohorts.masks import new_secret, public_key
from privclust.cohorts.terms import Offer

TERMS = terms_of()


def made() -> OwnOffer:
    secret = new_secret()
    offer = Offer(TERMS.digest, "north", public_key(secret), b"")
    return OwnOffer(
        Offer(offer.terms, offer.name, offer.key, identity("north").sign(offer.signed)), secret
    )


@pytest.fixture(params=["memory", "folder"])
def reopened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], FitStore]:
    """Return how to get at the store once more, as after a crash."""
    if request.param == "folder":
        return lambda: FitStore(tmp_path / "fits")
    kept = FitStore(None)
    return lambda: kept


@pytest.mark.attack
def test_first_offer_stays(reopened: Callable[[], FitStore]) -> None:
    first, second = made(), made()
    assert reopened().offer(TERMS.digest) is None
    assert reopened().keep_offer(first) == first
    assert reopened().keep_offer(second) == first
    assert reopened().offer(TERMS.digest) == first
    assert reopened().offer(bytes(32)) is None


def test_threads_have_one_offer(reopened: Callable[[], FitStore]) -> None:
    store = reopened()
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: store.keep_offer(made()), range(32)))
    assert len(found) == 1


def test_processes_have_one_offer(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from cohorts.test_fit_store import made\n"
        "from privclust.cohorts.fit_store import FitStore\n"
        "store, offers = FitStore(Path(sys.argv[2])), [made() for _ in range(20)]\n"
        "print('ready', flush=True)\ninput()\n"
        "print({store.keep_offer(one).secret.hex() for one in offers})"
    )
    first, second = race(code, str(tmp_path / "fits"))
    assert first == second
    assert first.count("'") == 2


def test_agreement_is_found_again(reopened: Callable[[], FitStore]) -> None:
    agreement = agreed(TERMS, map(membership_of, NAMES))
    assert reopened().agreement(agreement.digest) is None
    reopened().keep_agreement(agreement)
    found = reopened().agreement(agreement.digest)
    assert found is not None
    assert found.digest == agreement.digest


def test_agreement_of_another_version_is_none(tmp_path: Path) -> None:
    agreement, store = agreed(TERMS, map(membership_of, NAMES)), FitStore(tmp_path / "fits")
    store.keep_agreement(agreement)
    file = tmp_path / "fits" / f"{agreement.digest.hex()}.agreement"
    file.write_bytes(file.read_bytes().replace(__version__.encode(), b"0.0.1.dev0"))
    assert store.agreement(agreement.digest) is None
    store.forget_offers(0.0, lambda _: False)


@pytest.mark.attack
def test_secret_is_gone_after_the_end(reopened: Callable[[], FitStore], tmp_path: Path) -> None:
    agreement = agreed(TERMS, map(membership_of, NAMES))
    own = reopened().keep_offer(made())
    reopened().keep_agreement(agreement)
    reopened().forget(agreement)
    reopened().forget(agreement)  # once more does no harm
    assert reopened().offer(TERMS.digest) is None
    assert reopened().agreement(agreement.digest) is None
    assert not any(own.secret in file.read_bytes() for file in tmp_path.rglob("*.*"))


def test_secret_that_a_crash_left_beside_is_gone_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that dies when its offer has its name has the same file under another."""
    store, own = FitStore(tmp_path / "fits"), made()
    with monkeypatch.context() as crash:
        crash.setattr(Path, "unlink", lambda *_, **__: None)
        store.keep_offer(own)
    assert len(list((tmp_path / "fits").iterdir())) == 2
    agreement = agreed(TERMS, map(membership_of, NAMES))
    store.forget(agreement)
    assert list((tmp_path / "fits").iterdir()) == []


@pytest.mark.attack
def test_folder_and_files_are_for_the_node_alone(tmp_path: Path) -> None:
    folder = tmp_path / "fits"
    FitStore(folder).keep_offer(made())
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    for mode in (0o770, 0o705, 0o701):
        folder.chmod(mode)
        with pytest.raises(PermissionError, match="chmod 700 fits"):
            FitStore(folder)


def test_a_group_may_read_where_its_folder_says_so(tmp_path: Path) -> None:
    """The process that masks may be another user than the one that makes offers."""
    folder = tmp_path / "fits"
    folder.mkdir()
    folder.chmod(0o750)
    FitStore(folder).keep_offer(made())
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o640}


def test_nothing_half_written_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FitStore(tmp_path / "fits")
    with monkeypatch.context() as crash:
        crash.setattr("os.fsync", _fail)
        with pytest.raises(OSError, match="disk"):
            store.keep_offer(made())
    assert store.offer(TERMS.digest) is None
    own = made()
    assert store.keep_offer(own) == own


def _fail(handle: int) -> None:
    raise OSError("disk")
