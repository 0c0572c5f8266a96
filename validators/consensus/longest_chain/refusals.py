"""The refusals of the longest chain: of seals, headers and proofs, by the reason in the trace."""

import enum
from typing import Final

from scheduler import RefusalPoint


@enum.unique
class LongestChainRefusal(RefusalPoint):
    """Refusals of messages and sealed blocks."""

    SEALED_HEADER_MALFORMED = "malformed header", "A sealed header cannot be read, or is of no slot."
    SEALED_BY_ANOTHER = "wrong leader", "A block is not of its slot's leader."
    SEAL_UNSIGNED = "invalid seal", "A block is not sealed by its leader."
    BURIAL_SHALLOW = "too few headers on the final block", "A named final block is not deep enough.", "forged-heads"
    BURIAL_UNLINKED = "headers are not linked", "A proof of depth has headers that make no chain.", "forged-heads"


FAULTS: Final = tuple(each.words for each in LongestChainRefusal if each is not LongestChainRefusal.BURIAL_SHALLOW)
"""The reasons of refusals of what no honest validator sends."""
