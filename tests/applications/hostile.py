"""A hostile application, each of whose answers is a drawn frame, most of them broken.

    python -m tests.applications.hostile SEED json|msgpack

The test of the reader draws the same frames without a process.
"""

import sys
from collections.abc import Sequence
from itertools import count

import msgspec

from network.chance import Chance, below

ROOT = bytes(range(32))
EVENTS = (
    {"event": "timer-set", "timer": "1", "due": 7},
    {"event": "timer-removed", "timer": "1", "why": "expired"},
    {"event": "mine", "of": ["it", 1, True, [2]]},
)
SOUND = {
    "root": ROOT,
    "events": list(EVENTS),
    "payload": [b"it", b""],
    "name": "hostile",
    "version": "1",
    "features": ["forks", "snapshot"],
    "pieces": 1,
    "bytes": b"it",
    "entries": [[b"a", b"1"], [b"b", b"2"]],
    "transactions": [b"it"],
    "text": "it",
    "height": 0,
    "id": ROOT,
}
"""Fields that are right as answers to every call."""

ODD = (
    *(None, True, False, 0, -1, 1.5, float("inf"), 2**53, 2**63, 2**64 - 1, -(2**63), "", "it", b"", b"\xff" * 31),
    *([], {}, [[]], [{}], [None], {"": None}, [[b"a"]], [[b"b", b""], [b"a", b""]], "\u0000\u2028", "x" * 70_000),
    *([1, "it", b"it"], [{"event": 7}], [{"event": "timer-set"}], [{"event": "timer-fired", "timer": "1", "a": {}}]),
    *([-1], [2**63], ["0g"], ["AB"], {"event": "timer-set"}, [{"event": "timer-removed", "timer": "1", "why": []}]),
)
"""Values of every kind, to stand where another one is expected."""

JSON_BOMBS = (
    *(
        b"{}",
        b"",
        b"null",
        b"[]",
        b"7",
        b'{"n":NaN}',
        b'{"n":Infinity}',
        b'{"n":1e999}',
        b'{"n":-0}',
        b"\xef\xbb\xbf{}",
    ),
    *(
        b'{"n":1,"n":2}',
        b'{"n":"\xff"}',
        b'{"n":"\\ud800"}',
        b'{"\xed\xa0\x80":1}',
        b'{"n":1} {"n":1}',
        b'{"n":1',
        b"\x00",
    ),
    *(b'{"n":' + b"9" * digits + b"}" for digits in (20, 400, 4_300, 4_301, 60_000)),
    *(b'{"events":' * depth + b"7" + b"}" * depth for depth in (63, 65, 500, 990, 5_000)),
    *(b'{"events":' + b"[" * depth + b"]" * depth + b"}" for depth in (63, 64, 500, 900, 5_000)),
    *(b'{"entries":[' + b"{}," * 3_000 + b"0]}", b"welcome to the ledger", b'{"a":' * 3),
)
MSGPACK_BOMBS = (
    *(
        b"",
        b"\xc0",
        b"\x90",
        b"\x07",
        b"\x80",
        b"\xc1",
        b"\x81\xa1n\xca\x7f\xc0\x00\x00",
        b"\x81\xa1n\xcb\x7f\xf0" + bytes(6),
    ),
    *(b"\x82\xa1n\x01\xa1n\x02", b"\x81\xa1\xff\x01", b"\x81\xa1n\xa1\xff", b"\x81\xa1n\xa3\xed\xa0\x80", b"\x81\xa1n"),
    *(b"\x81\xa1n" + head + b"\xff\xff\xff\xff" for head in (b"\xdd", b"\xdf", b"\xc6", b"\xdb", b"\xc9")),
    *(b"\x81\xa1n\xd6\xff" + bytes(4), b"\x81\xa1n\xd4\x05a", b"\x81\xa1n\xc7\x0c\xff" + b"\xff" * 12, b"\x81\xc0\x01"),
    *(b"\x81\xa1n\x81\x90\x01", b"\x81\xa1n\x81\x80\x01", b"\x81\xa1n\x81" + b"\x91" * 900 + b"\x01\x01"),
    *(b"\x81\xa1n" + head * depth + b"\x01" for head in (b"\x91", b"\x81\xa1a") for depth in (62, 64, 500, 900, 5_000)),
    *(b"\x81\xa1n" + b"\xdd\x00\xff\xff\xff" * 100, b"\x81\xa1n\xdc\x0b\xb8" + b"\x80" * 3_000),
)
"""Contents of frames that a careless reader trips over, or holds more memory for than a frame has."""


