"""The durable record of what a data set may spend and has spent."""
