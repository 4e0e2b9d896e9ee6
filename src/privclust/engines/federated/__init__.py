"""Tables of several clients, summed where they are."""
