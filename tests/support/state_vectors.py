"""The published vectors of the state database."""

from hashlib import sha256

from checker.record.root import PROJECT_ROOT

VECTORS = (PROJECT_ROOT / "tests" / "vectors" / "qmdb.txt").read_text()


def digest_of(number: int) -> bytes:
    return sha256(number.to_bytes(8, "big")).digest()


def value_of(number: int, step: int) -> bytes:
    return sha256(number.to_bytes(8, "big") + (step + 1).to_bytes(8, "big")).digest()


def published_batches(seed: int) -> list[dict[bytes, bytes | None]]:
    """The four batches of the published workload, as the head of the vector file describes them."""
    count = seed % 50 + 5
    keys = [digest_of(i) for i in range(count)]
    colliding = [bytes([seed % 256]) + bytes(23) + (10000 + i).to_bytes(8, "big") for i in range(count // 2)]
    deleted = [i for i in range(count) if (seed ^ i) % 5 == 0]
    first = {key: value_of(i, 1) for i, key in enumerate(keys)}
    second = {key: None if i in deleted else value_of(i, 2) for i, key in enumerate(keys)}
    third = {keys[i]: value_of(i, 3) for i in deleted} | {key: value_of(i, 4) for i, key in enumerate(colliding)}
    fourth = {key: value_of(i, 5) for i, key in enumerate(keys)}
    fourth |= {key: None if i % 2 else value_of(i, 6) for i, key in enumerate(colliding)}
    return [first, second, third, fourth]


def section(title: str) -> list[list[str]]:
    """The fields of each line below a title, up to the next empty line."""
    body = VECTORS.split(f"[{title}]", 1)[1].split("\n\n", 1)[0]
    return [line.split() for line in body.splitlines() if line.strip()]
