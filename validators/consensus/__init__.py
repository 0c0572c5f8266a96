"""Consensus: the interface of engines, what all of them share, and one folder an engine.

`interface` is the seam and `registry` the list of engines; those two are all that anybody outside may know. Quorums and
signature schemes are here because every engine needs them. An engine's folder imports nothing from another one, and
nothing of the application, the network's bus or the disk may enter this room.
"""
