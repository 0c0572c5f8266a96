"""The rules of one consensus engine, as the checks of journals and reports ask for them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from checker.checks.journals import Said
from checker.checks.planned import PlannedRun
from validators.consensus.interface import Finality, Record
from validators.events import Voted


class Signed(NamedTuple):
    """A signature, and the bytes that it is over."""

    signer: int
    signed: bytes
    signature: bytes


class Proposed(NamedTuple):
    """A proposal that an entry names: its view and block, and the view of the block that it builds on."""

    view: int
    digest: bytes
    parent_view: int


class JournalRules(Protocol):
    """One validator's journal so far, and what its next entry may be."""

    def forget(self) -> None:
        """Note the loss of the journal with all certificates; votes stay cast."""

    def begin_after(self, floor: Finality) -> None:
        """Begin with a floor alone: the journal comes from a process that was not watched."""

    def find_fault(self, record: Record) -> str:
        """Return the rule that an entry here breaks, or an empty string."""

    def take_in(self, record: Record) -> None:
        """Note an entry, allowed or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRules:
    """The rules of one engine, as the checks use them.

    Attributes:
        name: The engine's name in the registry of engines.
        journal: Makes the rules of a validator's journal, by its number.
        finality: The kind of the certificates that make a block final.
        is_final_by_votes: Whether votes about a block make it final, and not blocks on it that have come to be known.
        said_by: Names an entry as its event does.
        signatures_of: Returns all signatures of an entry.
        find_next_view: Returns the view in which a validator with this journal has to go on.
        leader_of: Returns the leader of a view among a number of validators, by the plan of the run; None for a view
            without a leader.
        finality_views_max: Views within which finality must come back, where the scenario does not say.
        finality_lag: Returns by how many views finality trails the head at all times, by the engine's configuration.
        finality_gap_max_us: Returns the longest time between two final blocks while this many validators are down, by
            the engine's configuration; None where the engine promises nothing then.
        accepts_block: Whether a vote says that its block was valid when it came, its timestamp included.
        proposal_of: Returns the proposal that an entry accepts, None for one that accepts none.
        needed_by: Returns entries that have to be durable before a vote is sent, besides the vote.
        certified_by: The certificate that has a block certified before a vote makes it final; empty where none does.
        makes_final: Whether a vote can make its block final, so that the block has to be stored.
        reasons: Reasons to leave a view, as reports name them.
        evidence: Pairs of votes that exclude each other: their name, and the kinds of the two votes.
        read_vote: Decodes a vote of such a pair, as an entry of a journal would have it; None for another message.
        describe_vote: Returns the content of an encoded vote in few words.
        find_answer_fault: Returns why a validator with this journal, above its floor, may not send a message, or an
            empty string.
    """

    name: str
    finality: str
    journal: Callable[[int], JournalRules]
    said_by: Callable[[Record], Said]
    signatures_of: Callable[[Record], Sequence[Signed]]
    find_next_view: Callable[[Sequence[Record]], int]
    leader_of: Callable[[int, int, PlannedRun], int | None]
    finality_views_max: int
    finality_lag: Callable[[Any], int] = lambda _config: 0
    finality_gap_max_us: Callable[[Any, int], int | None] = lambda _config, _down: None
    accepts_block: Callable[[Voted], bool] = lambda _vote: False
    proposal_of: Callable[[Record], Proposed | None] = lambda _record: None
    needed_by: Callable[[Voted], Sequence[Said]] = lambda _vote: ()
    is_final_by_votes: bool = False
    certified_by: str = ""
    makes_final: Callable[[Voted], bool] = lambda _vote: False
    reasons: tuple[str, ...] = ()
    evidence: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    read_vote: Callable[[bytes], Record | None] = lambda _encoded: None
    describe_vote: Callable[[bytes], str] = bytes.hex
    find_answer_fault: Callable[[Sequence[Record], Any], str] = lambda _journal, _message: ""
