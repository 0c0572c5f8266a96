"""The values of a state in the place of a batch: read by key, written, and nothing hashed."""


class StoredValues(dict[bytes, bytes]):
    """Encoded records by state key."""

    def write(self, key: bytes, value: bytes | None) -> None:
        """Put a value; None deletes."""
        if value is None:
            self.pop(key, None)
        else:
            self[key] = value
