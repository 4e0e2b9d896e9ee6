"""``privclust keygen``: a key to sign approvals with."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._passphrase import PassphraseFile, read_passphrase
from privclust.cli.messages import needing, reporting_errors, say, writing
from privclust.errors import ParameterError

ENDING = ".key"


def keygen(
    key: Annotated[
        Path, typer.Argument(help="Private key to write, such as officer.key; officer.pub beside.")
    ],
    passphrase_file: PassphraseFile = None,
) -> None:
    """Make an Ed25519 key to sign approvals with: a private and a public file."""
    with reporting_errors():
        with needing("sign"):
            from privclust.models.approval.keys import key_fingerprint, new_key, read_public_key
        if key.suffix != ENDING:
            raise ParameterError(
                f"{key.name!r} does not end in {ENDING}. Name a file such as {key.stem}{ENDING}."
            )
        public = key.with_suffix(".pub")
        for file in (key, public):
            with writing(file):
                if file.exists():
                    raise FileExistsError(errno.EEXIST, "it exists and is not overwritten")
        private_text, public_text = new_key(read_passphrase(passphrase_file, repeat=True))
        for file, text, mode in ((key, private_text, 0o600), (public, public_text, 0o644)):
            with writing(file), open(os.open(file, _NEW, mode), "wb") as opened:
                opened.write(text)
        say(
            f"wrote {key.name}, which stays with you, and {public.name}, which you give to those "
            f"who check your signatures. Its fingerprint, which you read to "
            f"them in person or by telephone: {key_fingerprint(read_public_key(public))}"
        )


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
