"""The built-in kinds of workloads, one file each: keys, transactions, and what the run has to show of them."""
