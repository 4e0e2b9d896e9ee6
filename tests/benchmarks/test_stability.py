"""What a path of k says of its stabilities is what was measured."""

from __future__ import annotations

import numpy as np

from benchmarks.pieces import load
from benchmarks.stability import Compared, pieces
from benchmarks.stability_tables import HELD_OUT
from privclust.models.k_path import STABILITY_OFF


def test_predictions_were_off_by_what_is_said() -> None:
    results = load("stability", Compared)
    off = [
        np.abs(np.array(predicted) - measured).mean()
        for found in map(results.__getitem__, pieces(HELD_OUT))
        for measured, predicted in zip(found.measured, found.predicted, strict=True)
    ]
    assert round(float(np.mean(off)), 2) == STABILITY_OFF
