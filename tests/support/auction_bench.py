"""The GBA auction's tables over a dict."""

import msgspec


class DictState:
    """Tables in a dict, each record kept encoded, as a state would hold it."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes] = {}

    def get(self, table, key):
        encoded = self.entries.get(key)
        return None if encoded is None else msgspec.msgpack.decode(encoded, type=table.record)

    def set(self, key, record):
        self.entries.pop(key, None)
        if record is not None:
            self.entries[key] = msgspec.msgpack.encode(record)

    def of(self, table):
        """Return all records of a table, by key."""
        found = sorted((key, value) for key, value in self.entries.items() if key[0] == table.code)
        return [msgspec.msgpack.decode(value, type=table.record) for _, value in found]
