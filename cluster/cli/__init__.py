"""The command line: one file a command, the parser, and what all commands share.

What a command does stands in the rooms below it; here it reads its arguments, calls that, prints, and returns an exit
code. Nothing that another room needs may stand here.
"""
