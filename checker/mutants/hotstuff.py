"""Mutants of HotStuff: votes, locks, quorums, the commit rule, timeouts, and what a restart remembers."""

from functools import partial
from typing import Any, Final

from checker.mutants.consensus import POWER_CUTS
from checker.mutants.mutant import mutant
from validators.consensus.headers import read_facts
from validators.consensus.hotstuff import certificates, chain, engine, journal, tree
from validators.consensus.hotstuff.casting import Voter
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.hotstuff.journal import CastVote, Lock
from validators.consensus.hotstuff.messages import QuorumCertificate

_mutant = partial(mutant, area="consensus")

HOTSTUFF: Final = 'consensus.engine="hotstuff"'
TWO_CHAIN: Final = 'consensus.hotstuff={profile="two-chain"}'

DOWN: Final = 'faults={down={kind="crash", validator=2, at_ms=3_000, restart_ms=16_000}}'
"""Views are given up, because their leader is away."""

DEAF: Final = (
    "faults={"
    'blocks={kind="rule", action="drop", kinds=["BlockRelay"], start_ms=6_000, stop_ms=12_000},'
    'timeouts={kind="rule", action="drop", kinds=["ViewTimeout"], start_ms=6_000, stop_ms=12_000}}'
)
"""Neither proposals nor timeouts arrive for a while."""


@_mutant((Voter, "may_vote"), kills=("vote-rules",), on_all=True, needs=(HOTSTUFF, POWER_CUTS))
def voted_view_open_again(_original: Any) -> Any:
    """A validator votes in the view of its last vote once more, with a block of its own after a restart."""

    def may_vote(self: Any, memory: Any, view: int) -> bool:
        return self._me is not None and view >= memory.last_voted

    return may_vote


@_mutant((engine.HotStuff, "_leave_for"), kills=("vote-rules",), needs=(HOTSTUFF, DOWN))
def unlocked_by_timeout(leave_for: Any) -> Any:
    """A validator that gives a view up moves its lock back to the final block."""

    def leave_unlocked(self: Any, view: int, reason: Any) -> None:
        final = self._memory.commit or self._genesis
        if final.view < self._memory.locked.view:
            self._chain.note(Lock(final.view, final.digest))
        leave_for(self, view, reason)

    return leave_unlocked


@_mutant((tree, "read_chain"), (chain, "read_chain"), kills=("vote-rules",), needs=(HOTSTUFF, DOWN))
def final_across_a_gap(*_originals: Any) -> Any:
    """Three certified blocks in a row make the first final, whether or not their views follow each other."""

    def read_chain(headers: Any, _certificate: Any) -> Any:
        return [read_facts(header) for header in headers]

    return read_chain, read_chain


@_mutant((HotStuffConfig, "chain_length"), kills=("vote-rules",), needs=(HOTSTUFF,))
def final_after_two_blocks(_original: Any) -> Any:
    """A validator of three-chain makes a block final when two of consecutive views stand, as two-chain does."""
    return property(lambda _self: 2)


@_mutant(
    (engine, "quorum_of"),
    (certificates, "quorum_of"),
    kills=("quorum-certificates",),
    on_all=True,
    needs=(HOTSTUFF,),
)
def block_certified_below_quorum(*_originals: Any) -> Any:
    """One vote too few makes the certificate of a block."""

    def quorum_of(validators: int) -> int:
        return validators - (validators - 1) // 3 - 1

    return quorum_of, quorum_of


@_mutant(
    (engine.HotStuff, "_complete_timeouts"),
    (certificates, "quorum_of"),
    kills=("quorum-certificates",),
    on_all=True,
    needs=(HOTSTUFF, TWO_CHAIN, DOWN),
)
def timeouts_certified_below_quorum(_complete: Any, quorum_of: Any) -> Any:
    """One timeout too few makes a timeout certificate."""

    def complete(self: Any, view: int) -> None:
        timeouts = self._leavings.timeouts(view)
        if len(timeouts) >= self._quorum - 1 and view >= self._memory.view:
            self._see_timeout_certificate(certificates.certify_timeout(timeouts, self._validators))

    return complete, lambda validators: quorum_of(validators) - 1


@_mutant((engine.HotStuff, "_give_up"), kills=("finality-regained",), on_all=True, needs=(HOTSTUFF, TWO_CHAIN, DEAF))
def timeout_said_once(give_up: Any) -> Any:
    """A validator of two-chain says once that it gives a view up, and never again."""

    def give_up_once(self: Any, reason: Any) -> None:
        leaving = self._memory.leaving
        if leaving is None or leaving.view < self._memory.view:
            give_up(self, reason)

    return give_up_once


@_mutant((journal, "_view_after"), kills=("write-ahead",), on_all=True, needs=(HOTSTUFF, DOWN))
def restarts_below_its_certificates(view_after: Any) -> Any:
    """A restarted validator begins in the view of its last vote, whatever certificates it holds."""

    def below(record: Any) -> int:
        return 1 if isinstance(record, QuorumCertificate) else view_after(record) - 1

    return below


@_mutant((chain.CertifiedChain, "note"), kills=("write-ahead",), needs=(HOTSTUFF,))
def vote_not_written(note: Any) -> Any:
    """Votes are not appended to the journal."""

    def note_all_but_votes(self: Any, record: Any) -> None:
        if isinstance(record, CastVote):
            self._memory.take(record)
        else:
            note(self, record)

    return note_all_but_votes
