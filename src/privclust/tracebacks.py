"""To be removed at the merge: `privclust.sources.guard` has it."""

from __future__ import annotations

from privclust.sources.guard import clears_frames

__all__ = ["clears_frames"]
