"""The command line: a file for each command, the parser, and the code that commands share.

A command reads its arguments, calls the rooms below, prints, and returns an exit code. No other room may depend on this
room.
"""
