"""The web process: endpoints that take public parameters and hand out released models."""
