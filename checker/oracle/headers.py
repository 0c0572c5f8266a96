"""The rules of a block's header (docs/chain.md, blocks)."""

from checker.oracle.records import Genesis, Header, sha256, write


class InvalidBlockError(Exception):
    """A block breaks a rule: `what` is its header or a transaction, and the message names the rule."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(reason)
        self.what = what


def check_header(header: Header, parent: Header, genesis: Genesis) -> None:
    """Check a header against its parent's; raises InvalidBlockError."""
    rules = (
        ("version", header.version == 1),
        ("height", header.height == parent.height + 1),
        ("consensus_epoch", header.consensus_epoch == 0),
        ("view", header.view > parent.view),
        ("parent", header.parent == sha256(write(parent))),
        ("proposer", header.proposer < len(genesis.validators)),
        ("timestamp_ms", header.timestamp_ms > parent.timestamp_ms),
        ("slot", header.slot == header.timestamp_ms // genesis.slot_ms),
    )
    for name, holds in rules:
        if not holds:
            raise InvalidBlockError("header", f"its {name} {getattr(header, name)!r} breaks the rule for this field")


def present_of(genesis: Genesis, header: Header) -> int:
    """Return the present of a block: its height or its slot, by the chain's timebase."""
    return header.slot if genesis.timebase == "slot" else header.height
