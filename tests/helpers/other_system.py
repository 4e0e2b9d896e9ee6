"""What Windows lacks or refuses, taken from a Python on Linux.

In a process of its own, call `take_away` when the libraries that privclust uses are imported: they
have code for both systems, and choose by what they find. Then import privclust, and call `rename`.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from types import ModuleType
from typing import Any

MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios")
CALLS = (
    *("chown", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getgroups"),
    *("getloadavg", "getpgid", "getuid", "killpg", "lchown", "mkfifo", "mknod", "nice"),
    *("posix_spawn", "pread", "pwrite", "register_at_fork", "sched_getaffinity", "setsid"),
    *("statvfs", "sysconf", "uname", "wait", "O_CLOEXEC", "O_DIRECTORY", "O_DSYNC"),
    *("O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH", "O_SYNC"),
)
SIGNALS = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def take_away() -> None:
    """Make this process one in which calls of POSIX fail as they do on Windows."""
    opened_at_start = os.open
    _refuse_open_files("replace", lambda source, target, **_: (source, target))
    _refuse_open_files("rename", lambda source, target, **_: (source, target))
    _refuse_open_files("unlink", lambda path, **_: (path,))
    _refuse_open_files("remove", lambda path, **_: (path,))

    def open_file(path: Any, flags: int, mode: int = 0o777, **where: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", path)
        made = not os.path.exists(path)
        opened = opened_at_start(path, flags, 0o666, **where)
        if made:
            os_chmod(opened, 0o666)
        return opened

    os_chmod = os.chmod
    os.open = open_file
    os.chmod = lambda path, mode, **_: None
    os.supports_fd.discard(os_chmod)
    for name in CALLS:
        if hasattr(os, name):
            delattr(os, name)
    for name in SIGNALS:
        delattr(signal, name)
    del socket.AF_UNIX
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    vars(tempfile)["TemporaryFile"] = tempfile.NamedTemporaryFile
    os.umask(0)


class _Renamed(ModuleType):
    """A module of which one attribute differs."""

    def __init__(self, module: ModuleType, **attributes: str) -> None:
        super().__init__(module.__name__)
        vars(self).update(attributes)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def rename(package: str) -> None:
    """Tell the modules of a package, and no others, that the system is Windows."""
    renamed = {"os": _Renamed(os, name="nt"), "sys": _Renamed(sys, platform="win32")}
    for name, module in sys.modules.items():
        if name.partition(".")[0] == package:
            vars(module).update({key: one for key, one in renamed.items() if hasattr(module, key)})


def _refuse_open_files(name: str, paths: Callable[..., tuple[Any, ...]]) -> None:
    """Let a call fail on a file that this process has open."""
    call = getattr(os, name)

    def refusing(*words: Any, **others: Any) -> None:
        for path in paths(*words, **others):
            if os.path.realpath(path) in _open_files():
                raise PermissionError(13, "The process cannot access the file", path)
        call(*words, **others)

    setattr(os, name, refusing)


def _open_files() -> set[str]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:  # that of the list itself
            continue
    return found
