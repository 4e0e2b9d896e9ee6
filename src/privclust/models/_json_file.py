"""JSON files of models, profiles, approvals and signatures: read strictly, as from a stranger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

from privclust._files import read_regular
from privclust.errors import ModelFileError
from privclust.kernels.grid import FloatArray
from privclust.models._json_schema import fault

Kind = Literal["model", "profile", "approval", "signature"]
Made = TypeVar("Made")

FORMATS: dict[Kind, int] = {"model": 5, "profile": 4, "approval": 1, "signature": 1}
"""The version of each kind of file. Others are refused by their number."""
SHOWN_FAULT = 200
BYTES_MAX, POINTS_MAX = 2**28, 2**20
"""What a file may hold, so that nobody's file keeps a machine busy."""
_NAMES: dict[Kind, str] = {
    "model": "a model",
    "profile": "a profile",
    "approval": "an approval",
    "signature": "a signature",
}
_READERS: dict[Kind, str] = {
    "model": "see this one with 'privclust show', or in Python with privclust.load",
    "profile": "see this one with 'privclust statement', or in Python with privclust.load_profile",
    "approval": "sign this one with 'privclust sign'",
    "signature": "check this one with 'privclust verify'",
}
_WRITERS: dict[Kind, str] = {
    "model": "privclust.save or 'privclust fit'",
    "profile": "privclust.save_profile or 'privclust profile'",
    "approval": "'privclust approve'",
    "signature": "'privclust sign'",
}
_ANEW: dict[Kind, str] = {"approval": "approve again", "signature": "sign again"}
_FORMAT = re.compile(rf"privclust ({'|'.join(FORMATS)}) ([0-9]{{1,9}})")


def format_name(kind: Kind) -> str:
    """Return what the files of a kind call their format.

    Examples
    --------
    >>> format_name("profile")
    'privclust profile 4'
    """
    return f"privclust {kind} {FORMATS[kind]}"


def kind_of_file(file: Path) -> Kind:
    """Return which kind a file says it is of; a model's, if it says nothing.

    Examples
    --------
    >>> kind_of_file(Path("missing.json"))
    'model'
    """
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads(read_regular(file, BYTES_MAX))
        found = _FORMAT.fullmatch(str(content.get("format"))) if isinstance(content, dict) else None
        if found is not None:
            return next(kind for kind in FORMATS if kind == found[1])
    return "model"


def read_json(file: Path, kind: Kind, make: Callable[[Mapping[str, Any]], Made]) -> Made:
    """Return what `make` makes of a file's content, or refuse the file; nothing is executed.

    `make` gets what keeps to the schema of the `kind`, and raises a ValueError where something
    else is wrong.
    """
    try:
        if file.exists() and not file.is_file():
            raise ModelFileError(
                f"{str(file)!r} cannot be read as {_NAMES[kind]}: it is not a regular file. Name "
                f"{_NAMES[kind]} file."
            )
        content = read_regular(file, BYTES_MAX)
    except ModelFileError:
        raise
    except OSError as error:
        cause = error.strerror or type(error).__name__
        raise ModelFileError(
            f"the file {file.name!r}, which should hold a {kind}, cannot be read: {cause}. Check "
            "its path and your rights to it."
        ) from None
    except ValueError as error:
        wrong = str(error)
    else:
        return made_from(content, file.name, kind, make)
    raise ModelFileError(_refusal(file.name, kind, wrong))


def made_from(
    content: bytes, name: str, kind: Kind, make: Callable[[Mapping[str, Any]], Made]
) -> Made:
    """Return what `make` makes of the bytes of a file that is called `name`, or refuse them."""
    try:
        found = json.loads(content.decode(), parse_constant=_refuse)
        _check_format(found, kind, name)
        wrong = fault(found, schema_of(kind))
        if wrong is None:
            return make(found)
    except ModelFileError:
        raise
    except (json.JSONDecodeError, UnicodeDecodeError):
        wrong = "it is not JSON"  # nothing of the text, which may be somebody's table
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        wrong = str(error)
    raise ModelFileError(_refusal(name, kind, wrong))


def _refusal(name: str, kind: Kind, wrong: str) -> str:
    return (
        f"the file {name!r} is not {_NAMES[kind]} of privclust: {wrong[:SHOWN_FAULT]}. Write one "
        f"with {_WRITERS[kind]}."
    )


@cache
def schema_of(kind: Kind) -> dict[str, Any]:
    """Return the schema of a kind of file."""
    text = files("privclust.models").joinpath(f"{kind}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def array_of(values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return numbers of a file as an array, if they have a shape; -1 stands for any length.

    Examples
    --------
    >>> array_of([[1, 2]], (-1, 2)).tolist()
    [[1.0, 2.0]]
    """
    array = np.array(values, dtype=np.float64)
    fits = array.ndim == len(shape) and all(
        wanted in (-1, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"an array has the shape {array.shape}, not {shape}")
    return array


def _check_format(content: Any, kind: Kind, name: str) -> None:
    """Refuse a file of the other kind, or of another version, and say what to do with it."""
    given = content.get("format") if isinstance(content, dict) else None
    found = _FORMAT.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        return  # the schema says what is wrong
    other = next(name for name in FORMATS if name == found[1])
    if other != kind:
        raise ModelFileError(
            f"the file {name!r} is {_NAMES[other]}, not {_NAMES[kind]}. Name {_NAMES[kind]} file, "
            f"or {_READERS[other]}."
        )
    if int(found[2]) != FORMATS[kind]:
        raise ModelFileError(
            f"the file {name!r} is {_NAMES[kind]} of format {int(found[2])}, and this version of "
            f"privclust reads format {FORMATS[kind]} alone. Load it with the version of privclust "
            f"that wrote it, or {_ANEW.get(kind, 'fit again')}."
        )


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
