"""The project's own execution engine as an outside application: the test that the protocol lacks nothing."""
