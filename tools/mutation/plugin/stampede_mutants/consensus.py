"""Mutants of Simplex, and of what every engine asks of its validator: quorums, votes, restarts, headers and clocks."""

import sys
from dataclasses import replace
from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from network.port import Port
from validators.application import Application
from validators.consensus.interface import Built
from validators.consensus.simplex import certificates, recovery
from validators.consensus.simplex import engine as simplex
from validators.consensus.simplex.views import Views
from validators.header_rules import HeaderRules

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

SLOW_JOIN: Final = (
    "faults={"
    'down={kind="crash", validator=3, at_ms=3_000, restart_ms=20_000},'
    'slow={kind="rule", action="delay", kinds=["SnapshotRequest", "SnapshotOffer", "SnapshotChunk"],'
    " delay_ms=450, stop_ms=30_000},"
    'deaf={kind="rule", action="drop", kinds=["Finalize", "Finalization"], to=[3], start_ms=20_100, stop_ms=30_000}}'
)
"""A validator joins from a snapshot of a view whose finality reaches it by no other way."""

CUT: Final = 'faults={split={kind="partition", groups=[[0, 1], [2, 3]], start_ms=3_000, stop_ms=12_400}}'
"""Neither half has a quorum; under the longest chain both build branches of equal lengths."""

PRUNED_SOON: Final = "consensus.view_retention=2"
"""The journal is pruned for the first time when view 5 is final."""

CALM: Final = "faults={}"
"""A run in which every view that is left shows: nothing else costs one."""

AHEAD: Final = 'faults={ahead={start_ms=4_000, stop_ms=16_000, kind="clock-offset", validators=[0], offset_ms=20_000}}'
"""One clock that is ahead by more than anybody should let pass."""


def beside(behaviour: str, what: str) -> tuple[str, ...]:
    """Return the settings of a plan in which validator 0 lies in one way for most of the run."""
    span = "start_ms=2_500, stop_ms=15_000"
    forger = f'faults={{forger={{kind="byzantine", validator=0, behaviour="{behaviour}", what="{what}", {span}}}}}'
    return (SIMPLEX, forger)


@_mutant((certificates, "encode_signers"), kills=("certificates",))
def signers_shifted(encode_signers: Any) -> Any:
    """The bitmap of a certificate names each signer's successor."""

    def encode_shifted(signers: Any, validators: int) -> Any:
        return encode_signers(((signer + 1) % validators for signer in signers), validators)

    return encode_shifted


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


@_mutant(
    (simplex.Simplex, "_adopt_floor"),
    kills=("certificates",),
    on_all=True,
    needs=(SIMPLEX, SLOW_JOIN, "sync.snapshot_gap_blocks=4"),
)
def joiner_without_floor(_original: Any) -> Any:
    """Consensus does not learn the finality of the snapshot that its validator joined from."""
    return lambda _self, _finality: None


@_mutant((simplex, "repeat_nullify"), kills=("consensus",), on_all=True, needs=(SIMPLEX, CUT))
def cries_once(_original: Any) -> Any:
    """A validator that gives a view up says so once and never again."""
    return lambda _views, _config: []


@_mutant(
    (HeaderRules, "is_of_view"),
    kills=("leaders", "certificates"),
    on_all=True,
    needs=beside("forge-header", "view"),
)
def views_of_headers_unread(_original: Any) -> Any:
    """A block may be of another view than its proposal says."""
    return lambda _self, _header, _view: True


@_mutant(
    (HeaderRules, "find_fault"),
    kills=("leaders",),
    on_all=True,
    needs=beside("skip-view", "hidden"),
)
def parents_of_headers_unread(find_fault: Any) -> Any:
    """A block may have another parent than its proposal says."""

    def find_others(self: Any, goal: Any, header: Any) -> Any:
        return find_fault(self, replace(goal, parent=header.parent), header)

    return find_others


@_mutant((Application, "pace"), kills=("undisturbed-views",), needs=(CALM,))
def leader_passes_every_third_turn(pace: Any) -> Any:
    """A leader proposes nothing in one of three of its views."""

    def pace_or_pass(self: Any, view: int) -> None:
        if self._proposing is not None and self._proposing.view == view and view // self._settings.validators % 3 == 2:
            self._proposing = None
            self._answers.answer(Built(view, None))
        else:
            pace(self, view)

    return pace_or_pass


@_mutant((Views, "finalize"), kills=("derived",), needs=(PRUNED_SOON,))
def rounds_are_never_dropped(finalize: Any) -> Any:
    """Views far below the finalized one are kept for ever."""

    def finalize_and_keep(self: Any, finalization: Any) -> None:
        rounds = self._rounds
        finalize(self, finalization)
        self._rounds = rounds

    return finalize_and_keep


@_mutant((HeaderRules, "find_fault"), kills=("block-times",), on_all=True, needs=(AHEAD,))
def skew_unchecked(find_fault: Any) -> Any:
    """A validator notarizes a block however far it is ahead of its own clock."""

    def find_fault_at_any_time(self: Any, goal: Any, header: Any) -> Any:
        kept = self._settings
        self._settings = replace(kept, max_skew_ms=sys.maxsize)
        found = find_fault(self, goal, header)
        self._settings = kept
        return found

    return find_fault_at_any_time


@_mutant((Port, "wall_us"), kills=("faults-effective",), on_all=True, needs=(AHEAD,))
def wall_clock_never_asked(_original: Any) -> Any:
    """No validator reads its wall clock: a fault of clocks has no effect."""
    return property(lambda self: self._kernel.now_us)
