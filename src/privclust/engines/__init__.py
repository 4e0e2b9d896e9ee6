"""Who sums a query over rows, wherever the rows live."""
