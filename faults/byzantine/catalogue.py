"""The behaviours of Byzantine validators by name, with their forms and sentences."""

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from faults.byzantine.adversary import Adversary, Behaviour, Orders
from faults.byzantine.answers import ForgeAnswers, ThinCertificates
from faults.byzantine.blocks import DragTime, Equivocate, ForgeBlock, SilentLeader
from faults.byzantine.noise import Flood, Garbage
from faults.byzantine.votes import (
    BlindVote,
    ConflictingVotes,
    DoubleVote,
    MutatedVotes,
    NullifyAndFinalize,
    Replay,
    StaleVotes,
    Withhold,
)

BehaviourName: TypeAlias = Literal[
    "equivocate",
    "double-vote",
    "conflicting-votes",
    "blind-vote",
    "nullify-and-finalize",
    "amnesia",
    "silent-leader",
    "withhold",
    "stale-votes",
    "mutate-votes",
    "replay",
    "forge-block",
    "drag-time",
    "forge-answers",
    "thin-certificates",
    "garbage",
    "flood",
]

BEHAVIOURS: Final[Mapping[BehaviourName, Callable[[Adversary, str, Orders], Behaviour]]] = {
    "equivocate": Equivocate,
    "double-vote": DoubleVote,
    "conflicting-votes": ConflictingVotes,
    "blind-vote": BlindVote,
    "nullify-and-finalize": NullifyAndFinalize,
    "silent-leader": SilentLeader,
    "withhold": Withhold,
    "stale-votes": StaleVotes,
    "mutate-votes": MutatedVotes,
    "replay": Replay,
    "forge-block": ForgeBlock,
    "drag-time": DragTime,
    "forge-answers": ForgeAnswers,
    "thin-certificates": ThinCertificates,
    "garbage": Garbage,
    "flood": Flood,
}
"""Every behaviour that passes through the adversary; `amnesia` is about the disk instead."""


FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "blind-vote": ("notarize", "finalize"),
    "mutate-votes": ("view", "parent", "digest"),
    "forge-block": ForgeBlock.CLAIMS,
    "drag-time": ("earliest", "latest", "absurd"),
    "forge-answers": ("blocks", "snapshots"),
    "flood": ("requests", "blocks", "certificates"),
}
"""The forms of each behaviour, for `what`; without one chance chooses, `drag-time` means `latest`, others all."""

_SENTENCES: Final[Mapping[str, str]] = {
    "equivocate": "proposes two valid blocks at a time, one to each half of the honest validators",
    "double-vote": "votes for two blocks of a view, before one half of the honest validators for one, and for the "
    "other before the other half",
    "conflicting-votes": "votes for two blocks of a view, and shows both votes to everybody",
    "blind-vote": "votes for whatever a leader proposes, without executing it",
    "nullify-and-finalize": "says of a view both that it is to be left and that it is final",
    "amnesia": "is restarted without its journal and votes again",
    "silent-leader": "proposes nothing when it leads",
    "stale-votes": "sends an earlier vote again in the place of each new one",
    "mutate-votes": "changes its votes by as little as can be and signs that",
    "replay": "sends old votes and certificates again along with each vote",
    "forge-block": "claims for its blocks what executing them does not give",
    "forge-answers": "answers peers that catch up with forged blocks and snapshots",
    "thin-certificates": "sends certificates with too few signers, or with signers who never signed",
    "garbage": "sends bytes that are no message and messages that make no sense",
    "flood": "sends far more requests and blocks than anybody needs, and certificates that nobody signed",
}

_FORM_SENTENCES: Final[Mapping[tuple[str, str], str]] = {
    ("drag-time", "earliest"): "gives its blocks the earliest time that is valid",
    ("drag-time", "latest"): "gives its blocks the latest time that others take",
    ("drag-time", "absurd"): "gives its blocks a time years ahead",
    ("forge-block", "state-root"): "claims another state root for its blocks than executing them gives",
    ("forge-block", "due-set"): "proposes blocks that leave out every timer that is due",
    ("forge-block", "order"): "proposes blocks in which timers fire in the reverse order",
    ("forge-block", "clean-up"): "proposes blocks that remove none of the dead timers",
}


def explain_behaviour(behaviour: BehaviourName, fault: Orders, every_ms: int) -> str:
    """Return the sentence of a behaviour, without when and who."""
    if behaviour == "withhold":
        kinds = ", ".join(fault.kinds) if fault.kinds else "votes and certificates"
        whom = ", ".join(str(node) for node in fault.to) if fault.to else ""
        does = f"keeps {kinds} to itself" if not whom else f"keeps {kinds} from validators {whom}"
    elif behaviour == "drag-time":
        does = _FORM_SENTENCES["drag-time", fault.what or "latest"]
    else:
        does = _FORM_SENTENCES.get((behaviour, fault.what), _SENTENCES.get(behaviour, ""))
        does += f" ({fault.what})" if fault.what and (behaviour, fault.what) not in _FORM_SENTENCES else ""
    if behaviour == "amnesia":
        return f"{does}, every {every_ms} ms"
    return f"{does}, one time in {fault.every}" if fault.every > 1 else does
