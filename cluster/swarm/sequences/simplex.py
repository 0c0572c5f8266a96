"""Fault sequences about Simplex rules that no other draw reaches: late entry into a view, or an early exit from it.

Most are about one view, whose messages are lost or late for some validators alone. So two of them go into one run, one
after the other.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from cluster.swarm.sequences.guards import LATE_VOTES_MS
from cluster.swarm.sequences.sequence import FaultSequence, crash_as_it_leaves, drop, renamed
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from faults.kinds.simplex_messages import ANSWERS, CERTIFIED, FINALITY, LEAVING, LEAVING_VOTES, VOTES
from network.draw import Draw
from validators.consensus.quorum import faults_of
from validators.messages import BlockRelay, BlockResponse

_SPAN: Final[Plain] = {"start_ms": FAULTS_FROM_MS, "stop_ms": FAULTS_UNTIL_MS}


class _Views(NamedTuple):
    """The views from which a sequence picks the view that it targets."""

    first: int
    last: int


_EARLY: Final = _Views(3, 5)
_LATE: Final = _Views(8, 9)
"""Views of the second of two sequences, when the first is over and faults still begin."""

_NEXT_WAIT_MS: Final = (3_300, 4_200, 5_200)
"""Delays above the wait of the validator that enters the next view early."""


def _late(kinds: tuple[str, ...], view: int, delay_ms: int, to: list[int]) -> Plain:
    """Return a delay of the messages about one view to some validators."""
    late: Plain = {"kind": "rule", "action": "delay", "kinds": [*kinds], "views": [[view, view]], "to": to}
    return {**late, "delay_ms": delay_ms, **_SPAN}


def _others(node: int, validators: int) -> list[int]:
    return [other for other in range(validators) if other != node]


def _unheard(view: int, validators: int) -> Plain:
    """Return the loss of a leader's messages of its view: a vote names the block, and its receivers ask for it."""
    return {**drop([BlockRelay.traced_name, *VOTES], [view % validators]), "views": [[view, view]], **_SPAN}


def _early_leader(draw: Draw, validators: int, views: _Views = _EARLY) -> FaultSequence:
    """A leader enters its view alone, and gives it up before its peers hear that the previous view is left."""
    view = draw.between("early-leader.view", *views)
    others = _others((view + 1) % validators, validators)
    unheard = _unheard(view, validators)
    delay_ms = draw.one_of("early-leader.delay_ms", _NEXT_WAIT_MS)
    return FaultSequence({"lost-proposals": unheard, "late-leaving": _late(LEAVING, view, delay_ms, others)})


def _late_certification(draw: Draw, validators: int, views: _Views = _EARLY) -> FaultSequence:
    """One validator has the votes for a block but not the block, and gets it after its peers have left the view."""
    view = draw.between("late-block.view", *views)
    # Not the leader, which has its block.
    node = (view + draw.between("late-block.place", 1, validators - 1)) % validators
    others = _others(node, validators)
    before = (*LEAVING, *CERTIFIED, *FINALITY, *VOTES)
    late = _late((*VOTES, *CERTIFIED), view, draw.one_of("late-block.votes_ms", LATE_VOTES_MS), others)
    lost = {**drop([BlockRelay.traced_name], to=[node]), "views": [[view, view]], **_SPAN}
    answer: Plain = {"kind": "rule", "action": "delay", "kinds": [BlockResponse.traced_name], "to": [node]}
    return FaultSequence(
        {
            # It enters the view later than its peers, so that it does not give it up before they do.
            "late-entry": _late(before, view - 1, draw.between("late-block.entry_ms", 700, 1_100), [node]),
            "late-votes": {**late, "from": [each for each in range(validators) if each != view % validators]},
            # A leader's own nullify would make it give the view up at once.
            "lost-nullify": {**drop([*LEAVING_VOTES], [view % validators], [node]), "views": [[view, view]], **_SPAN},
            "lost-block": lost,
            # Final views are closed.
            "late-finality": {**_late(FINALITY, view + 1, 2_500, [node]), "views": [[view + 1, view + 3]]},
            "late-block": {**answer, "delay_ms": draw.between("late-block.block_ms", 1_950, 2_600), **_SPAN},
        }
    )


