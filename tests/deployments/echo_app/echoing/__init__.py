"""Times a query of privclust against a bare echo of the same size."""
