"""Attacks on ourselves. They see exact answers, so they make their own tables."""