def _left_by_the_others(draw: Draw, validators: int) -> FaultSequence:
    """One validator certifies a block and its peers leave the view: it learns of that when the next leader builds."""
    view = draw.between("lone-certification.view", *_LATE)
    leader = view % validators
    # Neither leader is: the second leader builds as a validator that has left.
    node = (view + draw.between("lone-certification.place", 2, validators - 1)) % validators
    voters = [each for each in range(validators) if each != leader]
    of_view: Plain = {"views": [[view, view]], **_SPAN}
    late: Plain = {"kind": "rule", "action": "delay", "kinds": [*VOTES], "from": voters, "to": [node]}
    return FaultSequence(
        {
            "lone-certification": {**drop([*VOTES], voters, _others(node, validators)), **of_view},
            "own-certificate": {**drop([*CERTIFIED], [node]), **of_view},
            # Late enough that its wait for the next leader has not ended when its peers come to that view.
            "late-votes-for-one": {
                **late,
                "delay_ms": draw.between("lone-certification.votes_ms", 900, 1_700),
                **of_view,
            },
            "lost-view-end": {**drop([*LEAVING], to=[node]), **of_view},
        }
    )


def _asked_of_a_standstill(draw: Draw, validators: int) -> FaultSequence:
    """One validator misses how views ended; its peers stay at the first missed view's finality until it has asked."""
    node, view = (
        draw.between("stalled-finality.validator", 0, validators - 1),
        draw.between("stalled-finality.view", 4, 7),
    )
    last = view + draw.between("stalled-finality.more", 0, 2)
    missed = {**drop([*VOTES, *CERTIFIED, *FINALITY], to=[node]), "views": [[view, last]], **_SPAN}
    stop_ms = draw.between("stalled-finality.stop_ms", 10_000, 13_000)
    held: Plain = {"kind": "rule", "action": "hold", "kinds": [*FINALITY], "views": [[view + 1, view + 40]]}
    return FaultSequence({"missed": missed, "no-finality": {**held, "start_ms": FAULTS_FROM_MS, "stop_ms": stop_ms}})


def _restart_in_a_view(draw: Draw, validators: int) -> FaultSequence:
    """No validator has a quorum, and a validator that has just voted loses power briefly; the view stays the same."""
    order = draw.some_of("crash-after-vote.order", range(validators), validators)
    middle = validators // 2
    start_ms = draw.between("crash-after-vote.start_ms", 8_000, 9_500)
    faults: dict[str, Plain] = {
        "no-quorum": {
            "kind": "partition",
            "groups": [sorted(order[:middle]), sorted(order[middle:])],
            "start_ms": start_ms,
            "stop_ms": start_ms + draw.between("crash-after-vote.for_ms", 2_000, 5_000),
        }
    }
    for place, node in enumerate((order[0], order[middle])):
        faults[f"brief-crash-{place}"] = {
            "kind": "crash-at-boundary",
            "validator": node,
            "boundary": draw.one_of(f"crash-after-vote.{place}.boundary", ("after-sync", "after-sync", "after-send")),
            "occurrence": draw.between(f"crash-after-vote.{place}.occurrence", 1, 2),
            "restart_after_ms": draw.between(f"crash-after-vote.{place}.down_ms", 50, 400),
            "start_ms": start_ms,
            "stop_ms": start_ms + 4_000,
        }
    return FaultSequence(faults, {"consensus": {"certification_timeout_ms": 4_500, "skip_timeout_ms": 12_000}})


