"""Made-up sentences on twenty everyday topics, by made-up users who write two each.

Topics share openings and endings, and a user's second sentence is on the same topic as the first
in about half of all cases: people have favourites, but users are not topics.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SENTENCES_EACH = 2
WORDS = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True, eq=False)
class Sentences:
    """Texts, the topic of each as a number, and the user who wrote it."""

    texts: list[str]
    topics: NDArray[np.intp]
    users: NDArray[np.intp]


def sentences(n_users: int, seed: int = 0) -> Sentences:
    """Return what users write; the first ones write the same however many there are."""
    seeds = ([seed, user] for user in range(n_users))
    written = [one for own in seeds for one in _of_user(np.random.default_rng(own))]
    topics = np.array([topic for topic, _ in written])
    users = np.repeat(np.arange(n_users), SENTENCES_EACH)
    return Sentences([text for _, text in written], topics, users)


def topic_names() -> tuple[str, ...]:
    """Return the names of all topics, in the order of their numbers."""
    return tuple(_words()["topics"])


def _of_user(rng: np.random.Generator) -> list[tuple[int, str]]:
    names = topic_names()
    first, other = rng.integers(len(names), size=2)
    topics = (first, first if rng.random() < 0.5 else other)
    return [(int(topic), _sentence(names[topic], rng)) for topic in topics]


def _sentence(name: str, rng: np.random.Generator) -> str:
    words = _words()
    topic = words["topics"][name]
    opening, ending = _any(words["openings"], rng), _any(words["endings"], rng)
    middle = _any(topic["sentence"], rng).format(
        thing=_any(topic["thing"], rng), how=_any(topic["how"], rng)
    )
    whole = f"{opening}{middle}{ending}."
    return whole[0].upper() + whole[1:]


def _any(choices: list[str], rng: np.random.Generator) -> str:
    return choices[rng.integers(len(choices))]


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))
