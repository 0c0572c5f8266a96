"""The behaviours of Byzantine validators by name, with their forms and sentences."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from faults.byzantine.adversary import Orders
from faults.byzantine.answers import ForgeAnswers
from faults.byzantine.blocks import DragTime, Equivocate, ForgeBlock, SilentLeader
from faults.byzantine.bodies import ForgeBody
from faults.byzantine.encodings import OddEncoding
from faults.byzantine.engine_adversaries import BehaviourMaker
from faults.byzantine.headers import ForgeHeader
from faults.byzantine.impersonation import Impersonate
from faults.byzantine.noise import Flood, Garbage
from faults.byzantine.registry import ADVERSARIES
from faults.byzantine.snapshots import ForgeSnapshot, ProbeSnapshots, forms_of_snapshots
from faults.byzantine.votes import ConflictingVotes, Replay, StaleVotes, Withhold

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
    "skew-timestamps",
    "forge-answers",
    "invalid-certificates",
    "garbage",
    "flood",
    "forge-header",
    "forge-body",
    "noncanonical-encoding",
    "skip-view",
    "malformed-votes",
    "hide-certificate",
    "mismatched-certificate",
    "stale-certificate",
    "private-branch",
    "propose-ahead",
    "forge-seal",
    "forge-vote",
    "forge-snapshot",
    "probe-snapshots",
    "many-blocks",
    "forge-head",
    "forge-parent",
    "impersonate",
]

GENERAL: Final[Mapping[str, BehaviourMaker]] = {
    "equivocate": Equivocate,
    "conflicting-votes": ConflictingVotes,
    "silent-leader": SilentLeader,
    "withhold": Withhold,
    "stale-votes": StaleVotes,
    "replay": Replay,
    "forge-block": ForgeBlock,
    "skew-timestamps": DragTime,
    "forge-answers": ForgeAnswers,
    "garbage": Garbage,
    "flood": Flood,
    "forge-header": ForgeHeader,
    "forge-body": ForgeBody,
    "noncanonical-encoding": OddEncoding,
    "forge-snapshot": ForgeSnapshot,
    "probe-snapshots": ProbeSnapshots,
    "impersonate": Impersonate,
}
"""Behaviours of every engine that has adversaries; `amnesia` is about the disk and passes no adversary."""

_GENERAL_FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "forge-block": ForgeBlock.CLAIMS,
    "skew-timestamps": ("earliest", "latest", "absurd"),
    "forge-answers": ("blocks", "snapshots"),
    "flood": ("requests", "blocks", "certificates"),
    "forge-header": ForgeHeader.CLAIMS,
    "forge-body": ForgeBody.CLAIMS,
    "noncanonical-encoding": OddEncoding.FORMS,
    "probe-snapshots": ProbeSnapshots.FORMS,
}


def behaviours_of(engine: str) -> Mapping[str, BehaviourMaker]:
    """Return the behaviours of this engine's adversaries, by name; none for an engine without adversaries."""
    return {**GENERAL, **ADVERSARIES[engine].behaviours} if engine in ADVERSARIES else {}


_FOREIGN_FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "forge-block": ForgeBlock.FOREIGN_CLAIMS,
    "forge-body": ForgeBody.FOREIGN_CLAIMS,
}
"""The forms of behaviours that differ for an outside application."""


