"""The service of a chain to its users: transactions get in, peers are served, nobody is blamed, traffic has bounds."""
