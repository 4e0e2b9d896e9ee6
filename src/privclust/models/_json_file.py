"""JSON files of models and profiles: read strictly, whoever wrote them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

from privclust._files import read_regular
from privclust.errors import ModelFileError
from privclust.kernels.grid import FloatArray
from privclust.models._json_schema import fault

Kind = Literal["model", "profile"]
Made = TypeVar("Made")

FORMATS: dict[Kind, int] = {"model": 4, "profile": 3}
"""The version of each kind of file. Others are refused by their number."""
SHOWN_FAULT = 200
BYTES_MAX, POINTS_MAX = 2**28, 2**20
"""What a file may hold, so that nobody's file keeps a machine busy."""
_LOADERS: dict[Kind, str] = {"model": "privclust.load", "profile": "privclust.load_profile"}
_WRITERS: dict[Kind, str] = {
    "model": "privclust.save or 'privclust fit'",
    "profile": "privclust.save_profile or 'privclust profile'",
}
_FORMAT = re.compile(r"privclust (model|profile) ([0-9]{1,9})")


def format_name(kind: Kind) -> str:
    """Return what the files of a kind call their format.

    Examples
    --------
    >>> format_name("profile")
    'privclust profile 3'
    """
    return f"privclust {kind} {FORMATS[kind]}"


def read_json(file: Path, kind: Kind, make: Callable[[Mapping[str, Any]], Made]) -> Made:
    """Return what `make` makes of a file's content, or refuse the file; nothing is executed.

    `make` gets what keeps to the schema of the `kind`, and raises a ValueError where something
    else is wrong.
    """
    try:
        if file.exists() and not file.is_file():
            raise ModelFileError(
                f"{str(file)!r} cannot be read as a {kind}: it is not a regular file. Name a "
                f"{kind} file."
            )
        content = json.loads(read_regular(file, BYTES_MAX).decode(), parse_constant=_refuse)
        _check_format(content, kind, file.name)
        wrong = fault(content, schema_of(kind))
        if wrong is None:
            return make(content)
    except ModelFileError:
        raise
    except OSError as error:
        cause = error.strerror or type(error).__name__
        raise ModelFileError(
            f"the {kind} file {file.name!r} cannot be read: {cause}. Check its path and your "
            "rights to it."
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        wrong = "it is not JSON"  # nothing of the text, which may be somebody's table
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        wrong = str(error)
    raise ModelFileError(
        f"the file {file.name!r} is not a {kind} of privclust: {wrong[:SHOWN_FAULT]}. Write one "
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
    other: Kind = "model" if found[1] == "model" else "profile"
    if other != kind:
        raise ModelFileError(
            f"the file {name!r} is a {other}, not a {kind}. Name a {kind} file, or load this one "
            f"with {_LOADERS[other]}."
        )
    if int(found[2]) != FORMATS[kind]:
        raise ModelFileError(
            f"the file {name!r} is a {kind} of format {int(found[2])}, and this version of "
            f"privclust reads format {FORMATS[kind]} alone. Load it with the version of privclust "
            "that wrote it, or fit again."
        )


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
