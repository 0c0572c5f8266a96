"""Mutants of HotStuff: votes, locks, quorums, the commit rule, timeouts, and what a restart remembers."""

from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from stampede_mutants.consensus import POWER_CUTS
from validators.application import Application
from validators.consensus.headers import read_facts
from validators.consensus.hotstuff import certificates, chain, engine, journal, sealing, tree
from validators.consensus.hotstuff.casting import Voter
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.hotstuff.journal import CastVote, Lock
from validators.consensus.hotstuff.messages import QuorumCertificate
from validators.consensus.interface import Judged, Question, Send

_mutant = partial(mutant, area="consensus")

HOTSTUFF: Final = 'consensus.engine="hotstuff"'
TWO_CHAIN: Final = 'consensus.hotstuff={profile="two-chain"}'

DOWN: Final = 'faults={down={kind="crash", validator=2, at_ms=3_000, restart_ms=16_000}}'
"""Views are given up, because their leader is away."""

DARK: Final = 'faults={dark={kind="rule", action="drop", kinds=["BlockRelay"], start_ms=6_000, stop_ms=20_000}}'
"""No proposal arrives for a while: view after view is given up."""

DEAF: Final = (
    "faults={"
    'blocks={kind="rule", action="drop", kinds=["BlockRelay"], start_ms=6_000, stop_ms=12_000},'
    'timeouts={kind="rule", action="drop", kinds=["ViewTimeout"], start_ms=6_000, stop_ms=12_000}}'
)
"""Neither proposals nor timeouts arrive for a while."""


@_mutant((Voter, "may_vote"), kills=("consensus",), on_all=True, needs=(HOTSTUFF, POWER_CUTS))
def voted_view_open_again(_original: Any) -> Any:
    """A validator votes in the view of its last vote once more, with a block of its own after a restart."""

    def may_vote(self: Any, memory: Any, view: int) -> bool:
        return self._me is not None and view >= memory.last_voted

    return may_vote


@_mutant((engine.HotStuff, "_give_up"), kills=("consensus",), needs=(HOTSTUFF, DOWN))
def unlocked_by_timeout(give_up: Any) -> Any:
    """A validator that gives a view up moves its lock back to the final block."""

    def give_up_unlocked(self: Any, reason: Any) -> None:
        final = self._memory.commit or self._genesis
        if final.view < self._memory.locked.view:
            self._chain.note(Lock(final.view, final.digest))
        give_up(self, reason)

    return give_up_unlocked


@_mutant((tree, "read_chain"), (chain, "read_chain"), kills=("consensus",), needs=(HOTSTUFF, DOWN))
def final_across_a_gap(*_originals: Any) -> Any:
    """Three certified blocks in a row make the first final, whether or not their views follow each other."""

    def read_chain(headers: Any, _certificate: Any) -> Any:
        return [read_facts(header) for header in headers]

    return read_chain, read_chain


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
        timeouts = self._timeouts.of_view(view)
        if len(timeouts) >= self._quorum - 1 and view >= self._memory.view:
            self._see_timeout_certificate(certificates.certify_timeout(timeouts, self._validators))

    return complete, lambda validators: quorum_of(validators) - 1


@_mutant((engine.HotStuff, "_give_up"), kills=("finality-regained",), on_all=True, needs=(HOTSTUFF, TWO_CHAIN, DEAF))
def timeout_said_once(give_up: Any) -> Any:
    """A validator says once that it gives a view up, and never again."""

    def give_up_once(self: Any, reason: Any) -> None:
        said = self._memory.timeout
        if said is None or said.view < self._memory.view:
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


EXCHANGED: Final = (
    "faults={"
    'hidden={kind="byzantine", behaviour="mismatched-certificate", validator=1, start_ms=2_000, stop_ms=20_000}}'
)
"""A leader shows the newest certificate for a block that stands below it."""


@_mutant((sealing, "_find_form_fault"), kills=("quorum-certificates",), on_all=True, needs=(HOTSTUFF, EXCHANGED))
def justify_not_bound(find_fault: Any) -> Any:
    """A block may be justified by the certificate of any block, and not of its parent alone."""

    def find_other_fault(block: Any, seal: Any, validators: int) -> str:
        fault: str = find_fault(block, seal, validators)
        return "" if fault == "not of the parent" else fault

    return find_other_fault


@_mutant((Application, "_verify"), kills=("write-ahead",), needs=(HOTSTUFF,))
def voted_block_not_stored(_original: Any) -> Any:
    """A validator votes for a block before it has that on its disk."""

    def verify(self: Any, goal: Any, settled: Any) -> None:
        is_sound = settled.is_ready and not self._headers.find_fault(goal, self._header_of(goal.digest))
        self._answers.answer(Judged(Question[goal.purpose.name], goal.ref, is_sound))

    return verify


@_mutant((chain.CertifiedChain, "_raise_lock"), kills=("consensus",), needs=(HOTSTUFF, DOWN))
def never_locked(_original: Any) -> Any:
    """A validator of three-chain locks nothing."""
    return lambda _self, _parent: None


@_mutant((chain.CertifiedChain, "update"), kills=("consensus",), needs=(HOTSTUFF,))
def certified_block_locked(update: Any) -> Any:
    """A validator locks the block of its highest certificate, and not the parent of that."""

    def lock_and_update(self: Any) -> None:
        if self.tree.get(self._memory.high.digest) is not None:
            self._raise_lock(self._memory.high.ref)
        update(self)

    return lock_and_update


@_mutant((engine, "faults_of"), kills=("consensus",), on_all=True, needs=(HOTSTUFF, DOWN))
def one_too_few_followed(faults_of: Any) -> Any:
    """A validator follows f others into a later view, where f + 1 are needed."""
    return lambda validators: faults_of(validators) - 1


@_mutant((engine.HotStuff, "_send_vote"), kills=("consensus",), needs=(HOTSTUFF,))
def vote_to_the_present_leader(_original: Any) -> Any:
    """A validator sends its vote to the leader of the view, and not to that of the next."""

    def send_vote(self: Any, vote: Any) -> None:
        self._emit(Send(self.leader(vote.view), vote))
        self._count_vote(vote)

    return send_vote


@_mutant((HotStuffConfig, "wait_us"), kills=("consensus",), needs=(HOTSTUFF, DARK))
def wait_does_not_double(_original: Any) -> Any:
    """A view waits as long as the one before that was given up."""
    return lambda self, _given_up: self.view_timeout_us


@_mutant((engine.HotStuff, "_complete_timeouts"), kills=("consensus",), on_all=True, needs=(HOTSTUFF, DOWN))
def timeouts_of_the_own_view_not_counted(complete: Any) -> Any:
    """A quorum of timeouts makes a certificate for a later view alone."""
    return lambda self, view: complete(self, view) if view > self._memory.view else None
