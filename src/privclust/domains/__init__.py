"""Where values lie: boxes, balls, spheres and declared columns, and their maps to the unit ball."""

from privclust.domains import ball, box, mixed, profiled, sphere

__all__ = ["ball", "box", "mixed", "profiled", "sphere"]
"""Every kind of domain; importing its module is what makes it known."""
