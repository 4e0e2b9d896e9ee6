"""Versions of privclust and of its libraries, for reports of bugs."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from privclust._version import __version__
from privclust.kernels.implementation import compiled_loops

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "opendp", "pyarrow", "sqlalchemy", "numba")


def show_versions() -> None:
    """Print the versions of privclust and of what it rests on, and which kernels run.

    Examples
    --------
    >>> show_versions()
    privclust ...
    kernels: ...
    """
    print(f"privclust {__version__}, Python {platform.python_version()}, {platform.system()}")  # noqa: T201
    print(", ".join(f"{library} {_version_of(library)}" for library in _LIBRARIES))  # noqa: T201
    kernels = "NumPy" if compiled_loops() is None else "compiled"
    print(f"kernels: {kernels}")  # noqa: T201


def _version_of(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
