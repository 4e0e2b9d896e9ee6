"""What a fit may spend, what it spent, and the noise that pays for it."""
