"""A job's process that stops where a file says so, to be killed there. Run as a script.

In the folder of the policy, the file "hold" has one word: "noise" stops between reading rows and
storing the result, "reply" after the result is in the ledger and before anybody can see it. The
process then writes its id into the file "held".
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from privclust.kernels.grid import IntArray
from privclust.node.booking import carry_out
from privclust.node.federations.sum_requests import SumRequestStore, SumState
from privclust.node.policy.policy_file import read_policy
from privclust.node.workers._preloaded import import_all
from privclust.node.workers.fork_server import serve
from privclust.node.workers.job_process import main
from privclust.privacy.noise import OpenDPNoise
from privclust.testing import noise_from

_store = SumRequestStore.store


def hold(place: str) -> None:
    """Wait as long as the file names this place."""
    folder = Path.cwd()  # the worker's, which is the policy's
    file = folder / "hold"
    while file.exists() and file.read_text() == place:
        made = folder / "held.new"
        made.write_text(str(os.getpid()))
        made.replace(folder / "held")
        time.sleep(0.05)


class HeldNoise(OpenDPNoise):
    """Real noise, drawn when it may be."""

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        hold("noise")
        return super().gaussian(exact, sigma)


def held_store(self: SumRequestStore, run: str, request: str, found: SumState) -> None:
    hold("reply")
    _store(self, run, request, found)


if __name__ == "__main__":
    SumRequestStore.store = held_store  # type: ignore[method-assign]
    with noise_from(HeldNoise()):
        sys.exit(serve(lambda arguments: main(arguments, read_policy, carry_out), import_all))
