"""Public mathematics on the integer grid of the unit ball; imports nothing else of privclust."""
