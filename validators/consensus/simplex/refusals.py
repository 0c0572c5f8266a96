"""The refusals of Simplex: of votes, certificates and requests, by the reason in the trace."""

import enum
from typing import Final

from scheduler import RefusalPoint


@enum.unique
class SimplexRefusal(RefusalPoint):
    """Refusals of messages."""

    VOTE_OF_ANOTHER = "signer is not the sender", "A vote comes from another validator than its signer."
    VIEW_OUT_OF_RANGE = "view out of range", "A message is of view 0, or of an impossible view."
    VOTE_UNSIGNED = "invalid signature", "A vote is not signed by its signer."
    SIGNERS_LENGTH = "bitmap length", "A certificate's signers have another length than the validators need."
    SIGNERS_STRAY = "stray bits", "A certificate names a signer that there is not."
    NO_QUORUM = "no quorum", "A certificate has fewer signers than a quorum."
    SIGNATURE_COUNT = "signature count", "A certificate has more or fewer signatures than signers."
    CERTIFICATE_UNSIGNED = "invalid certificate", "A certificate names a signer that has not signed."


FAULTS: Final = (
    "unknown sender",
    *(each.words for each in SimplexRefusal if each is not SimplexRefusal.VIEW_OUT_OF_RANGE),
)
"""The reasons of refusals of what no honest validator sends."""
