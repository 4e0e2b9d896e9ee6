"""Times a question of privclust against a bare echo of the same size."""
