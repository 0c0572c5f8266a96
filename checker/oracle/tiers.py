"""Tiers of the calendar queue: the tier of a height, and the state's records of far tiers (docs/state.md, Tiers)."""

from collections.abc import Sequence

from checker.oracle.contents import Contents
from checker.oracle.lane_config import Calendar
from checker.oracle.records import be8, sha256

HEIGHT_BITS = 64


def tier_of(height: int, now: int, queued: bool, config: Calendar) -> tuple[str, int]:  # noqa: FBT001 - a bucket's flag
    """Return the tier of a height, and its place in the ring or its epoch; a due height has no place.

    A height that was made outside the ring's range waits in the epoch queue until its epoch begins.
    """
    if height <= now:
        return "due", 0
    epoch = height // config.epoch_length
    if height - now < config.ring_size and (not queued or epoch <= now // config.epoch_length):
        return "ring", height % config.ring_size
    if epoch <= now // config.epoch_length + config.epoch_horizon:
        return "epoch", epoch
    return "overflow", 0


def write_tiers(contents: Contents, now: int, config: Calendar) -> None:
    """Recount the heights of each epoch and of the overflow tree, and hash the tree."""
    epochs: dict[int, int] = {}
    overflow: list[int] = []
    for height, bucket in sorted(contents.buckets.rows.items()):
        tier, epoch = tier_of(height, now, bucket.queued, config)
        if tier == "epoch":
            epochs[epoch] = epochs.get(epoch, 0) + 1
        elif tier == "overflow":
            overflow.append(height)
    for epoch in [*contents.epochs.rows, *epochs]:
        contents.epochs.put(epoch, epochs.get(epoch))
    records = [contents.buckets.entry(height)[1] or b"" for height in overflow]
    root = radix_root(list(zip(overflow, records, strict=True))) if overflow else b""
    contents.overflow.put(None, (len(overflow), root) if overflow else None)


def radix_root(leaves: Sequence[tuple[int, bytes]]) -> bytes:
    """Return the root of the radix tree over heights, ascending, with their buckets' records."""
    if len(leaves) == 1:
        height, record = leaves[0]
        return sha256(b"\0" + be8(height) + record)
    # The first bit in which ascending numbers differ is that of the lowest and the highest number.
    bit = HEIGHT_BITS - (leaves[0][0] ^ leaves[-1][0]).bit_length()
    clear = [leaf for leaf in leaves if not leaf[0] >> (HEIGHT_BITS - 1 - bit) & 1]
    return sha256(b"\1" + bytes([bit]) + radix_root(clear) + radix_root(leaves[len(clear) :]))


def heights_promoted(contents: Contents, parent_now: int, now: int, config: Calendar) -> int:
    """Return the number of heights that leave the overflow tree when a block begins."""
    queued = {height: bucket.queued for height, bucket in contents.buckets.rows.items()}
    held = [height for height in queued if tier_of(height, parent_now, queued[height], config)[0] == "overflow"]
    return len([height for height in held if tier_of(height, now, queued[height], config)[0] != "overflow"])
