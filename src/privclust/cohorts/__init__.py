"""Nodes that cluster together and trust neither one another nor whoever adds up their sums."""

from __future__ import annotations

from importlib.util import find_spec

from privclust.errors import needs_extra

if find_spec("cryptography") is None:
    raise ImportError(f"{needs_extra('federation')}.")
