"""The project's own execution engine and the oracle as outside applications: the protocol suffices for both."""
