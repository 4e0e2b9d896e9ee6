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
    """Return what `n_users` write, in the order of users; the same for the same seed."""
    rng = np.random.default_rng([20, seed])
    n_topics = len(topic_names())
    first, other = rng.integers(n_topics, size=(2, n_users))
    second = np.where(rng.random(n_users) < 0.5, first, other)
    topics = np.column_stack([first, second]).ravel()
    texts = [_sentence(topic_names()[topic], rng) for topic in topics]
    return Sentences(texts, topics, np.repeat(np.arange(n_users), SENTENCES_EACH))


def topic_names() -> tuple[str, ...]:
    """Return the names of all topics, in the order of their numbers."""
    return tuple(_words()["topics"])


def _sentence(name: str, rng: np.random.Generator) -> str:
    words = _words()
    topic = words["topics"][name]
    opening, ending = _any(words["openings"], rng), _any(words["endings"], rng)
    said = _any(topic["sentence"], rng).format(
        thing=_any(topic["thing"], rng), how=_any(topic["how"], rng)
    )
    whole = f"{opening}{said}{ending}."
    return whole[0].upper() + whole[1:]


def _any(choices: list[str], rng: np.random.Generator) -> str:
    return choices[rng.integers(len(choices))]


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))