def _left_without_knowing(draw: Draw, validators: int) -> FaultSequence:
    """Two views are left; some validators hear only of the second, nothing new, and no answer from any peer."""
    view = draw.between("missed-view-ends.view", *_EARLY)
    # The other validators are a quorum without them.
    behind = draw.some_of("missed-view-ends.validators", range(validators), faults_of(validators))
    others = [node for node in range(validators) if node not in behind]
    leaders = [view % validators, (view + 1) % validators]
    unheard = {**drop([BlockRelay.traced_name, *VOTES], leaders), "views": [[view, view + 1]], **_SPAN}
    missed = {**drop([*LEAVING], to=behind), "views": [[view, view]], **_SPAN}
    stop_ms = draw.between("missed-view-ends.stop_ms", 10_000, 12_500)
    unanswered = {**drop([*ANSWERS], others, behind), "start_ms": FAULTS_FROM_MS, "stop_ms": stop_ms}
    # A later certified or final block would make it needless to know how they ended.
    news = {**drop([*VOTES, *CERTIFIED, *FINALITY], to=behind), "views": [[view + 2, view + 30]]}
    return FaultSequence(
        {
            "missed-view-ends": unheard,
            "missed-end": missed,
            "unanswered-requests": unanswered,
            "no-news": {**news, "start_ms": FAULTS_FROM_MS, "stop_ms": stop_ms},
            "leaving": crash_as_it_leaves(draw, "missed-view-ends", others[-1], 9_000),
        }
    )


def _slow_builder(draw: Draw, validators: int) -> FaultSequence:
    """One validator builds, verifies and certifies for so long that its views are over when it is done."""
    node = draw.between("slow-builder.validator", 0, validators - 1)
    factor = draw.one_of("slow-builder.factor", (20, 45, 90))
    start_ms = draw.between("slow-builder.start_ms", 8_000, 9_500)
    stop_ms = draw.between("slow-builder.stop_ms", start_ms + 5_000, FAULTS_UNTIL_MS)
    slow: Plain = {"kind": "slow", "validator": node, "factor": factor, "start_ms": start_ms, "stop_ms": stop_ms}
    return FaultSequence({"slow-builder": slow}, {"costs": {"block_us": 80_000}})


def _dark_votes(draw: Draw, validators: int) -> FaultSequence:
    """All validators lose power with unsent votes for one block on their disks, and some stay off.

    The returning validators are exactly a quorum: each needs its own vote, which only its journal has.
    """
    view = draw.between("unsent-votes.view", 3, 5)
    leader = view % validators
    others = draw.some_of("unsent-votes.order", _others(leader, validators), validators - 1)
    off, voters = others[: faults_of(validators)], others[faults_of(validators) :]
    anchor: Plain = {"event": "view", "of": voters[0], "nth": view, "from_ms": 0, "by_ms": 6_500}
    # The leader builds a second after the previous block, and gives its peers two seconds before they leave.
    at_ms = draw.between("unsent-votes.at_ms", 1_500, 2_200)
    unheard = {**drop([*VOTES], _others(leader, validators)), "views": [[view, view]]}
    dark: Plain = {"kind": "blackout", "at_ms": at_ms, "anchor": anchor}
    back_ms = at_ms + draw.between("unsent-votes.down_ms", 150, 500)
    return FaultSequence(
        {
            "unsent-votes": {**unheard, "start_ms": 0, "stop_ms": at_ms + 100, "anchor": anchor},
            "power-loss": {**dark, "validators": sorted([leader, *voters]), "restart_ms": back_ms},
            "long-power-loss": {
                **dark,
                "validators": sorted(off),
                "restart_ms": at_ms + draw.between("unsent-votes.off_ms", 2_500, 4_500),
            },
        }
    )


def _early_leader_later(draw: Draw, validators: int) -> FaultSequence:
    """An early leader of a later view."""
    return renamed(_early_leader(draw, validators, _LATE), "later")


def _late_certification_later(draw: Draw, validators: int) -> FaultSequence:
    """A late certification in a later view."""
    return renamed(_late_certification(draw, validators, _LATE), "later")


SIMPLEX_SEQUENCES: Final[tuple[Callable[[Draw, int], FaultSequence], ...]] = (
    _early_leader,
    _late_certification,
    _asked_of_a_standstill,
    _left_without_knowing,
    _dark_votes,
)
"""All sequences of this file, in rotation."""

LATER_SIMPLEX_SEQUENCES: Final[tuple[Callable[[Draw, int], FaultSequence], ...]] = (
    _left_by_the_others,
    _early_leader_later,
    _late_certification_later,
    _restart_in_a_view,
    _slow_builder,
)
"""Sequences that come after another sequence in the same run."""
