"""The page on migrating forgets no parameter, attribute or method of scikit-learn's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans, MiniBatchKMeans

from privclust import PrivateKMeans

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "migrating.md").read_text()
FROM_SKLEARN = PAGE.split("## From diffprivlib")[0]
LINES = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", FROM_SKLEARN, re.MULTILINE))


def names_of(kind: type) -> set[str]:
    """Return all public names of a fitted estimator but those that route metadata."""
    model = kind(2, n_init=1).fit(np.eye(4))
    return {name for name in dir(model) if not re.match(r"_|set_\w+_request", name)}


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans])
def test_every_name_of_scikit_learn_has_its_line(kind: type) -> None:
    assert names_of(kind) <= set(LINES)


def test_what_is_said_to_be_the_same_is_there() -> None:
    documented = {
        *dir(PrivateKMeans),
        *dir(PrivateKMeans()),
        *re.findall(r"^    (\w+_)\b", _words(), re.MULTILINE),
    }
    kept = {name for name, here in LINES.items() if here.strip() == f"`{name}`"}
    assert kept <= documented
    assert {"n_clusters", "cluster_centers_", "predict"} <= kept


def _words() -> str:
    """Return the class's description, with each attribute on a line of its own."""
    return re.sub(r", (\w+_) :", r"\n    \1 :", PrivateKMeans.__doc__ or "")
