"""Virtual time, the message bus, links, topology, the wire codec, and the log of events with the events' types.

This room knows bytes, labels and nodes, and nothing of consensus, blocks or faults. Nothing is re-exported: a
validator's pure core needs `network.types` and must not pay for trio (0.2 s) to get it.
"""
