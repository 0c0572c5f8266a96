"""The commands, one file each: its arguments, the call that does the work, what it prints, its exit code.

Three rooms: `runs` run clusters or say what can be run, `campaigns` run many, `records` read what a run left behind.
"""
