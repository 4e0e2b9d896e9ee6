"""A job's process whose noise can be repeated. Run as a script, by the worker beside it."""

from __future__ import annotations

import sys

from privclust.node._preloaded import import_all
from privclust.node.booking import carry_out
from privclust.node.fork_server import serve
from privclust.node.job_process import main
from privclust.node.policy_file import read_policy
from privclust.testing import RepeatableNoise, noise_from

SEED = 5

if __name__ == "__main__":
    with noise_from(RepeatableNoise(SEED)):
        sys.exit(serve(lambda arguments: main(arguments, read_policy, carry_out), import_all))
