"""What a node keeps of the fits it takes part in: its secret for each, and what was agreed on."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from privclust._files import read_regular
from privclust.cohorts.terms import Agreement, Offer
from privclust.engines.federated.wire import MESSAGE_MAX, WireError, decode, encode, let_travel


@let_travel
@dataclass(frozen=True)
class OwnOffer:
    """The offer that a node made, and the secret behind its key."""

    offer: Offer
    secret: bytes


class FitStore:
    """Offers and agreements in a folder that only the node may enter, found again after a crash.

    Parameters
    ----------
    folder : Path or None
        Made if it is missing; None keeps all in memory, for rehearsals. A group may read it, where
        the process that masks is another user than the one that makes offers.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, bytes] = {}
        self._latest: tuple[bytes, Agreement] | None = None
        self._mode = 0o600
        if folder is None:
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = folder.stat().st_mode
        if os.name == "posix" and mode & 0o027:
            raise PermissionError(
                f"others may enter the folder {str(folder)!r}, in which a node keeps the secrets "
                f"of its fits. Keep it to the node: chmod 700 {folder.name}."
            )
        if mode & 0o050:
            self._mode = 0o640

    def keep_offer(self, made: OwnOffer) -> OwnOffer:
        """Keep an offer, unless one of the same terms was made before; return the one that is."""
        self._write(_name(made.offer.terms, "offer"), encode(made))
        found = self.offer(made.offer.terms)
        assert found is not None
        return found

    def offer(self, terms: bytes) -> OwnOffer | None:
        """Return the offer that was made for the terms of a hash."""
        content = self._read(_name(terms, "offer"))
        return None if content is None else decode(content, OwnOffer)

    def keep_agreement(self, agreement: Agreement) -> None:
        """Keep what all have agreed on."""
        self._write(_name(agreement.digest, "agreement"), encode(agreement))

    def agreement(self, digest: bytes) -> Agreement | None:
        """Return the agreement of a hash; one of another version of privclust is none."""
        content = self._read(_name(digest, "agreement"))
        if content is None:
            return None
        latest = self._latest  # read once: another thread may put its own there
        if latest is None or latest[0] != content:
            # All signatures are verified, which at 50 members takes longer than to reply.
            try:
                self._latest = latest = (content, decode(content, Agreement))
            except WireError:
                return None
        return latest[1]

    def forget(self, agreement: Agreement) -> None:
        """Delete what is kept of a fit that has ended, its secret first."""
        for name in (_name(agreement.terms.digest, "offer"), _name(agreement.digest, "agreement")):
            if self._folder is None:
                self._memory.pop(name, None)
            else:
                (self._folder / name).unlink(missing_ok=True)
                for left in self._folder.glob(f"{name}.*"):  # by a process that died
                    left.unlink(missing_ok=True)

    def count_offers(self) -> int:
        """Return how many offers are kept."""
        names = self._memory if self._folder is None else os.listdir(self._folder)
        return sum(name.endswith(".offer") for name in names)

    def forget_offers(self, before: float, has_ended: Callable[[Agreement], bool]) -> None:
        """Delete what is kept of fits that have ended, and older offers without an agreement."""
        if self._folder is None:
            return
        joined = set()
        for file in self._folder.glob("*.agreement"):
            kept = self.agreement(bytes.fromhex(file.stem))
            if kept is not None and has_ended(kept):
                self.forget(kept)
            elif kept is not None:
                joined.add(_name(kept.terms.digest, "offer"))
        for file in self._folder.glob("*.offer"):
            with suppress(FileNotFoundError):
                if file.name not in joined and file.stat().st_mtime < before:
                    file.unlink()

    def _read(self, name: str) -> bytes | None:
        if self._folder is None:
            return self._memory.get(name)
        with suppress(FileNotFoundError):
            return read_regular(self._folder / name, MESSAGE_MAX)
        return None

    def _write(self, name: str, content: bytes) -> None:
        """Write a file that is whole or not there; the first of several that are written stays."""
        if self._folder is None:
            self._memory.setdefault(name, content)
            return
        made = self._folder / f"{name}.{os.urandom(8).hex()}"
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._mode)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(made, self._folder / name)
            _sync(self._folder)
        finally:
            made.unlink(missing_ok=True)


def _name(digest: bytes, kind: str) -> str:
    return f"{digest.hex()}.{kind}"


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
