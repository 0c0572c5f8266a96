"""The refusals of HotStuff: of votes, timeouts and seals, by the reason in the trace."""

import enum
from typing import Final

from scheduler import UNPROMISED, RefusalPoint


@enum.unique
class HotStuffRefusal(RefusalPoint):
    """Refusals of messages, and of the seals of blocks that peers send."""

    SIGNER_OTHER = "signer is not the sender", "A vote or timeout comes from another than its signer."
    VIEW_IMPOSSIBLE = "view out of range", "A message is of view 0, or of none after its certificate's."
    MESSAGE_UNSIGNED = "invalid signature", "A vote or timeout is not signed by its signer."
    ENTRY_OTHER = (
        "timeout of another view",
        "A timeout shows a timeout certificate of another view.",
        "hotstuff-refusals",
    )
    BITMAP_LENGTH = "bitmap length", "A certificate's signers have another length than the validators need."
    BITMAP_STRAY = "stray bits", "A certificate names a signer that there is not."
    QUORUM_MISSING = "no quorum", "A certificate has fewer signers than a quorum."
    SIGNATURES_MISCOUNTED = "signature count", "A certificate has more or fewer signatures than signers."
    SIGNATURES_FORGED = "invalid certificate", "A certificate names a signer that has not signed."
    SEAL_MALFORMED = "seal: malformed", "A block comes with a seal that is none."
    SEAL_OF_IMPOSSIBLE_VIEW = "seal: view out of range", "A sealed block is of a view that cannot be.", UNPROMISED
    SEAL_BY_ANOTHER = "seal: not the leader's", "A sealed block is not of its view's leader."
    SEAL_OF_OTHER_PARENT = "seal: not of the parent", "A seal's certificate is not that of the block's parent."
    SEAL_OF_OTHER_TIMEOUT = (
        "seal: timeout of another view",
        "A seal's timeout certificate is of another view, or knew a later certificate.",
        UNPROMISED,
    )
    SEAL_VOTE_FORGED = "seal: invalid signature", "A seal's vote is not its leader's.", UNPROMISED
    SEAL_BITMAP_LENGTH = (
        "seal: bitmap length",
        "A certificate in a seal has signers of another length than the validators need.",
        UNPROMISED,
    )
    SEAL_BITMAP_STRAY = "seal: stray bits", "A certificate in a seal names a signer that there is not.", UNPROMISED
    SEAL_QUORUM_MISSING = "seal: no quorum", "A certificate in a seal has fewer signers than a quorum.", UNPROMISED
    SEAL_SIGNATURES_MISCOUNTED = (
        "seal: signature count",
        "A certificate in a seal has more or fewer signatures than signers.",
        UNPROMISED,
    )
    SEAL_SIGNATURES_FORGED = (
        "seal: invalid certificate",
        "A certificate in a seal names a signer that has not signed.",
        UNPROMISED,
    )


FAULTS: Final = (
    "unknown sender",
    *(each.words for each in HotStuffRefusal if each is not HotStuffRefusal.VIEW_IMPOSSIBLE),
)
"""The reasons of refusals of what no honest validator sends."""
