"""Refusals: the points of refusals that events show, and the refusals that no run can reach, each with the reason.

Every text by which the code refuses is here or in a room's `refusals.py`: a test compares both with the source.
"""

from collections.abc import Mapping
from typing import Final

from checker.coverage.engines import COVERED
from network.events import Event, Handlers
from scheduler import CoveragePoint, Reach, RefusalPoint
from validators.events import DamageFound, MessageRefused, StoppedVoting
from validators.execution.refusals import BlockRefusal, CallRefusal, TransactionRefusal
from validators.storage.refusals import DiskRefusal
from validators.sync.refusals import GossipRefusal, MessageRefusal, PeerBlockRefusal, SnapshotRefusal
from validators.sync.rules import SyncRule

ROOMS_OF_REFUSALS: Final[Mapping[str, type[RefusalPoint]]] = {
    "refusals of calls": CallRefusal,
    "refusals of leaders": TransactionRefusal,
    "refusals of blocks": BlockRefusal,
    "refusals of bytes": MessageRefusal,
    "refusals of transactions": GossipRefusal,
    "refusals of peers' blocks": PeerBlockRefusal,
    "refusals of snapshots": SnapshotRefusal,
    "refusals at a start": DiskRefusal,
    **{f"refusals in consensus, {name}": covered.refusals for name, covered in COVERED.items()},
}
"""The enum of each room's refusals, by the heading of its points."""

_OF_MESSAGE: Final[Mapping[str, type[RefusalPoint]]] = {
    "message": MessageRefusal,
    "transaction": GossipRefusal,
    "block": PeerBlockRefusal,
    "snapshot": SnapshotRefusal,
    **dict.fromkeys(("finalize", "certify", "adopt", "verify", "propose"), BlockRefusal),
}
"""The refusals by the message or act that an event names; any other name is a message of consensus."""


class RefusalPoints:
    """Reads the refusals that events show."""

    def __init__(self, reach: Reach, engine: str) -> None:
        self._reach = reach
        self._of_engine = COVERED[engine].refusals if engine in COVERED else None
        self.handlers: Final[Handlers] = {
            MessageRefused: self._refuse,
            StoppedVoting: self._stop_voting,
            DamageFound: self._find,
        }

    def _refuse(self, _event: Event, refused: MessageRefused) -> None:
        self._note(_OF_MESSAGE.get(refused.message, self._of_engine), refused.reason)
        if refused.message == "block":
            # The engine checks the seal of a block.
            self._note(self._of_engine, refused.reason)

    def _stop_voting(self, _event: Event, stopped: StoppedVoting) -> None:
        self._note(DiskRefusal, stopped.reason)

    def _find(self, _event: Event, found: DamageFound) -> None:
        self._note(DiskRefusal, found.what)

    def _note(self, points: type[RefusalPoint] | None, text: str) -> None:
        point = None if points is None else points.named(text)
        if point is not None:
            self._reach(point)


COUNTED: Final[Mapping[str, CoveragePoint]] = {
    "time * is beyond *": SyncRule.PROPOSAL_TOO_EARLY,
    "TooManyAnswers": SyncRule.ANSWERS_LIMITED,
    "AnswerUnderWay": SyncRule.ANSWER_UNDER_WAY,
    "lies on a branch that lost to a finalized block": SyncRule.BLOCK_OF_LOST_BRANCH,
    "unanswered": SyncRule.SNAPSHOT_UNANSWERED,
    "header: height * is not above *": SyncRule.SNAPSHOT_TOO_OLD,
    "of validator *: *": SyncRule.SNAPSHOT_FORGED,
    "header: *": SnapshotRefusal.OFFER_HEADER_MALFORMED,
    "truncated: * operations from * to *": SnapshotRefusal.SNAPSHOT_TRUNCATED,
    "* * where executing gives *": BlockRefusal.BLOCK_STATE_ROOT,
    "transaction *: *": BlockRefusal.BLOCK_TRANSACTION_MALFORMED,
    **dict.fromkeys(
        (
            "not an operation: * bytes that start with *",
            "no integer of * bits in its shortest form ends at byte * of an operation of * bytes",
            "a log of * operations from * on does not end with a commit whose floor is in it",
            "the log leads to the root * and not to *",
            "operation * deletes the absent key *",
            "a log starts with * instead of a commit with floor 0 and no metadata",
            "the commit at * moves the floor from * to *",
            "the commit at * raises the floor to * above the active operation *",
        ),
        SnapshotRefusal.SNAPSHOT_OPERATIONS,
    ),
}
"""Refusals that a point of another room counts, or whose text is part of another refusal's."""

