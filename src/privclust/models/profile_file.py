"""Profile files: JSON that holds the results of a profile, and what follows from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privclust._files import write_text
from privclust._frames import clears_frames
from privclust.domains.bounds_file import column_from_dict
from privclust.models._json_file import POINTS_MAX, format_name, made_from, read_json
from privclust.models._release_file import release_content, release_from, statement_from
from privclust.models.intervals import Intervals
from privclust.models.profile import Profile


@clears_frames
def save_profile(profile: Profile, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a profile to a JSON file (profile.schema.json describes it).

    It is a file of its own, because it has a run and a price of its own in the ledger and may be
    made by somebody else, long after the model was published. Its statement names the model's run,
    too. The estimators' `profile` shows both.

    Parameters
    ----------
    profile : Profile
        What an estimator's `profile` returned.
    path : str or Path
        Where to write.
    overwrite : bool, default=False
        Write over a file that is there and not empty, which may be a profile that was paid for.
    """
    write_text(profile_to_json(profile), Path(path), overwrite)


def load_profile(path: str | Path) -> Profile:
    """Return the profile that a file describes, worked out anew from the results in it.

    The estimators' `profile` shows both.

    Parameters
    ----------
    path : str or Path
        A file that `save_profile` or ``privclust profile`` wrote.
    """
    return read_json(Path(path), "profile", _profile_from)


def profile_from_bytes(content: bytes, name: str) -> Profile:
    """Return the profile of a file that came over a network, and is called `name` in messages."""
    return made_from(content, name, "profile", _profile_from)


def profile_to_json(profile: Profile) -> str:
    """Return the text of a profile's file: its results, and what follows from them."""
    content = {
        "format": format_name("profile"),
        "private": profile.privacy_statement.private,
        "clusters": profile.clusters,
        "n_clusters": len(profile.sizes.values),
        "sizes": _interval_content(profile.sizes),
        "columns": [
            {
                "declared": column.column.to_dict(),
                "labels": list(column.labels),
                "shares": _interval_content(column.shares),
                "means": None if column.means is None else _interval_content(column.means),
            }
            for column in profile.columns
        ],
        "releases": [release_content(release) for release in profile.releases],
        "statement": profile.privacy_statement.to_dict(),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _profile_from(content: Mapping[str, Any]) -> Profile:
    columns = tuple(column_from_dict(column["declared"]) for column in content["columns"])
    releases = tuple(release_from(release) for release in content["releases"])
    names = tuple(column.name for column in columns)
    statement = statement_from(content, "profile", content["n_clusters"], names, releases)
    k, numbers = content["n_clusters"], sum(column.number is not None for column in columns)
    sizes = [k * sum(len(column.labels) for column in columns), k * (numbers + 1)]
    if (
        k > POINTS_MAX
        or [len(release.result) for release in releases] != sizes[: 1 + (numbers > 0)]
    ):
        raise ValueError("its results are not those of its columns and clusters")
    if any(not release.scale > 0 for release in releases):
        raise ValueError("its results have no noise")
    return Profile.of(content["clusters"], columns, k, releases, statement)


def _interval_content(intervals: Intervals) -> dict[str, Any]:
    sides = {"values": intervals.values, "lower": intervals.lower, "upper": intervals.upper}
    return {name: side.tolist() for name, side in sides.items()}
