"""A process that imported once what all jobs need, and forks one process for each.

It has no thread, no connection to a database, no state of a noise source and no row, so that two
jobs cannot share any of them.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import socket
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from privclust.node.core_dumps import forbid_core_dumps

MESSAGE_BYTES = 2**16
READY = b"ready"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""With these variables no library starts a thread when it is imported. Fits hold BLAS to one thread
anyway."""

Run = Callable[[Sequence[str]], int]


def serve(run: Run, prepare: Callable[[], None]) -> int:
    """Start processes until the worker is gone; or, with arguments, be one of them.

    `prepare` imports what jobs need. Standard input is a socket of the worker's. A message has the
    arguments of `run` and two descriptors, the process's standard input and output; the reply is
    the number of the process, whose exit code is what `run` returns.
    """
    if len(sys.argv) > 1:
        return run(sys.argv[1:])
    forbid_core_dumps()
    prepare()
    gc.freeze()  # what is never collected is never copied
    with socket.socket(fileno=0) as worker:
        worker.send(READY)
        while True:
            message, descriptors, _, _ = socket.recv_fds(worker, MESSAGE_BYTES, 2)
            if not message:
                return 0
            alone = len(os.listdir("/proc/self/task")) == 1
            worker.send(_started(run if alone else _run_anew, json.loads(message), descriptors))
            for descriptor in descriptors:
                os.close(descriptor)


def _started(run: Run, arguments: list[str], descriptors: list[int]) -> bytes:
    """Fork twice: a process whose parent has ended is the worker's, which alone waits for it."""
    reader, writer = os.pipe()
    first = os.fork()
    if first == 0:
        try:
            if os.fork() == 0:
                _be_job(run, arguments, descriptors, writer)
        finally:
            os._exit(1)
    os.close(writer)
    os.waitpid(first, 0)
    number = os.read(reader, 20)
    os.close(reader)
    return number or b"0"


def _run_anew(arguments: Sequence[str]) -> NoReturn:
    """Import all again: what a thread held when its process was forked is held for ever."""
    os.execv(sys.executable, [*sys.orig_argv, *arguments])


def _be_job(run: Run, arguments: list[str], descriptors: list[int], writer: int) -> NoReturn:
    code = 1
    try:
        os.setsid()  # a group of its own, which is killed as a whole
        os.write(writer, b"%d" % os.getpid())
        for stream, descriptor in enumerate(descriptors):
            os.dup2(descriptor, stream)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        np.random.seed()  # noqa: NPY002 - nobody should draw from it, but not the same as others
        code = run(arguments)
    finally:
        os._exit(code)
