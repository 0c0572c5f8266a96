"""Mutants of HotStuff: votes, locks, quorums, proposals, and the waits of views."""

from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from stampede_mutants.consensus import POWER_CUTS
from validators.application import Application
from validators.consensus.hotstuff import certificates, chain, engine, sealing
from validators.consensus.hotstuff.casting import Voter
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.interface import Judged, Question, Send

_mutant = partial(mutant, area="consensus")

HOTSTUFF: Final = 'consensus.engine="hotstuff"'

DOWN: Final = 'faults={down={kind="crash", validator=2, at_ms=3_000, restart_ms=16_000}}'
"""Views are given up, because their leader is away."""

DARK: Final = 'faults={dark={kind="rule", action="drop", kinds=["BlockRelay"], start_ms=6_000, stop_ms=20_000}}'
"""No proposal arrives for a while: view after view is given up."""

EXCHANGED: Final = (
    "faults={"
    'hidden={kind="byzantine", behaviour="mismatched-certificate", validator=1, start_ms=2_000, stop_ms=20_000}}'
)
"""A leader shows the newest certificate for a block that stands below it."""


@_mutant((Voter, "may_vote"), kills=("consensus",), on_all=True, needs=(HOTSTUFF, POWER_CUTS))
def voted_view_open_again(_original: Any) -> Any:
    """A validator votes in the view of its last vote once more, with a block of its own after a restart."""

    def may_vote(self: Any, memory: Any, view: int) -> bool:
        return self._me is not None and view >= memory.last_voted

    return may_vote


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
