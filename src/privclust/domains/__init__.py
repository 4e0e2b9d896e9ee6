"""Where values lie: boxes, balls, spheres and declared columns, and their maps to the unit ball."""
