"""Fits and profiles that wait, run or have ended, and their public times."""
