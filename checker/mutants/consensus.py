"""Variants of consensus: what makes a quorum, what may be voted, what a restart remembers, when a view is given up."""

from typing import Any, Final

from checker.mutants.mutant import Swap, Variant, swap
from validators.consensus.simplex import Nullification, certificates, recovery, views
from validators.consensus.simplex import engine as simplex
from validators.consensus.simplex.rounds import Certified, Round

POWER_CUTS: Final = (
    "faults={"
    'first={kind="blackout", validators=[0, 1, 2, 3], at_ms=4_120, restart_ms=4_320},'
    'second={kind="blackout", validators=[3, 2, 1, 0], at_ms=7_330, restart_ms=7_540},'
    'third={kind="blackout", validators=[1, 3, 0, 2], at_ms=10_440, restart_ms=10_660},'
    'fourth={kind="blackout", validators=[2, 0, 3, 1], at_ms=13_550, restart_ms=13_780}}'
)
"""Four short losses of power, each in another part of a view."""


SLOW_JOIN: Final = (
    "faults={"
    'down={kind="crash", validator=3, at_ms=3_000, restart_ms=20_000},'
    'slow={kind="rule", action="delay", kinds=["SnapshotRequest", "SnapshotOffer", "SnapshotChunk"],'
    " delay_ms=450, stop_ms=30_000},"
    'deaf={kind="rule", action="drop", kinds=["Finalize", "Finalization"], to=[3], start_ms=20_100, stop_ms=30_000}}'
)
"""A validator joins from a snapshot of a view whose finality reaches it by no other way."""


def _quorum_of(count: Any) -> list[Swap]:
    def quorum_of(validators: int) -> int:
        return int(count(validators))

    return [(simplex, "quorum_of", quorum_of), (certificates, "quorum_of", quorum_of)]


def _smaller_quorum() -> list[Swap]:
    return _quorum_of(lambda validators: validators - (validators - 1) // 3 - 1)


def _majority() -> list[Swap]:
    return _quorum_of(lambda validators: validators // 2 + 1)


def _shifted_signers() -> list[Swap]:
    def make(encode_signers: Any) -> Any:
        def encode_shifted(signers: Any, validators: int) -> Any:
            return encode_signers(((signer + 1) % validators for signer in signers), validators)

        return encode_shifted

    return [swap(certificates, "encode_signers", make)]


def _finalize_whatever() -> list[Swap]:
    def may_finalize(self: Any) -> bool:
        return self.own_finalize is None and self.certified is Certified.PASSED

    return [(Round, "may_finalize", may_finalize)]


def _start_afresh() -> list[Swap]:
    def make(replay: Any) -> Any:
        def replay_and_forget(self: Any, *journal: Any) -> None:
            replay(self, *journal)
            self._is_restarted = False

        return replay_and_forget

    return [
        (recovery, "_restore_vote", lambda _kept, _vote, _me: None),
        swap(simplex.Simplex, "replay", make),
    ]


def _forget_nullifications() -> list[Swap]:
    def make(restore_one: Any) -> Any:
        def restore_others(kept: Any, artifact: Any, me: Any) -> None:
            if not isinstance(artifact, Nullification):
                restore_one(kept, artifact, me)

        return restore_others

    return [swap(recovery, "_restore_one", make)]


def _wait_for_ever() -> list[Swap]:
    return [(simplex, "arm_timers", lambda _entered, _config: [])]


def _learn_no_floor() -> list[Swap]:
    return [(simplex.Simplex, "adopt_floor", lambda _self, _finality: [])]


def _cry_once() -> list[Swap]:
    return [(simplex, "say_again", lambda _views, _config: [])]


def _turns_of(leader_of: Any) -> list[Swap]:
    return [(module, "leader_of", leader_of) for module in (simplex, views)]


def _turns_of_two() -> list[Swap]:
    return _turns_of(lambda view, validators: view // 2 % validators)


CONSENSUS: Final = (
    Variant(
        name="leader-for-two-views",
        what="a leader has two views in a row before the next one has its turn",
        area="consensus",
        caught_by=("leaders",),
        swaps=_turns_of_two,
        on_all=True,
    ),
    Variant(
        name="certificate-below-quorum",
        what="one vote too few makes a certificate",
        area="consensus",
        caught_by=("certificates",),
        swaps=_smaller_quorum,
    ),
    Variant(
        name="quorum-by-majority",
        what="a quorum is more than half and not two thirds",
        area="consensus",
        caught_by=("certificates",),
        swaps=_majority,
        on_all=True,
    ),
    Variant(
        name="signers-shifted",
        what="the bitmap of a certificate names each signer's successor",
        area="consensus",
        caught_by=("certificates",),
        swaps=_shifted_signers,
    ),
    Variant(
        name="finalizes-what-it-nullified",
        what="a validator that nullified a view finalizes it when its block is certified after all",
        area="consensus",
        caught_by=("no-double-vote",),
        swaps=_finalize_whatever,
    ),
    Variant(
        name="restarted-leader-proposes-again",
        what="a restarted validator does not count the votes in its journal as its own, and proposes once more",
        area="consensus",
        caught_by=("no-double-vote",),
        swaps=_start_afresh,
        on_all=True,
        needs=(POWER_CUTS,),
    ),
    Variant(
        name="restart-without-nullifications",
        what="a restarted validator does not know the nullifications of its journal",
        area="consensus",
        caught_by=("write-ahead",),
        swaps=_forget_nullifications,
        on_all=True,
    ),
    Variant(
        name="waits-for-ever",
        what="a view has no timeout",
        area="consensus",
        caught_by=("finality-regained",),
        swaps=_wait_for_ever,
        on_all=True,
    ),
    Variant(
        name="joiner-without-floor",
        what="consensus does not learn the finality of the snapshot that its validator joined from",
        area="consensus",
        caught_by=("certificates",),
        swaps=_learn_no_floor,
        on_all=True,
        needs=(SLOW_JOIN, "sync.snapshot_gap_blocks=4"),
    ),
    Variant(
        name="cries-once",
        what="a validator that gives a view up says so once and never again",
        area="consensus",
        caught_by=("finality-regained",),
        swaps=_cry_once,
        on_all=True,
    ),
)
"""Variants of consensus."""
