"""A consortium's Flower app: queries from the server, sums from the clients."""
