"""A job's process whose noise can be repeated. Run as a script, by the worker beside it."""

from __future__ import annotations

import sys

from privclust.node.booking import carry_out
from privclust.node.policy.policy_file import read_policy
from privclust.node.workers._preloaded import import_all
from privclust.node.workers.fork_server import serve
from privclust.node.workers.job_process import main
from privclust.testing import RepeatableNoise, noise_from

SEED = 5

if __name__ == "__main__":
    with noise_from(RepeatableNoise(SEED)):
        sys.exit(serve(lambda arguments: main(arguments, read_policy, carry_out), import_all))
