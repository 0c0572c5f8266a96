"""Virtual time, the message bus, links, topology and the wire codec.

Nothing is re-exported here: a validator's pure core needs ``network.types`` and must not pay for trio and networkx
(0.4 s) to get it.
"""
