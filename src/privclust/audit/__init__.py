"""Attacks on this library. They see exact results, so they make their own tables."""
