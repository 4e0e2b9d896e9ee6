"""How a worker starts processes of jobs: by a fork server, and by another when that has ended."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from privclust.node.workers.fork_server import MESSAGE_BYTES, ONE_THREAD, READY

_PR_SET_CHILD_SUBREAPER = 36
_SECONDS = 20.0
"""For a fork, on a machine that is busy."""
_log = logging.getLogger("privclust.node.workers.worker")


@dataclass(frozen=True)
class Started:
    """A process of a job.

    Attributes
    ----------
    pid : int
        Its number, and that of its group.
    stdin, stdout : int
        The other ends of its standard input and output; who reads does not wait.
    """

    pid: int
    stdin: int
    stdout: int


class Starter:
    """Has a fork server.

    Parameters
    ----------
    command : sequence of str
        What is started as fork server.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._server: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._ready = False
        # Processes whose parent has ended become this one's, which can then wait for them.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def is_ready(self) -> bool:
        """Tell whether a process can be started now; begin to make it so if not."""
        if self._server is not None and self._server.poll() is not None:
            _log.warning("the fork server has ended (%d); another is started", self._server.poll())
            self.close()
        if self._socket is None:
            self._start_server()
        elif not self._ready:
            self._ready = self._reply(0.0) == READY
        return self._ready

    def start(self, arguments: Sequence[str]) -> Started | None:
        """Start a process that gets `arguments`; None if that failed. The next may succeed."""
        read, stdin = os.pipe()
        stdout, write = os.pipe()
        try:
            assert self._socket is not None
            socket.send_fds(self._socket, [json.dumps(arguments).encode()], [read, write])
            pid = int(self._reply(_SECONDS) or 0)
        except OSError:
            pid = 0
        finally:
            os.close(read)
            os.close(write)
        if pid == 0:
            os.close(stdin)
            os.close(stdout)
            self.close()
            return None
        os.set_blocking(stdout, False)
        return Started(pid, stdin, stdout)

    def close(self) -> None:
        """End the fork server. Processes that it started go on."""
        if self._server is not None and self._socket is not None:
            self._socket.close()
            self._server.kill()
            self._server.wait()
        self._server, self._socket, self._ready = None, None, False

    def _start_server(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._server = subprocess.Popen(
                self._command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **ONE_THREAD},
                start_new_session=True,  # what a terminal sends goes to the worker alone
            )

    def _reply(self, seconds: float) -> bytes:
        """Return what the fork server sent, or nothing."""
        assert self._socket is not None
        self._socket.settimeout(seconds)
        try:
            return self._socket.recv(MESSAGE_BYTES)
        except (TimeoutError, BlockingIOError, ConnectionError):
            return b""
