"""What analysts may send: a whitelist of parameters, and refusals of fixed texts."""
