"""A consortium's Flower app: questions from the server, sums from the silos."""
