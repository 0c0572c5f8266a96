"""The rules of one consensus engine that checks besides the specification ask for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from checker.checks.planned import PlannedRun
from validators.events import Voted


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRules:
    """The rules of one engine, as the checks use them.

    Attributes:
        name: The engine's name in the registry of engines.
        finality: The kind of the certificates that make a block final.
        leader_of: Returns the leader of a view among a number of validators, by the plan of the run; None for a view
            without a leader.
        finality_views_max: Views within which finality must come back, where the scenario does not say.
        finality_lag: Returns by how many views finality trails the head at all times, by the engine's configuration.
        finality_gap_max_us: Returns the longest time between two final blocks while this many validators are down, by
            the engine's configuration; None where the engine promises nothing then.
        accepts_block: Whether a vote says that its block was valid when it came, its timestamp included.
        certified_by: The certificate that has a block certified before a vote makes it final; empty where none does.
        makes_final: Whether a vote can make its block final, so that the block has to be stored.
        reasons: Reasons to leave a view, as reports name them.
        evidence: The names of pairs of votes that exclude each other.
        describe_vote: Returns the content of an encoded vote in few words.
    """

    name: str
    finality: str
    leader_of: Callable[[int, int, PlannedRun], int | None]
    finality_views_max: int
    finality_lag: Callable[[Any], int] = lambda _config: 0
    finality_gap_max_us: Callable[[Any, int], int | None] = lambda _config, _down: None
    accepts_block: Callable[[Voted], bool] = lambda _vote: False
    certified_by: str = ""
    makes_final: Callable[[Voted], bool] = lambda _vote: False
    reasons: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    describe_vote: Callable[[bytes], str] = bytes.hex
