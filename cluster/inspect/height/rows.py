"""Rows of an executed block: transactions, timers that fired, left or wait, events; every address with its name."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from checker.explain.formatting import show
from checker.record.errors import on_one_line
from cluster.inspect.execute_again import BlockExecution
from report.block_rows import EventRow, Party, TransactionRow
from validators.actors.calls import Status
from validators.execution import (
    ExecuteActor,
    Genesis,
    Header,
    InvalidEncodingError,
    TransactionReceipt,
    Transfer,
    address_of,
)
from validators.execution.blocks import decode_transaction
from validators.execution.receipts import Receipt

STATUS_WORDS: Final = {
    Status.OK: "ok",
    Status.REVERTED: "reverted",
    Status.OUT_OF_GAS: "out of gas",
    Status.FAULT: "fault",
}

NOT_RUN: Final = "not run"
"""The status of a transaction that an execution did not come to."""

_DIGEST_BYTES: Final = 32
_ADDRESS_BYTES: Final = 20
_SHOWN_BYTES: Final = 16

Names = Mapping[bytes, str]
"""Names of addresses."""


class BlockScene(NamedTuple):
    """The surroundings of a block: its chain, the names of addresses, and the policy that it ran under."""

    genesis: Genesis
    names: Names

    def now(self, header: Header) -> int:
        """Return the present of a block, in the timebase."""
        return header.slot if self.genesis.timebase == "slot" else header.height

    def policy(self, header: Header) -> str:
        """Return the name of a block's policy."""
        return self.genesis.entry_at(header.height).policy

    def party(self, address: bytes) -> Party:
        """Return an address with its name."""
        return Party(address.hex(), self.names.get(address, ""))


def transaction_rows(execution: BlockExecution, scene: BlockScene) -> list[TransactionRow]:
    """Return the transactions of a block in its order, each with its receipt."""
    receipts = {each.transaction: each for each in execution.receipts if isinstance(each, TransactionReceipt)}
    encoded = execution.block.transactions
    return [_transaction_row(index, each, receipts, scene) for index, each in enumerate(encoded)]


def _transaction_row(
    index: int, encoded: bytes, receipts: Mapping[bytes, TransactionReceipt], scene: BlockScene
) -> TransactionRow:
    digest = hashlib.sha256(encoded).digest()
    receipt = receipts.get(digest, TransactionReceipt(digest, -1, "", 0, 0, 0, 0, ()))
    return TransactionRow(
        index=index,
        transaction=digest.hex(),
        **_asked_for(encoded, scene),
        status=STATUS_WORDS[Status(receipt.status)] if digest in receipts else NOT_RUN,
        refusal=on_one_line(receipt.error),
        cycles=receipt.cycles,
        cells=receipt.cells,
        burned=receipt.burned,
        tip=receipt.tip,
        fee=receipt.burned + receipt.tip,
    )


def _asked_for(encoded: bytes, scene: BlockScene) -> dict[str, Any]:
    """Return sender, nonce and call of a transaction, as fields of its row."""
    try:
        transaction = decode_transaction(encoded)
    except InvalidEncodingError as error:
        # A Byzantine validator put it into a block, which is refused.
        nobody = {"sender": Party("", ""), "nonce": 0, "kind": "", "arguments": {}}
        return {**nobody, "call": on_one_line(f"undecodable: {error}")}
    call = transaction.call
    return {
        "sender": scene.party(address_of(transaction.public_key)),
        "nonce": transaction.nonce,
        "kind": type(call).__name__,
        "call": on_one_line(_call_words(call, scene)),
        "arguments": {name: plain(getattr(call, name)) for name in call.__struct_fields__},
    }


def _call_words(call: msgspec.Struct, scene: BlockScene) -> str:
    if isinstance(call, Transfer):
        return f"transfer of {call.amount:,} to {scene.party(call.to)}"
    if isinstance(call, ExecuteActor):
        return f"call of {call.handler} of {scene.party(call.actor)}"
    return f"{type(call).__name__} {_fields_words(call, scene.names)}"


def event_rows(execution: BlockExecution, names: Names) -> list[EventRow]:
    """Return the events of a block in order."""
    encoded = execution.block.transactions
    order = {hashlib.sha256(each).digest(): index for index, each in enumerate(encoded)}
    return [
        EventRow(
            index=index,
            receipt=receipt,
            transaction=transaction,
            event=type(event).__name__,
            fields={name: plain(getattr(event, name)) for name in event.__struct_fields__},
            text=on_one_line(f"{type(event).__name__} {_fields_words(event, names)}"),
        )
        for index, (receipt, transaction, event) in enumerate(_events_of(execution.receipts, order))
    ]


def _events_of(
    receipts: Iterable[Receipt], order: Mapping[bytes, int]
) -> Iterator[tuple[int, int | None, msgspec.Struct]]:
    """Yield each event with the number of its receipt, and of its transaction, if any."""
    for index, receipt in enumerate(receipts):
        if isinstance(receipt, TransactionReceipt):
            yield from ((index, order.get(receipt.transaction), event) for event in receipt.events)
        else:
            yield index, None, receipt.event


def receipt_words(receipt: Receipt, names: Names) -> str:
    """Return a receipt as one line."""
    record = receipt if isinstance(receipt, TransactionReceipt) else receipt.event
    kind = "transaction" if isinstance(receipt, TransactionReceipt) else type(record).__name__
    return on_one_line(f"{kind} {_fields_words(record, names)}")


def plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Return a field as JSON has it: bytes in hexadecimal digits, records by the names of their fields."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return msgspec.to_builtins(value)


def _fields_words(record: msgspec.Struct, names: Names) -> str:
    return " ".join(f"{name}={_shown(getattr(record, name), names)}" for name in record.__struct_fields__)


def _shown(value: object, names: Names) -> str:
    """Return a field for a person: addresses by name, digests and identifiers by their first digits."""
    if isinstance(value, bytes) and len(value) in (_ADDRESS_BYTES, _DIGEST_BYTES):
        return names.get(value) or value[:4].hex()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_shown(each, names) for each in value) + "]"
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}({_fields_words(value, names)})"
    if isinstance(value, bytes) and len(value) > _DIGEST_BYTES:
        return f"{value[:_SHOWN_BYTES].hex()}...({len(value)} bytes)"
    return show(value)
