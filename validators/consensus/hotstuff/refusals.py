"""The refusals of HotStuff: of votes, timeouts and seals, by the reason in the trace."""

import enum

from scheduler import RefusalCell


@enum.unique
class HotStuffRefusal(RefusalCell):
    """Refusals of messages."""

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
