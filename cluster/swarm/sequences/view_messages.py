"""Losses and delays of single views' messages, for some validators alone: each hears a different part.

Rules of consensus depend on the messages of one view that each validator has heard. A loss over seconds hits all of
them; a pick hits the votes for a block here, the certificate there, and spares the next view. It goes with any other
fault.
"""

from typing import Final

from cluster.swarm.sequences.sequence import FaultSequence
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from faults.kinds.simplex_messages import BLOCK_CERTIFICATES, CERTIFIED, FINALITY, LAST_VOTES, LEAVING, VOTES
from network.draw import Draw
from validators.messages import BlockRelay, BlockResponse

VIEWS: Final = (3, 14)
"""The first and the last view that is picked."""

_BLOCKS: Final = (BlockRelay.traced_name,)

KINDS: Final[tuple[tuple[str, ...], ...]] = (
    _BLOCKS,
    _BLOCKS,
    (*_BLOCKS, BlockResponse.traced_name),
    VOTES,
    LAST_VOTES,
    LEAVING,
    CERTIFIED,
    FINALITY,
    BLOCK_CERTIFICATES,
    (*VOTES, *BLOCK_CERTIFICATES),
    (*LEAVING, *_BLOCKS),
)
"""Messages to pick from."""

DELAYS_MS: Final = (150, 600, 1_500, 2_600, 3_400, 5_200)
"""Delays below and above the waits of a view."""


def picked_views(draw: Draw, validators: int) -> FaultSequence:
    """Return losses and delays of a few single views' messages."""
    found: dict[str, Plain] = {}
    for place in range(draw.between("targeted-views.count", 2, 5)):
        name = f"targeted-view-{place}"
        view = draw.between(f"{name}.view", *VIEWS)
        last = view + draw.one_of(f"{name}.more", (0, 0, 1))
        some = draw.some_of(f"{name}.to", range(validators), draw.between(f"{name}.count", 1, validators - 1))
        fault: Plain = {
            "kind": "rule",
            "action": draw.one_of(f"{name}.action", ("drop", "delay", "delay")),
            "kinds": [*draw.one_of(f"{name}.kinds", KINDS)],
            # A height is a little below the view in which its block is proposed.
            draw.one_of(f"{name}.by", ("views", "views", "heights")): [[view, last]],
            "to": sorted(some),
            "start_ms": FAULTS_FROM_MS,
            "stop_ms": FAULTS_UNTIL_MS,
        }
        if fault["action"] == "delay":
            fault["delay_ms"] = draw.one_of(f"{name}.delay_ms", DELAYS_MS)
        found[name] = fault
    return FaultSequence(found)
