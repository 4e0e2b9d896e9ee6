"""A fit of a large table, killed while it reads, goes on where it was and is charged once."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from helpers.large_fit import fit, model_of, table
from helpers.processes import SECONDS, other_process

from privclust.privacy.ledger.ledger import Ledger

KILLED = """
import sys
from helpers.large_fit import fit, killed_in_pass, model_of
place, number, unit = sys.argv[1:]
fit(model_of(place, unit or None), killed_in_pass(int(number)))
"""


@pytest.mark.parametrize(
    ("unit", "number", "charged"),
    [
        ("", 3, "sums 4"),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in [
                ("", 1, "locate 1"),
                ("", 2, "sums 3"),
                ("", 4, "sizes"),
                ("", 5, "quality"),
                ("who", 1, "locate 1"),
            ]
        ),
    ],
)
def test_killed_in_mid_pass_and_resumed_it_is_charged_once(
    tmp_path: Path, unit: str, number: int, charged: str
) -> None:
    place = str(tmp_path / "ledger.db")
    ledger = Ledger.create(place, "table", epsilon=4.0, delta=1e-6, unit=unit or "row")
    with other_process(KILLED, place, str(number), unit) as process:
        assert process.wait(SECONDS) == -signal.SIGKILL
    (run,) = ledger.runs("table")
    assert list(run.charges)[-1] == charged
    model = fit(model_of(place, unit or None), table, resume=run.name)
    twin = fit(model_of(None, unit or None), table)
    np.testing.assert_array_equal(model.cluster_centers_, twin.cluster_centers_)
    (run,) = ledger.runs("table")
    assert list(run.charges) == [release.slot for release in twin.releases_]
    assert run.spent == sum(
        (release.charge for release in model.releases_[1:]), model.releases_[0].charge
    )
    assert ledger.verify() == []
