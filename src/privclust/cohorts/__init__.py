"""Nodes that cluster together and trust neither one another nor whoever adds up their sums."""
