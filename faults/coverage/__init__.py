"""Which faults hit whom in which phase: the cells of a run, and those that a campaign must not leave empty."""
