"""A job's process whose noise can be repeated. Run as a script, by the worker beside it."""

from __future__ import annotations

import sys

from privclust.node.booking import carry_out
from privclust.node.job_process import main
from privclust.node.policy import read_policy
from privclust.testing import RepeatableNoise, noise_from

SEED = 5

if __name__ == "__main__":
    with noise_from(RepeatableNoise(SEED)):
        sys.exit(main(sys.argv[1:], read_policy, carry_out))
