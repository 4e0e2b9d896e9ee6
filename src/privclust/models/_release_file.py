"""Releases, and the statement about them, in files of models and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from privclust.models._release_lines import lines_of, noise_of
from privclust.models.statement import Statement
from privclust.privacy.accounting import Spend
from privclust.privacy.release import Release


def release_content(release: Release) -> dict[str, Any]:
    """Return a release as plain values, for JSON."""
    return {**asdict(release), "result": release.result.tolist()}


def release_from(content: Mapping[str, Any]) -> Release:
    """Return the release that `release_content` described."""
    result = np.array(content["result"], dtype=np.int64)
    result.setflags(write=False)
    return Release(**{**content, "result": result, "charge": Spend(**content["charge"])})


def statement_from(
    content: Mapping[str, Any],
    kind: Literal["fit", "profile"],
    n_clusters: int,
    columns: tuple[str, ...] | int,
    releases: tuple[Release, ...],
) -> Statement:
    """Return the statement of a file; refuse one that the file's own content contradicts."""
    if content["private"] != content["statement"]["private"]:
        raise ValueError("it says of itself what its statement does not")
    noiseless = content["statement"]["run"]["epsilon"] is None
    reserved = Spend(**content["statement"]["run"]["reserved"])
    lines = lines_of(releases, reserved, noiseless)
    statement = Statement.from_dict(content["statement"], lines)
    run = statement.run
    kinds = ("profile",) if kind == "profile" else ("fit", "refit")
    described = statement.n_clusters, statement.columns
    if statement.kind not in kinds or described != (n_clusters, columns):
        raise ValueError("its statement is about something else")
    if kind == "fit" and not statement.estimator == run.estimator == content["estimator"]:
        raise ValueError("its statement is about another estimator")
    if run.noise != noise_of(releases):
        raise ValueError("it says of its noise what its results do not")
    spent = sum((release.charge for release in releases), Spend())
    if not noiseless and not spent.within(run.reserved):
        raise ValueError("its results cost more than it guarantees")
    return statement
