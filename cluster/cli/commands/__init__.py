"""The commands, a file each: its arguments, the call that does the work, its output, its exit code.

Three rooms: `runs` runs clusters or lists what can be run, `campaigns` runs many, `records` reads run directories.
"""
