"""What may be asked of rows: bounded sums, each with its sensitivity."""
