"""The built-in kinds of workloads, one file each: keys, transactions, and the effects that a run has to show."""
