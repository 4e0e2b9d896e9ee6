"""The version, written once: the build, models, ledgers and messages between clients read it here.

It is a module of its own because engines may not import the package itself, which leads to every
other package.
"""

from __future__ import annotations

__version__ = "0.2.0.dev0"
