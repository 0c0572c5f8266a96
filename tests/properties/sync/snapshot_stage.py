"""The stage on which snapshots are tried: a port that notes what is done, and final states that are soon there.

The log of a state may begin at any chunk, as that of a long run does; below it there are peaks that nobody asks after.
Certificates say themselves what they are worth.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from types import SimpleNamespace
from typing import Final, NamedTuple, TypeAlias, cast

import msgspec

from network.port import Port
from network.types import Label
from tests.properties.draws import Draw
from validators.execution import Engine, ExecutionLayer
from validators.execution.blocks import Header, encode_header
from validators.messages import SnapshotOffer
from validators.state import Database, Snapshot
from validators.state.operations import choose_codec

Act: TypeAlias = tuple[object, ...]
"""A thing that a part does, as its name and what it is about."""

Pieces: TypeAlias = Sequence[tuple[bytes, ...]]
"""The operations of a snapshot as they travel."""

CHUNK_BITS: Final = 256
"""A snapshot starts at a multiple of so many operations."""

_BATCHES: Final = 3
_KEYS: Final = 16


class NotingPort:
    """A port that notes what is asked of it, in its order; work of no length is none."""

    def __init__(self) -> None:
        self.acts: list[Act] = []

    @property
    def port(self) -> Port:
        """This one, as a part takes it."""
        return cast("Port", self)

    def take(self) -> list[Act]:
        """Return what has been noted since the last time."""
        acts, self.acts = self.acts, []
        return acts

    def refuse(self, kind: str, reason: str) -> None:
        """Note a refusal."""
        self.acts.append(("refuse", kind, reason))

    def send(self, destination: int, payload: object, label: Label) -> None:
        """Note a message."""
        self.acts.append(("send", destination, payload, label))

    def set_timer(self, key: object, after_us: int) -> None:
        """Note a timer."""
        self.acts.append(("timer", key, after_us))

    def cancel_timer(self, key: object) -> None:
        """Note that a timer is not needed any more."""
        self.acts.append(("cancel", key))

    def work(self, cost_us: int, token: object) -> None:
        """Note work."""
        self.acts.append(("work", cost_us, token))

    def spend(self, cost_us: int) -> None:
        """Note work that nothing follows from."""
        if cost_us:
            self.acts.append(("spend", cost_us))


def agree(acts: Sequence[Act], expected: Sequence[Act]) -> bool:
    """Return whether a part did what it should; of the reason of a refusal the beginning is expected."""
    return len(acts) == len(expected) and all(map(_is_same, acts, expected))


def _is_same(act: Act, expected: Act) -> bool:
    if expected[0] != "refuse":
        return act == expected
    return act[:2] == expected[:2] and str(act[2]).startswith(str(expected[2]))


class Certificate(NamedTuple):
    """A finality that says itself what it is worth."""

    view: int
    digest: bytes
    is_proved: bool = True
    is_quorum: bool = True


class FinalState(NamedTuple):
    """A final block, what makes it final, and the state there."""

    header: Header
    certificate: Certificate
    database: Database

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the state."""
        return self.database.snapshot()

    def raised_to(self, height: int) -> "FinalState":
        """Return the same state behind a higher block."""
        header = msgspec.structs.replace(self.header, height=height, view=self.header.view + height)
        return FinalState(header, Certificate(header.view, digest_of(header)), self.database)


def digest_of(header: Header) -> bytes:
    """Return the digest of a block."""
    return sha256(encode_header(header)).digest()


def draw_state(height: int, draw: Draw) -> FinalState:
    """Return a state at a height, after a few batches."""
    start = CHUNK_BITS * draw(4)
    peaks = tuple(bytes([place] * 32) for place in range(start.bit_count()))
    commit = choose_codec("variable", bare_values=False).encode_commit(None, start)
    base = Snapshot(start + 1, start, start, b"", b"", peaks, (commit,))
    database = Database.from_operations((), base=base)
    for _ in range(1 + draw(_BATCHES)):
        batch = database.batch()
        for _ in range(1 + draw(4)):
            batch.write(bytes([draw(_KEYS)] * 32), bytes([draw(256)] * (1 + draw(3))))
        batch.merkleize()
        database.apply(batch)
    header = Header(
        version=1,
        height=height,
        consensus_epoch=0,
        view=height + draw(5),
        parent=bytes(32),
        proposer=0,
        slot=0,
        timestamp_ms=draw(99),
        state_root=database.canonical_root,
        tx_root=bytes(32),
        receipts_root=bytes(32),
    )
    return FinalState(header, Certificate(header.view, digest_of(header)), database)


def pieces_of(operations: Iterable[bytes], chunk_bytes: int) -> list[tuple[bytes, ...]]:
    """Return operations in pieces of so many bytes at least, and no longer than need be; the last one has the rest."""
    pieces: list[tuple[bytes, ...]] = []
    for operation in operations:
        if not pieces or sum(map(len, pieces[-1])) >= chunk_bytes:
            pieces.append(())
        pieces[-1] += (operation,)
    return pieces


def offer_of(state: FinalState, chunks: int) -> SnapshotOffer[Certificate]:
    """Return the offer of a state's snapshot."""
    outline = msgspec.structs.replace(state.snapshot, operations=())
    return SnapshotOffer(encode_header(state.header), state.certificate, outline, chunks)


class ServedLayer:
    """The execution layer as a source sees it: a final state."""

    def __init__(self, state: FinalState) -> None:
        self.state = state

    @property
    def layer(self) -> ExecutionLayer:
        """This one, as a part takes it."""
        return cast("ExecutionLayer", self)

    @property
    def finalized(self) -> Header:
        """The header of the final block."""
        return self.state.header

    @property
    def finalized_digest(self) -> bytes:
        """The digest of the final block."""
        return digest_of(self.state.header)

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the final state."""
        return self.state.snapshot


class JoiningLayer:
    """The execution layer as a joiner sees it: a final height, and the engine's own way to judge a snapshot."""

    find_outline_fault = Engine.find_outline_fault
    verify_snapshot = Engine.verify_snapshot

    def __init__(self, height: int) -> None:
        self.finalized = SimpleNamespace(height=height)
