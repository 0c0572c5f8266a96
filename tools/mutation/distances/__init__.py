"""The time from the moment at which a failure is decided to the moment at which a run notices it, for each mutant."""
