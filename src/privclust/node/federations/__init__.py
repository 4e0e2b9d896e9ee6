"""Fits that nodes make together: what is hosted here, and replies to their requests."""
