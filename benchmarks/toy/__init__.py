"""One small consensus protocol, run by Stampede's kernel and bus and by other simulators under the same conditions.

The protocol (`protocol.py`) is one synchronous class; each other file carries it by one simulator's best idiom.
"""