class FrameDraws:
    """The draws of a seed, one after the other."""

    def __init__(self, seed: int) -> None:
        self._draws = Chance(seed).stream("hostile frames", "")
        self._next = count()

    def below(self, bound: int) -> int:
        """Return a number below a bound."""
        return below(self._draws.at(next(self._next)), bound)

    def choice(self, values: Sequence[object]) -> object:
        """Return one of some values."""
        return values[self.below(len(values))]


def drawn_content(draws: FrameDraws, framing: str, number: int) -> bytes:
    """Return the content of a frame: a bomb, or an answer with some fields changed, some bytes changed, or neither."""
    sort = draws.below(16)
    if sort < 4:
        return draws.choice(JSON_BOMBS if framing == "json" else MSGPACK_BOMBS)
    if sort == 4:
        return bytes(draws.below(256) for _ in range(draws.below(64)))
    answer: dict[object, object] = {"n": number, **SOUND}
    for _ in range(draws.below(4)):
        name = draws.choice(["n", "error", "invalid", "refused", "receipts", "included", "cost_us", "ok", *SOUND])
        answer[name] = draws.choice(ODD)
    for _ in range(draws.below(3)):
        answer.pop(draws.choice([*SOUND]), None)
    content = bytearray(msgspec.json.encode(in_json(answer)) if framing == "json" else msgspec.msgpack.encode(answer))
    if sort >= 10:
        for _ in range(1 + draws.below(4)):
            content[draws.below(len(content))] = draws.below(256)
    return bytes(content)


def drawn_frame(draws: FrameDraws, framing: str, number: int) -> bytes:
    """Return the bytes of a drawn frame; some have no end, another length than they say, or more behind them."""
    content, sort = drawn_content(draws, framing, number), draws.below(24)
    if framing == "json":
        return content + (b"" if sort == 0 else b"\r\n" if sort == 1 else b"\n\n" if sort == 2 else b"\n")
    length = {0: len(content) + 1, 1: 2**32 - 1, 2: max(len(content) - 1, 0), 3: 0}.get(sort, len(content))
    return length.to_bytes(4, "little") + content


def in_json(value: object) -> object:
    """Return a value as JSON has it: bytes as hexadecimal text."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [in_json(each) for each in value]
    return {key: in_json(each) for key, each in value.items()} if isinstance(value, dict) else value


def main() -> None:
    """Answer each request with a drawn frame: the first two, which begin a life, are sound in most lives."""
    seed, framing = sys.argv[1:]
    draws = FrameDraws(int(seed))
    sound, number = draws.below(6), 0
    while True:
        head = sys.stdin.buffer.readline() if framing == "json" else sys.stdin.buffer.read(4)
        if not head:
            break
        if framing != "json":
            sys.stdin.buffer.read(int.from_bytes(head, "little"))
        number += 1
        if number <= sound:
            answer = {"n": number, **SOUND}
            content = msgspec.json.encode(in_json(answer)) if framing == "json" else msgspec.msgpack.encode(answer)
            frame = content + b"\n" if framing == "json" else len(content).to_bytes(4, "little") + content
        else:
            frame = drawn_frame(draws, framing, number)
        sys.stdout.buffer.write(frame)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
