"""A finalized log read back, as an execution layer is opened from it."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from validators.execution import ExecutionLayer, Genesis, Header, Transaction
from validators.execution.blocks import decode_header
from validators.state import Snapshot
from validators.storage import FinalizedEntry


class StateBase(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The state at a finalized block, as the base of a finalized log: its encoded header, and the snapshot there."""

    header: bytes
    snapshot: Snapshot


class RestoredLog(NamedTuple):
    """A finalized log: the encoded `StateBase` that it follows, b"" for genesis, and its entries, oldest first.

    `find_block` returns the encoded sealed block of an entry by its digest, for a layer that has to execute it again.
    """

    base: bytes = b""
    entries: Sequence[FinalizedEntry] = ()
    find_block: Callable[[bytes], bytes | None] = lambda _digest: None

    def read_base(self) -> StateBase | None:
        """Return the state that the entries follow, None for genesis; raises msgspec.MsgspecError."""
        return msgspec.msgpack.decode(self.base, type=StateBase) if self.base else None

    def operations(self) -> list[bytes]:
        """Return the layer's own data of all entries, oldest first."""
        return [operation for entry in self.entries for operation in entry.operations]

    def last_header(self, base: StateBase | None) -> Header | None:
        """Return the header that the log leads to, None for genesis'; raises InvalidEncodingError."""
        # The base's too where entries follow: nothing on the disk is believed for its checksum alone.
        header = None if base is None else decode_header(base.header)
        return decode_header(self.entries[-1].header) if self.entries else header


EMPTY_LOG: Final = RestoredLog()


class LayerMaker(Protocol):
    """Makes an execution layer from genesis, or from a log read back."""

    def __call__(
        self, genesis: Genesis, verify_transaction: Callable[[Transaction], bool], log: RestoredLog = EMPTY_LOG
    ) -> ExecutionLayer:
        """Return a new layer; raises the error of a wrong log."""
