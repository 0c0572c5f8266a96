"""Mutants of consensus: what makes a quorum, what may be voted, what a restart remembers, when a view is given up."""

from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from validators.consensus.simplex import Finalization, Notarization, Nullification, certificates, recovery
from validators.consensus.simplex import engine as simplex
from validators.consensus.simplex.messages import view_of
from validators.consensus.simplex.rounds import Certified, Round
from validators.consensus.simplex.screening import Screen
from validators.consensus.simplex.timeouts import TimeoutReason

_mutant = partial(mutant, area="consensus")

SIMPLEX: Final = "consensus.engine=simplex"
"""Behaviours and messages are its own, and some seeds of the swarm draw another engine."""

POWER_CUTS: Final = (
    "faults={"
    'first={kind="blackout", validators=[0, 1, 2, 3], at_ms=4_120, restart_ms=4_320},'
    'second={kind="blackout", validators=[3, 2, 1, 0], at_ms=7_330, restart_ms=7_540},'
    'third={kind="blackout", validators=[1, 3, 0, 2], at_ms=10_440, restart_ms=10_660},'
    'fourth={kind="blackout", validators=[2, 0, 3, 1], at_ms=13_550, restart_ms=13_780}}'
)
"""Four short losses of power, each in another part of a view."""

_CERTIFICATES: Final = (Notarization, Nullification, Finalization)


SLOW_JOIN: Final = (
    "faults={"
    'down={kind="crash", validator=3, at_ms=3_000, restart_ms=20_000},'
    'slow={kind="rule", action="delay", kinds=["SnapshotRequest", "SnapshotOffer", "SnapshotChunk"],'
    " delay_ms=450, stop_ms=30_000},"
    'deaf={kind="rule", action="drop", kinds=["Finalize", "Finalization"], to=[3], start_ms=20_100, stop_ms=30_000}}'
)
"""A validator joins from a snapshot of a view whose finality reaches it by no other way."""


@_mutant((simplex, "quorum_of"), (certificates, "quorum_of"), kills=("certificates",), on_all=True)
def quorum_by_majority(*_originals: Any) -> Any:
    """A quorum is more than half and not two thirds."""

    def quorum_of(validators: int) -> int:
        return validators // 2 + 1

    return quorum_of, quorum_of


@_mutant((certificates, "encode_signers"), kills=("certificates",))
def signers_shifted(encode_signers: Any) -> Any:
    """The bitmap of a certificate names each signer's successor."""

    def encode_shifted(signers: Any, validators: int) -> Any:
        return encode_signers(((signer + 1) % validators for signer in signers), validators)

    return encode_shifted


@_mutant((Round, "may_finalize"), kills=("no-double-vote",))
def finalizes_what_it_nullified(_original: Any) -> Any:
    """A validator that nullified a view finalizes it when its block is certified after all."""

    def may_finalize(self: Any) -> bool:
        return self.own_finalize is None and self.certified is Certified.PASSED

    return may_finalize


@_mutant(
    (recovery, "_restore_vote"),
    (simplex.Simplex, "replay"),
    kills=("no-double-vote",),
    on_all=True,
    needs=(POWER_CUTS,),
)
def restarted_leader_proposes_again(_restore_vote: Any, replay: Any) -> Any:
    """A restarted validator does not count the votes in its journal as its own, and proposes once more."""

    def replay_and_forget(self: Any, *journal: Any) -> None:
        replay(self, *journal)
        self._is_restarted = False

    return lambda _kept, _vote, _me: None, replay_and_forget


@_mutant((simplex.Simplex, "_start"), kills=("consensus",), on_all=True, needs=(POWER_CUTS,))
def kept_vote_kept(start: Any) -> Any:
    """A restarted validator does not send the vote that it finds for the view in which it restarts."""

    def start_silently(self: Any) -> None:
        own = self._current().own_notarize
        start(self)
        self._effects = [each for each in self._effects if getattr(each, "message", None) is not own or own is None]

    return start_silently


@_mutant((recovery, "_restore_one"), kills=("consensus",), on_all=True, needs=(SIMPLEX,))
def restart_without_nullifications(restore_one: Any) -> Any:
    """A restarted validator does not know the nullifications of its journal."""

    def restore_others(kept: Any, artifact: Any, me: Any) -> None:
        if not isinstance(artifact, Nullification):
            restore_one(kept, artifact, me)

    return restore_others


@_mutant((simplex, "repeat_nullify"), kills=("consensus",), on_all=True)
def nullify_repeated_alone(repeat_nullify: Any) -> Any:
    """A validator repeats its nullify without the certificate that leads others into its view."""

    def repeat_alone(*of: Any) -> Any:
        return [each for each in repeat_nullify(*of) if not isinstance(getattr(each, "message", None), _CERTIFICATES)]

    return repeat_alone


@_mutant((simplex.Simplex, "_time_out"), kills=("consensus",), on_all=True)
def leader_that_gave_up_is_waited_for(time_out: Any) -> Any:
    """A validator waits for a leader that has said that it gives its view up."""

    def time_out_otherwise(self: Any, reason: Any) -> None:
        if reason is not TimeoutReason.LEADER_NULLIFY:
            time_out(self, reason)

    return time_out_otherwise


@_mutant(
    (simplex.Simplex, "_adopt_floor"),
    kills=("certificates",),
    on_all=True,
    needs=(SIMPLEX, SLOW_JOIN, "sync.snapshot_gap_blocks=4"),
)
def joiner_without_floor(_original: Any) -> Any:
    """Consensus does not learn the finality of the snapshot that its validator joined from."""
    return lambda _self, _finality: None


@_mutant((simplex, "repeat_nullify"), kills=("finality-regained",), on_all=True)
def cries_once(_original: Any) -> Any:
    """A validator that gives a view up says so once and never again."""
    return lambda _views, _config: []


@_mutant((Screen, "_is_vote_wanted"), kills=("consensus",), on_all=True, needs=(SIMPLEX,))
def votes_of_the_next_view_passed_over(is_wanted: Any) -> Any:
    """A vote for the view after the own one is of no use to a validator."""
    return lambda self, vote: view_of(vote) <= self._views.current and is_wanted(self, vote)
