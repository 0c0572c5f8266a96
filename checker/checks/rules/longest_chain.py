"""The rules of the longest chain: the order of entries in a journal, and the meaning of seals.

Restated from the specification and not from the engine, of which only the types of messages and records come in.
"""

import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec

from checker.checks.journals import Said
from checker.checks.observations import short
from checker.checks.planned import PlannedRun
from checker.checks.rules.engine_rules import EngineRules, Signed
from validators.consensus.interface import Finality
from validators.consensus.longest_chain import Announcement, Burial, LongestChainConfig, SealedHeader
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.signing import signed_bytes
from validators.execution.blocks import Header
from validators.messages import message_codec

_SEAL_NAMESPACE: Final = b"stampede_SLOT"

_FINALITY_SLOTS_MAX: Final = 20
"""Slots beyond the depth of finality, for leaders that are down and heads that have to be fetched."""

_Record = Announcement | Burial


def _sealed_of(record: _Record) -> SealedHeader:
    return record.chain[0] if isinstance(record, Burial) else record.block


def _header_of(sealed: SealedHeader) -> Header:
    return msgspec.msgpack.decode(sealed.header, type=Header)


class LongestChainJournal:
    """One validator's journal: the slots for which it has sealed blocks, over all lives, and its final blocks."""

    def __init__(self, node: int) -> None:
        self._node = node
        self._own: dict[int, None] = {}
        self.forget()

    def forget(self) -> None:
        """Note the loss of the journal with its final blocks; seals stay given."""
        self._final = (0, 0)
        self._digest = b""

    def begin_after(self, floor: Finality) -> None:
        """Begin with a floor alone: the journal comes from a process that was not watched."""
        assert isinstance(floor, Burial), "the engine's own"
        header = _header_of(floor.chain[0])
        self._final, self._digest = (header.height, header.view), sha256(floor.chain[0].header).digest()

    def find_fault(self, record: _Record) -> str:
        """Return the rule that an entry here breaks, or an empty string."""
        header = _header_of(_sealed_of(record))
        if isinstance(record, Burial):
            height, view = self._final
            if header.height <= height or header.view <= view:
                return f"height {height} of slot {view} was final"
            is_on_it = not self._digest or header.height > height + 1 or header.parent == self._digest
            return "" if is_on_it else f"it does not stand on block {short(self._digest)}, which was final below it"
        if header.proposer != self._node:
            return f"the block is validator {header.proposer}'s"
        if header.view in self._own:
            return "it had sealed a block of that slot"
        return f"it had sealed a block of slot {max(self._own)}" if header.view < max(self._own, default=0) else ""

    def take_in(self, record: _Record) -> None:
        """Note an entry, allowed or not."""
        header = _header_of(_sealed_of(record))
        if isinstance(record, Burial):
            digest = sha256(record.chain[0].header).digest()
            self._final, self._digest = max((self._final, self._digest), ((header.height, header.view), digest))
        else:
            self._own[header.view] = None


def _said_by(record: _Record) -> Said:
    sealed = _sealed_of(record)
    kind = "burial" if isinstance(record, Burial) else "propose"
    return Said(kind, _header_of(sealed).view, sha256(sealed.header).digest())


def _signatures_of(record: _Record) -> list[Signed]:
    chain = record.chain if isinstance(record, Burial) else (record.block,)
    return [
        Signed(_header_of(each).proposer, signed_bytes(_SEAL_NAMESPACE, sha256(each.header).digest()), each.seal)
        for each in chain
    ]


def _find_next_view(journal: Sequence[_Record]) -> int:
    """Return the slot after the last one that the journal names."""
    return max((_header_of(_sealed_of(record)).view for record in journal), default=0) + 1


def _leader_of(view: int, validators: int, plan: PlannedRun) -> int | None:
    """Return the leader by the rotation, or by the lottery's two numbers of 64 bits: none at all, and which one."""
    if plan.lottery_key is None:
        return view % validators
    drawn = sha256(b"stampede_LOTTERY" + struct.pack(">QQ", plan.lottery_key, view)).digest()
    emptiness, winner = struct.unpack(">QQ16x", drawn)
    return None if emptiness * 1_000_000 // 2**64 < plan.empty_slot_share_ppm else winner * validators // 2**64


def _finality_lag(config: LongestChainConfig) -> int:
    """Return the depth in slots; of a lottery's as many more as have no leader, and the half for its ups and downs.

    A lottery has luck without empty slots too: those of the Byzantine and of who is away may come in a row.
    """
    if config.lottery_key is None:
        return config.finality_depth
    led_ppm = 1_000_000 - config.empty_slot_share_ppm
    slots = -(-config.finality_depth * 1_000_000 // led_ppm)
    return slots + slots // 2


def _read_vote(encoded: bytes) -> Announcement | None:
    announced = message_codec(LONGEST_CHAIN).decode(encoded)
    return announced if isinstance(announced, Announcement) else None


def _describe_vote(encoded: bytes) -> str:
    announced = _read_vote(encoded)
    assert announced is not None, "evidence is two of these"
    height, digest = _header_of(announced.block).height, sha256(announced.block.header).digest()
    return f"block {short(digest)} of height {height}"


LONGEST_CHAIN_RULES: Final = EngineRules(
    name=LONGEST_CHAIN.name,
    finality="burial",
    journal=LongestChainJournal,
    said_by=_said_by,
    signatures_of=_signatures_of,
    find_next_view=_find_next_view,
    leader_of=_leader_of,
    finality_views_max=_FINALITY_SLOTS_MAX,
    finality_lag=_finality_lag,
    reasons=(),
    evidence={"ConflictingBlocks": ("propose", "propose")},
    read_vote=_read_vote,
    describe_vote=_describe_vote,
)
