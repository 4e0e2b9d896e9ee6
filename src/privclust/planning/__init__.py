"""What a fit will cost and how good it will be, before any row is read."""
