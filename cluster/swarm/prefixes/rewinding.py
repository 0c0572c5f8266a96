"""A rewind under way: early applied blocks are rewound for another branch."""

from typing import Final

from cluster.swarm.prefixes.prefix import Prefix
from faults.kinds.drawing import Plain
from faults.kinds.simplex_messages import CERTIFIED, LEAVING, VOTES
from network.draw import Draw

NAME: Final = "rewinding"

VIEW: Final = 9
"""Splits the validators, as in `certified-split`: half leave by a notarization, half by a nullification."""


def rewinding(draw: Draw, validators: int) -> Prefix:
    """Return the script: one view that some validators certify and the others nullify."""
    late = [1, 3]
    others = [node for node in range(validators) if node not in late]
    voters = [node for node in range(validators) if node != VIEW % validators]
    votes: Plain = {"kind": "rule", "kinds": [*VOTES], "views": [[VIEW, VIEW]], "from": voters, "stop_ms": 16_000}
    retained = draw.one_of(f"{NAME}.retain_blocks", (2, 8))
    mode = {
        "apply": "certified",
        "retain_blocks": retained,
        "reapply": draw.one_of(f"{NAME}.reapply", ("write", "execute")),
    }
    return Prefix(
        {"event": "rewind", "by_ms": 40_000},
        faults={
            "script-late-votes": {**votes, "action": "delay", "delay_ms": 3_500, "to": late},
            "script-lost-votes": {**votes, "action": "drop", "to": others},
            "script-hidden": {**votes, "action": "drop", "kinds": [*CERTIFIED], "from": [], "to": others},
            "script-held": {**votes, "action": "hold", "kinds": [*LEAVING], "from": [], "to": late},
        },
        settings={
            "consensus": {"leader_timeout_ms": 2_500, "certification_timeout_ms": 3_000},
            "network": {"distribution": "normal", "latency_ms": 40, "jitter_ms": 10, "loss_ppm": 0},
            "costs": {"sync_us": 100},
            "validators": {str(node): mode for node in range(validators)},
        },
    )
