"""Sentences are made up alike every time, and the reference is what it says."""

from __future__ import annotations

import numpy as np

from benchmarks import spherical
from benchmarks.sentences import sentences, topic_names
from benchmarks.topics import corpus


def test_every_user_writes_two_sentences_and_all_topics_occur() -> None:
    written = sentences(500)
    assert len(topic_names()) == 20
    assert np.bincount(written.users).tolist() == [2] * 500
    assert set(written.topics) == set(range(20))
    assert len(written.texts) == len(written.topics) == 1000
    assert len(set(written.texts)) > 950


def test_nothing_is_left_blank() -> None:
    assert not any("{" in text or "  " in text for text in sentences(500).texts)
    assert all(text[0].isupper() and text.endswith(".") for text in sentences(500).texts)


def test_users_write_the_same_however_many_there_are() -> None:
    few, many = sentences(20), sentences(50)
    assert few.texts == many.texts[:40]
    assert few.topics.tolist() == many.topics[:40].tolist()
    assert sentences(20, seed=1).texts != few.texts


def test_about_half_of_all_users_stay_with_their_topic() -> None:
    """The rest choose any of 20, so 0.525 stay; 2,000 users of a fixed seed."""
    first, second = sentences(2000).topics.reshape(-1, 2).T
    assert 0.48 < np.mean(first == second) < 0.57


def test_the_reference_finds_directions_that_are_apart() -> None:
    given = corpus("mixture_400")
    centers = spherical.best_of(10, given.rows, 20, 50)
    labels = spherical.nearest(given.rows, centers)
    assert len(set(zip(labels.tolist(), given.topics.tolist(), strict=True))) == 20


def test_a_table_has_ids_and_vectors() -> None:
    table = corpus("mixture_400").table
    assert table.column_names == ["user", "embedding"]
    assert table["embedding"].type.list_size == 384
    assert len(table["user"].unique()) == 200
