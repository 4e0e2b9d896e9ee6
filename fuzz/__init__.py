"""Coverage-guided attacks on everything that reads what others wrote."""
