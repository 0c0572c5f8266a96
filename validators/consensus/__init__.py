"""Consensus: the interface of engines, their common parts, and one folder for each engine.

`interface` is the seam, `kind` the public description of an engine, `registry` the list of engines; nothing outside may
know more. Quorums and signature schemes are here because every engine needs them. An engine's folder imports nothing
from another engine's folder. Nothing of the application, the network's bus or the disk may enter this package.
"""
