"""The commands, one file each: its arguments, the call that does the work, what it prints, its exit code."""
