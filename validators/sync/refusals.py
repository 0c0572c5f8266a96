"""The refusals of messages that peers send outside consensus, by the reason in the trace."""

import enum
from typing import Final

from scheduler import RefusalPoint

_FORGED: Final = "forged-snapshots"
"""The scenario in which each refusal is met: chance leads to it in one of some hundred runs, or never."""


@enum.unique
class MessageRefusal(RefusalPoint):
    """Refusals of bytes that are no message."""

    MESSAGE_OVERSIZE = "OVERSIZE", "A message is longer than its kind allows."
    MESSAGE_MALFORMED = "MALFORMED", "A message is cut short, empty, or no msgpack."
    MESSAGE_UNKNOWN = "UNKNOWN_KIND", "A message has a tag that no message has."
    MESSAGE_OF_WRONG_TYPE = "WRONG_TYPE", "A message has fields of other types, or is no array."
    MESSAGE_TRAILING = "TRAILING", "A message is followed by more bytes."
    MESSAGE_TOO_DEEP = "TOO_DEEP", "A message nests too deep."
    MESSAGE_NOT_CANONICAL = "NOT_CANONICAL", "A message is encoded in another way."


@enum.unique
class GossipRefusal(RefusalPoint):
    """Refusals of gossiped transactions."""

    TRANSACTION_UNSIGNED = "signature", "A transaction comes that its sender has not signed."
    TRANSACTION_NOT_CANONICAL = "* of * bytes: not the canonical encoding", "A transaction is encoded in another way."
    TRANSACTION_MALFORMED = "* of * bytes: *", "Bytes come as a transaction that are none."


@enum.unique
class PeerBlockRefusal(RefusalPoint):
    """Refusals of blocks that peers send."""

    PEER_BLOCK_OF_OTHER_BODY = "tx_root", "A block comes with other transactions than its header's."
    PEER_BLOCK_OF_STRAY_SEAL = "seal", "A block comes with a seal, and its chain seals no blocks.", _FORGED
    PEER_BLOCK_NOT_CANONICAL = (
        "* of * bytes: not the canonical encoding",
        "A block comes encoded in another way.",
        _FORGED,
    )
    PEER_BLOCK_MALFORMED = "* of * bytes: *", "Bytes come as a block that are none."


@enum.unique
class SnapshotRefusal(RefusalPoint):
    """Refusals of snapshots; each but the first two names the peer."""

    OFFER_UNASKED = "was not asked for", "A snapshot is offered that was not asked for."
    PIECE_UNASKED = "piece was not asked for", "A piece of a snapshot comes that was not asked for."
    OFFER_OF_OTHER_BLOCK = (
        "*: header: the certificate is of another block",
        "An offer's certificate is not its header's.",
        _FORGED,
    )
    OFFER_UNCERTIFIED = "*: certificate: it is not a quorum's", "An offer's certificate has no quorum.", _FORGED
    OFFER_WITNESS = (
        "*: witness: it does not lead to the header's state root",
        "An offer's root is not its header's.",
        _FORGED,
    )
    OFFER_OUTLINE = "*: outline: * pieces for operations * to *", "An offer's numbers do not fit each other.", _FORGED
    OFFER_HEADER_MALFORMED = "*: header: Header of * bytes: *", "An offer's header is none.", _FORGED
    PIECE_TRUNCATED = (
        "*: truncated: a piece is empty or too long",
        "A piece is empty, or holds more than is missing.",
        _FORGED,
    )
    SNAPSHOT_TRUNCATED = "*: truncated: * operations of *", "All pieces together hold too little.", _FORGED
    SNAPSHOT_OPERATIONS = "*: operations: *", "A snapshot's operations are none, or lead to another root.", _FORGED
    SNAPSHOT_FLOOR = (
        "*: floor: *",
        "A snapshot's floor is not that of its last commit, or does not fit its sizes.",
        _FORGED,
    )
    SNAPSHOT_PEAKS = "*: peaks: *", "A snapshot has too few or too many peaks.", _FORGED
