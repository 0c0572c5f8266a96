"""Verification of the proofs of proofs.py against a root alone (docs/state.md).

It imports nothing of the project: a verifier that shared the prover's code would share its mistakes. A proof is bytes
from an untrusted peer: any error in it gives False and never an exception.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

_DIGEST_BYTES: Final = 32
_CHUNK_BITS: Final = 256
_GRAFT_HEIGHT: Final = 8
_SIZE_LIMIT: Final = 1 << 62
_BARE_BYTES: Final = 32
_NUMBERS_BYTES: Final = 16
"""The two numbers before the digests of a proof of an operation."""


def verify_operation(proof: bytes, root: bytes, location: int, operation: bytes) -> bool:
    """Return whether the log behind a root has an operation.

    Args:
        proof: The result of `Database.prove_operation`.
        root: The root over the operations.
        location: The operation's location.
        operation: The operation, encoded.
    """
    size, inactive = (int.from_bytes(proof[start : start + 8], "big") for start in (0, 8))
    # A truncated number would be read as a smaller number.
    if len(proof) < _NUMBERS_BYTES or not 0 <= location < size < _SIZE_LIMIT:
        return False
    heights = _peak_heights(size)
    number = _find_peak(heights, location)
    digests = _split_digests(proof[_NUMBERS_BYTES:], heights[number] + len(heights) - 1)
    if digests is None or inactive > len(heights):
        return False
    siblings, peaks = digests[: heights[number]], digests[heights[number] :]
    peaks.insert(number, _climb(_hash_leaf(location, operation), location, 0, siblings))
    return _fold(peaks, size, inactive) == root


def verify_key(
    proof: bytes,
    canonical_root: bytes,
    key: bytes,
    value: bytes,
    *,
    encoding: str = "variable",
    bare_values: bool = False,
) -> bool:
    """Return whether a key has a value in the database behind a canonical root.

    Args:
        proof: The result of `Database.prove_key`.
        canonical_root: The root over operations and activity bitmap.
        key: The key.
        value: Its value.
        encoding: The database's encoding of operations, "variable" or "fixed".
        bare_values: Values stand without their length, as always in the fixed encoding.
    """
    location, size, inactive = (int.from_bytes(proof[start : start + 8], "big") for start in (0, 8, 16))
    bare = bare_values or encoding == "fixed"
    if len(key) != _DIGEST_BYTES or (bare and len(value) != _BARE_BYTES) or not location < size < _SIZE_LIMIT:
        return False
    heights = _peak_heights(size)
    number = _find_peak(heights, location)
    used = size % _CHUNK_BITS
    is_partial = location // _CHUNK_BITS == size // _CHUNK_BITS
    has_digest = used > 0 and not is_partial
    digests = _split_digests(proof[24:], 2 + heights[number] + len(heights) - 1 + has_digest)
    if digests is None or inactive > len(heights):
        return False
    root, chunk, *rest = digests
    if not chunk[location % _CHUNK_BITS // 8] >> location % 8 & 1:
        return False
    siblings, peaks = rest[: heights[number]], rest[heights[number] : heights[number] + len(heights) - 1]
    node = _climb(_hash_leaf(location, _encode_update(key, value, bare=bare)), location, 0, siblings[:_GRAFT_HEIGHT])
    if not is_partial:
        node = _climb(_hash(chunk + node), location, _GRAFT_HEIGHT, siblings[_GRAFT_HEIGHT:])
    peaks.insert(number, node)
    preimage = root + _fold(peaks, size, inactive)
    if used:
        preimage += used.to_bytes(8, "big") + (_hash(chunk) if is_partial else rest[-1])
    return _hash(preimage) == canonical_root


def verify_root(proof: bytes, canonical_root: bytes, root: bytes) -> bool:
    """Return whether a canonical root contains a root over the operations.

    Args:
        proof: The result of `Database.prove_root`.
        canonical_root: The root over operations and activity bitmap.
        root: The root over the operations.
    """
    is_whole = len(root) == _DIGEST_BYTES and len(proof) in (_DIGEST_BYTES, 2 * _DIGEST_BYTES + 8)
    return is_whole and _hash(root + proof) == canonical_root


def _hash(preimage: bytes) -> bytes:
    return sha256(preimage).digest()


def _hash_leaf(location: int, element: bytes) -> bytes:
    return _hash((2 * location - location.bit_count()).to_bytes(8, "big") + element)


def _encode_update(key: bytes, value: bytes, *, bare: bool) -> bytes:
    """Return the update that gives a key its value."""
    length = bytearray()
    rest = len(value)
    while rest > 0x7F:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    length.append(rest)
    return b"\xd2" + key + (b"" if bare else bytes(length)) + value


def _peak_heights(size: int) -> list[int]:
    """Return the heights of the peaks over `size` leaves, tallest first."""
    return [height for height in range(size.bit_length() - 1, -1, -1) if size >> height & 1]


def _find_peak(heights: Sequence[int], location: int) -> int:
    """Return the number of the peak over a location that is in the range."""
    end = 0
    ends = [end := end + (1 << height) for height in heights]
    return next(number for number, end in enumerate(ends) if location < end)


def _split_digests(joined: bytes, count: int) -> list[bytes] | None:
    """Return `count` digests, None if there are more or fewer bytes."""
    if len(joined) != _DIGEST_BYTES * count:
        return None
    return [joined[start : start + _DIGEST_BYTES] for start in range(0, len(joined), _DIGEST_BYTES)]


def _climb(node: bytes, location: int, height: int, siblings: Sequence[bytes]) -> bytes:
    """Return the ancestor of the node of a height over a location, as many heights up as there are siblings."""
    for sibling in siblings:
        is_right = location >> height & 1
        height += 1
        last = (location >> height << height) + (1 << height) - 1
        position = 2 * last - last.bit_count() + height
        pair = sibling + node if is_right else node + sibling
        node = _hash(position.to_bytes(8, "big") + pair)
    return node


def _fold(peaks: Sequence[bytes], size: int, inactive: int) -> bytes:
    """Return the root over peaks: the inactive peaks folded from the oldest on, the rest from the newest on."""
    rest = list(peaks)
    for _ in range(inactive - 1):
        rest[:2] = [_hash(rest[0] + rest[1])]
    while len(rest) > 1:
        rest[-2:] = [_hash(rest[-2] + rest[-1])]
    count = inactive.to_bytes(8, "big") if inactive else b""
    return _hash(size.to_bytes(8, "big") + count + rest[0])
