"""What one row contributes, bit for bit, and the exact arithmetic that it needs."""