_TYPED: Final = "scripts and orders are decoded by their types first; for programs of plug-ins"
_OWN_RECORD: Final = "this validator itself wrote each record with a valid checksum"
_SUMMED: Final = "counted with every other cause of an invalid proposal (`left-by-invalid-proposal`)"

UNREACHED: Final[Mapping[str, str]] = {
    "InvalidInput: *: negative": "the host takes no negative number; for policies of plug-ins",
    "InvalidInput: handler: not encodable as UTF-8": "the host states the handler; for policies of plug-ins",
    "InvalidInput: *: * where bytes belong": _TYPED,
    "InvalidInput: *: * where text belongs": _TYPED,
    "InvalidInput: *: * where a bool belongs": _TYPED,
    "InvalidInput: expiry_by: blocks needs expiry apart or counted: by at_run each entry has its own": (
        "a scenario of this kind is refused, and no drawn governance asks for it"
    ),
    "InvalidInput: *: not encodable as UTF-8": "msgpack holds no such text; for programs of plug-ins",
    "as ordered": "a program fails because its call tells it to; no guard",
    "the floor of the journal is a *": _OWN_RECORD,
    "artifact tag *, known are 0..*": _OWN_RECORD,
    "record tag *, known are 0..*": _OWN_RECORD,
    "longest-chain: *": _OWN_RECORD,
    "*: its header cannot be read": _OWN_RECORD,
    "*: *": _OWN_RECORD,
    "view * is certified but was never notarized": _OWN_RECORD,
    "* of view * is by *, not by *": _OWN_RECORD,
    "the copies differ at byte *": _OWN_RECORD,
    "its head is not one: *": _OWN_RECORD,
    "it is that of validator * of *, epoch *": "a disk stays in its machine",
    "not an entry": _OWN_RECORD,
    "* *: *": "a state has the root of a final header, and only such a state is read",
    "no table has the key *": "a state has the root of a final header, and only such a state is read",
    "ParentBeforeFinalized": _SUMMED,
    "ParentNotBeforeProposal": _SUMMED,
    "ParentFailedCertification": _SUMMED,
    "EAUTH_TOKEN_EXPIRED: it expired at * ms": "no entry runs with an expired token, and a new entry's token is valid",
    "DuplicateTimer: *": "an actor's counter is part of each identifier (Q-27)",
    "unknown sender": "a replica that is no validator is honest, and sends neither votes nor certificates",
    "AgentRequired: ": "a program that names no agent has the chain's default one; for programs of plug-ins",
    "its head is damaged in both copies": "one copy of the last sync is intact, and shows the state before it",
    "* of * bytes: more than the limit of *": "the limit on messages leaves a transaction 64 bytes more",
    "payload length": "the codec takes no digest of another length; for messages that were not decoded",
    "* bytes exceed *": "decoding a transaction has the same limit",
    "view * is not after the parent's *": "a proposal's view and parent are compared with the header before",
    "there is no validator *": "a proposal's leader is compared with the header before",
    "transactions are not those of the header's tx_root": "an earlier rule refuses the peer's block (`tx_root`)",
    "witness: it does not lead from * to *": "an earlier rule refuses the offer",
    "bitmap: the canonical root is * and not *": "the witness proves the bitmap's part, and is refused first",
    "its operations are longer than * bytes": "no run carries 1 GiB of operations",
}
"""Refusals that no run of shipped programs reaches, by their text, and why; unit tests reach them."""

CONTRACTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("DeadBranch", "NotMerkleized", "NotRetained", "SealedBatch", "StaleBatch", "UnknownBlockError"),
        "the order in which a validator's own code uses its state",
    ),
    **dict.fromkeys(("CodecError", "DiskRevokedError", "UnknownParentError"), "the use of parts by a validator's code"),
    **dict.fromkeys(("AbsentKey", "PrunedLocation"), "what a caller may ask for a proof of"),
    **dict.fromkeys(("BadKey", "BadValue"), "what a caller may write to a database"),
    **dict.fromkeys(("InvalidGenesisError", "ConfigError"), "what a scenario may ask for, before it starts"),
    "DiskFullError": "the disk's own failure, a point of the disks (`disk-full`)",
    "DiskReadError": "the disk's own failure, a point of the disks (`read-failed`)",
    "RootMismatchError": "part of the reason why a start cuts a log back",
    "OutOfGas": "a limit and no refusal (`transaction-out-of-gas`)",
}
"""Errors that refuse no input of peers, clients, programs or disks, and their subject."""
