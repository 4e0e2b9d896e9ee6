"""A job's process that tells what noise it draws, as a colluding owner can. Run as a script.

In the folder of the policy, the file "drawn" gets a line of JSON for each reply. If there is a file
"quiet", the noise is a thousandth of what it should be: a bug that an attack must find.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from privclust.kernels.grid import IntArray
from privclust.node.booking import carry_out
from privclust.node.policy.policy_file import read_policy
from privclust.node.workers._preloaded import import_all
from privclust.node.workers.fork_server import serve
from privclust.node.workers.job_process import main
from privclust.privacy.noise import OpenDPNoise
from privclust.testing import noise_from


class ToldNoise(OpenDPNoise):
    """Real noise, which is written down."""

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        folder = Path.cwd()  # the worker's, which is the policy's
        noisy = super().gaussian(exact, sigma / 1000 if (folder / "quiet").exists() else sigma)
        with open(folder / "drawn", "a", encoding="utf-8") as file:
            file.write(json.dumps((noisy - exact).tolist()) + "\n")
        return noisy


if __name__ == "__main__":
    with noise_from(ToldNoise()):
        sys.exit(serve(lambda arguments: main(arguments, read_policy, carry_out), import_all))
