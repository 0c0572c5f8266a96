"""Edge cases by their kind: the scripts that all use, limits that are just met, and the queue of `aptos`."""
