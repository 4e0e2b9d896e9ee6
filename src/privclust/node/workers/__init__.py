"""Processes that carry jobs out: the only ones that read rows."""
