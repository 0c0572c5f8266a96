"""Looking at recorded runs: why one went wrong, where two differ, and proofs of single values."""
