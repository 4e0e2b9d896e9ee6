"""What else a fitted model says: worked out from what was released, at no further charge."""
