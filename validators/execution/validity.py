"""The validity of a block beyond its execution: the header by its parent's, transactions and roots by the header."""

from collections.abc import Sequence

import msgspec

from validators.execution.blocks import VERSION, Block, Header
from validators.execution.errors import InvalidBlockError
from validators.execution.genesis import Genesis
from validators.state import GrowTree, mmr_root


def check_header(header: Header, parent: Header, genesis: Genesis) -> None:
    """Check a header against its parent's and the genesis; raises InvalidBlockError."""
    checks = (
        (header.version == VERSION, f"version {header.version} is not {VERSION}"),
        (header.consensus_epoch == 0, f"consensus epoch {header.consensus_epoch} is not 0"),
        (header.height == parent.height + 1, f"height {header.height} does not follow {parent.height}"),
        (header.view > parent.view, f"view {header.view} is not after the parent's {parent.view}"),
        (header.proposer < len(genesis.validators), f"there is no validator {header.proposer}"),
        (
            header.timestamp_ms > parent.timestamp_ms,
            f"timestamp {header.timestamp_ms} is not after the parent's {parent.timestamp_ms}",
        ),
        (
            header.slot == header.timestamp_ms // genesis.slot_ms,
            f"slot {header.slot} is not that of timestamp {header.timestamp_ms}",
        ),
    )
    for holds, reason in checks:
        if not holds:
            raise InvalidBlockError(reason)


def seal(
    header: Header, transactions: Sequence[bytes], receipts: Sequence[bytes], state_root: bytes, *, grow: GrowTree
) -> Header:
    """Return a header with the roots of its block's execution."""
    return msgspec.structs.replace(
        header,
        state_root=state_root,
        tx_root=mmr_root(transactions, grow),
        receipts_root=mmr_root(receipts, grow),
    )


def check_transactions(block: Block, grow: GrowTree, *, is_known: bool) -> None:
    """Raise InvalidBlockError for transactions that differ from those of a known header."""
    # Before execution: transactions of another header must not make a good header look bad.
    if is_known or mmr_root(block.transactions, grow) != block.header.tx_root:
        raise InvalidBlockError("transactions are not those of the header's tx_root")


def check_roots(claimed: Header, actual: Header) -> None:
    """Compare the roots that a header claims with those of its block's execution; raises InvalidBlockError."""
    for name in ("state_root", "tx_root", "receipts_root"):
        expected, found = getattr(claimed, name), getattr(actual, name)
        if expected != found:
            reason = f"{name} {expected.hex()} where executing gives {found.hex()}"
            raise InvalidBlockError(reason, actual.state_root)
