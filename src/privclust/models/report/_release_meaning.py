"""What each result says, for people who do not know the algorithms."""

from __future__ import annotations

from privclust.models.statement import ReleaseLine, Statement

_HOW_FAR = "how many rows, of all clusters together, lie how far from their centre"
_MEANINGS = {
    "cells": "how many rows lie in each small region, and their mean there",
    "count": "how many rows there are",
    "distances": _HOW_FAR,
    "far": "how many rows lie how far from every region that holds many",
    "final": "which of several sets of centres fits the rows best",
    "leaves": "how many rows lie in each small region, and their mean there",
    "level": "how many rows lie in each region, regions being halved again and again",
    "lift": "how many rows each cluster has, and their mean",
    "lloyd": "how many rows are nearest to each centre, and their mean",
    "locate": "how many rows there are, and where their middle is",
    "partition": "how many rows lie in each cube of a grid",
    "quality": "how far rows lie from their centre on average",
    "radius": "how many rows lie how far from their middle; there is no radius 1, because the "
    "first step takes the bounds",
    "recovery": "how many rows each cluster has, and their mean",
    "scale": "how much each column varies",
    "set": "which set of candidates fits the rows best",
    "sizes": "how many rows each cluster has",
    "split": "how many rows lie in each part of a region, and their mean there",
    "start": "how many rows lie in each region to begin with, and their mean there",
    "subspace": "how columns vary together",
    "sums": "how many rows each cluster has, and their mean",
    "swap": "which candidate to exchange for another",
    "tallies": "how many rows of each cluster have each level or lie in each range of a column",
    "votes": "how many rows are nearest to each candidate",
    "weights": "how many rows are nearest to each candidate",
    "width": _HOW_FAR,
}
"""By the first word of a slot's name. Each result is noisy, which the page says once."""
_OF_PROFILES = {"sums": "the sum of each numeric column in each cluster, and how many rows it has"}


def meaning(release: ReleaseLine, owner: Statement) -> str:
    """Say what a result tells about the rows.

    Results of estimators that are not the library's own are known by their query alone.
    """
    word = release.slot.split(" ")[0]
    own = _OF_PROFILES if owner.kind == "profile" else {}
    known = own.get(word) or _MEANINGS.get(word)
    return known or f"a result of the estimator's own query {release.query}"
