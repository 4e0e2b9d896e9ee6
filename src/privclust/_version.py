"""The version, written once: the build, models, ledgers and messages between clients read it here.

It is a module of its own because engines may not import the package's front, which leads to every
room.
"""

from __future__ import annotations

__version__ = "0.1.0"
