"""`application check`: a fixed script of calls, played against a command without any scenario."""