def forms_of(engine: str, behaviour: str, *, is_foreign: bool = False) -> tuple[str, ...]:
    """Return the forms of a behaviour, for `what`; with `is_foreign` the forms for an outside application.

    Without `what` all forms take turns, or a draw chooses; `skew-timestamps` means `latest`.
    """
    general = {**_GENERAL_FORMS, **_FOREIGN_FORMS} if is_foreign else _GENERAL_FORMS
    if engine not in ADVERSARIES:
        return general.get(behaviour, ())
    own = ADVERSARIES[engine]
    snapshots = forms_of_snapshots(own.finality_forms, is_foreign=is_foreign)
    return {**general, "forge-snapshot": snapshots, **own.forms}.get(behaviour, ())


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
    "invalid-certificates": "sends certificates with too few signers, or with signers who never signed",
    "garbage": "sends bytes that are no message and messages that make no sense",
    "flood": "sends far more requests and blocks than a validator needs, and certificates with forged signatures",
    "forge-header": "proposes blocks with true roots, whose header breaks another rule",
    "forge-body": "proposes blocks with a body that breaks a rule, or is not the one that was executed",
    "noncanonical-encoding": "sends its messages in odd bytes as well: longer, deeper, or encoded in another way",
    "skip-view": "builds its blocks on the parent of the one that it has to build on",
    "malformed-votes": "sends its votes and certificates in shapes as well that none may have",
    "hide-certificate": "builds its blocks below the newest certified one, as if it knew no certificate of that",
    "mismatched-certificate": "builds its blocks below the newest certified one, and shows the certificate of that",
    "stale-certificate": "gives views up with the oldest certificate that it knows",
    "private-branch": "builds a branch in secret",
    "propose-ahead": "proposes a block of the next slot along with its own",
    "forge-seal": "seals its blocks with a forged vote, or certificates that do not justify them",
    "forge-vote": "sends votes and messages by which it gives views up as well that break one rule each",
    "forge-snapshot": "answers peers that join with snapshots that break one rule each",
    "probe-snapshots": "asks for pieces of snapshots that there are not",
    "many-blocks": "proposes more blocks of a view than anybody keeps",
    "forge-head": "announces blocks that break one rule each, and names heads and final blocks that are none",
    "forge-parent": "proposes its blocks as if they stood on other views than their parents'",
    "impersonate": "sends its votes as if other validators had cast them",
}

_FORM_SENTENCES: Final[Mapping[tuple[str, str], str]] = {
    ("skew-timestamps", "earliest"): "gives its blocks the earliest time that is valid",
    ("skew-timestamps", "latest"): "gives its blocks the latest time that others take",
    ("skew-timestamps", "absurd"): "gives its blocks a time years ahead",
    ("forge-block", "state-root"): "claims another state root for its blocks than executing them gives",
    ("forge-block", "due-set"): "proposes blocks that leave out every timer that is due",
    ("forge-block", "order"): "proposes blocks in which timers fire in the reverse order",
    ("forge-block", "clean-up"): "proposes blocks that remove none of the dead timers",
    ("forge-body", "append"): "proposes blocks with one entry of random bytes more than it executed",
    ("forge-body", "drop"): "proposes blocks without one of the entries that it executed",
    ("forge-body", "repeat"): "proposes blocks that hold one of the entries that it executed twice",
    ("forge-body", "flip"): "proposes blocks with another byte in one of the entries that it executed",
}


def explain_behaviour(behaviour: BehaviourName, fault: Orders, every_ms: int) -> str:
    """Return the sentence of a behaviour, without its time and validator."""
    if behaviour == "withhold":
        kinds = ", ".join(fault.kinds) if fault.kinds else "votes and certificates"
        whom = ", ".join(str(node) for node in fault.to) if fault.to else ""
        does = f"keeps {kinds} to itself" if not whom else f"keeps {kinds} from validators {whom}"
    elif behaviour == "skew-timestamps":
        does = _FORM_SENTENCES["skew-timestamps", fault.what or "latest"]
    else:
        does = _FORM_SENTENCES.get((behaviour, fault.what), _SENTENCES.get(behaviour, ""))
        does += f" ({fault.what})" if fault.what and (behaviour, fault.what) not in _FORM_SENTENCES else ""
    if behaviour == "amnesia":
        return f"{does}, every {every_ms} ms"
    if behaviour == "private-branch":
        which = f"{fault.every} of its blocks" if fault.every > 1 else "of its blocks"
        return f"{does}, and publishes it with each {which}"
    return f"{does}, one time in {fault.every}" if fault.every > 1 else does
