"""The state database restated over lists and dicts (docs/state.md).

It imports nothing of the project, keeps no tree and hashes every root from the whole log: slow, plain, and written
apart from what it is compared with.
"""

from functools import cached_property
from hashlib import sha256

DELETE, UPDATE, COMMIT = b"\xd1", b"\xd2", b"\xd3"


def digest(preimage: bytes) -> bytes:
    return sha256(preimage).digest()


def varint(number: int) -> bytes:
    groups = [number & 127]
    while number := number >> 7:
        groups.append(number & 127)
    return bytes([group | 128 for group in groups[:-1]] + groups[-1:])


class Model:
    """The database after one batch. Two of them are the same tip only if they are the same object."""

    def __init__(self, log, floor, content, where, *, fixed):
        self.log = log
        self.floor = floor
        self.content = content
        self.where = where
        self.fixed = fixed

    @classmethod
    def fresh(cls, *, fixed=False):
        model = cls([], 0, {}, {}, fixed=fixed)
        model.log.append(model.commit(None, 0))
        return model

    def update(self, key, value):
        return UPDATE + key + (value if self.fixed else varint(len(value)) + value)

    def delete(self, key):
        return DELETE + key + bytes(32 * self.fixed)

    def commit(self, metadata, floor):
        if self.fixed:
            option = b"\x00" + bytes(32) if metadata is None else b"\x01" + metadata
            return (COMMIT + option + floor.to_bytes(8, "big")).ljust(65, b"\0")
        option = b"\x00" if metadata is None else b"\x01" + varint(len(metadata)) + metadata
        return COMMIT + option + varint(floor)

    def after(self, writes, metadata=None):
        """Return the model after a batch, step by step."""
        log, content, where = list(self.log), dict(self.content), dict(self.where)
        changed = {key: value for key, value in writes.items() if content.get(key) != value}
        existing = sorted((key for key in changed if key in where), key=where.get)
        for key in existing + sorted(key for key in changed if key not in where):
            value = content[key] = changed[key]
            where[key] = len(log)
            log.append(self.delete(key) if value is None else self.update(key, value))
            if value is None:
                del where[key], content[key]
        floor, end, steps = self.floor, len(log), len(existing) + 1
        if not where:
            floor = end
        while steps and floor < end:
            key = log[floor][1:33]
            if log[floor][:1] == UPDATE and where.get(key) == floor:
                where[key] = len(log)
                log.append(log[floor])
                steps -= 1
            floor += 1
        log.append(self.commit(metadata, floor))
        return Model(log, floor, content, where, fixed=self.fixed)

    @property
    def size(self):
        return len(self.log)

    @cached_property
    def roots(self):
        """Root over the operations, and the canonical root."""
        return plain_roots(self.log, self.floor, [*self.where.values(), self.size - 1])


def plain_roots(log, floor, active):
    """Return the root over the operations and the canonical one; `active` are the locations whose bit is 1."""
    size = len(log)
    levels = [[digest(position(0, number) + operation) for number, operation in enumerate(log)]]
    while len(levels[-1]) > 1:
        levels.append(join_level(len(levels), levels[-1]))
    bits = bytearray(size + -size % 256)
    for location in active:
        bits[location] = 1
    chunks = [pack(bits[start : start + 256]) for start in range(0, len(bits), 256)]
    full = levels[8] if len(levels) > 8 else []
    grafted = [digest(chunk + node) if any(chunk) else node for chunk, node in zip(chunks, full, strict=False)]
    grafts = [*levels[:8], grafted]
    while len(grafts[-1]) > 1:
        grafts.append(join_level(len(grafts), grafts[-1]))
    heights = [height for height in range(size.bit_length(), -1, -1) if size >> height & 1]
    ends = [size >> height << height for height in heights]
    inactive = sum(end <= floor for end in ends)
    roots = [
        fold([rows[height][(size >> height) - 1] for height in heights], size, count)
        for rows, count in ((levels, inactive), (grafts, min(inactive, sum(height >= 8 for height in heights))))
    ]
    partial = (size % 256).to_bytes(8, "big") + digest(chunks[-1]) if size % 256 else b""
    return roots[0], digest(roots[0] + roots[1] + partial)


def position(height, number):
    """Return the position of a height's node, encoded: that of its last leaf, and the nodes completed by it."""
    leaf = ((number + 1) << height) - 1
    return (2 * leaf - leaf.bit_count() + height).to_bytes(8, "big")


def join_level(height, below):
    pairs = zip(below[::2], below[1::2], strict=False)
    return [digest(position(height, number) + left + right) for number, (left, right) in enumerate(pairs)]


def pack(bits):
    return bytes(sum(bit << place for place, bit in enumerate(bits[at : at + 8])) for at in range(0, 256, 8))


def fold(peaks, size, inactive):
    rest = list(peaks)
    while inactive > 1 and len(rest) > len(peaks) - inactive + 1:
        rest[:2] = [digest(rest[0] + rest[1])]
    while len(rest) > 1:
        rest[-2:] = [digest(rest[-2] + rest[-1])]
    return digest(size.to_bytes(8, "big") + (inactive.to_bytes(8, "big") if inactive else b"") + rest[0])
