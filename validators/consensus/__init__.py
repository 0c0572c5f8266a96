"""Consensus: the interface of engines, what all of them share, and one folder an engine.

`interface` is the seam, `kind` what others know of an engine, `registry` the list of engines; nothing else here may
anybody outside know. Quorums and signature schemes are here because every engine needs them. An engine's folder imports
nothing from another one, and nothing of the application, the network's bus or the disk may enter this room.
"""
