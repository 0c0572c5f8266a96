"""Studies: replicated, seeded experiments that answer questions about the parameters of a chain, with intervals."""
