"""What was released, what it depends on and what that guarantees, for the person who signs."""
