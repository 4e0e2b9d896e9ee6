"""Attacks on ourselves. They see exact results, so they make their own tables."""
