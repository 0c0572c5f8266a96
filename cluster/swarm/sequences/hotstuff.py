"""Fault sequences about rules of HotStuff that no other draw reaches; in Simplex' terms, as in all draws."""

from collections.abc import Callable
from typing import Final

from cluster.swarm.sequences.sequence import FaultSequence, away, crash_as_it_leaves, drop, renamed
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from faults.kinds.simplex_messages import LEAVING, VOTES
from network.draw import Draw
from validators.messages import BlockRelay, BlockResponse

_SPAN: Final[Plain] = {"start_ms": FAULTS_FROM_MS, "stop_ms": FAULTS_UNTIL_MS}

_EARLY: Final = (4, 6)
_LATE: Final = (9, 11)
"""The first and the last view from which a sequence picks its views; late views follow another sequence."""


def _votes_of_a_left_view(draw: Draw, validators: int, views: tuple[int, int] = _EARLY) -> FaultSequence:
    """The votes of some views come late: their next leader has the quorum only after entering by timeouts."""
    first = draw.between("late-view-votes.view", *views)
    last = first + draw.between("late-view-votes.more", 0, 2)
    late: Plain = {"kind": "rule", "action": "delay", "kinds": [*VOTES], "views": [[first, last]]}
    # The waits are 2.1 to 5 s long; the votes come a little before their end, or after it.
    faults = {
        "late-view-votes": {**late, "delay_ms": draw.one_of("late-view-votes.delay_ms", (2_000, 3_100, 5_100)), **_SPAN}
    }
    if draw.chance("late-view-votes.is_for_one", 50):
        faults["late-view-votes"]["to"] = [(first + 1) % validators]
    return FaultSequence(faults)


def _votes_kept_over_crashes(draw: Draw, validators: int) -> FaultSequence:
    """Some validators lose power again and again when their vote is on the disk and has not left."""
    faults: dict[str, Plain] = {}
    for place, node in enumerate(draw.some_of("durable-votes.validators", range(validators), 2)):
        start_ms = draw.between(f"durable-votes.{place}.start_ms", 8_000, 9_500)
        faults[f"durable-vote-{place}"] = {
            "kind": "crash-at-boundary",
            "validator": node,
            "boundary": "after-sync",
            "every": draw.between(f"durable-votes.{place}.every", 2, 6),
            "restart_after_ms": draw.one_of(f"durable-votes.{place}.down_ms", (80, 300, 1_500)),
            "start_ms": start_ms,
            "stop_ms": 15_000,
        }
    return FaultSequence(faults)


def _far_block(draw: Draw, validators: int, from_ms: int = FAULTS_FROM_MS) -> FaultSequence:
    """One validator misses more views than peers keep, and catches up by a block of a view far ahead."""
    node = draw.between("far-ahead-block.validator", 0, validators - 1)
    start_ms = from_ms + draw.between("far-ahead-block.start_ms", 0, 1_500)
    stop_ms = start_ms + draw.between("far-ahead-block.for_ms", 2_000, 3_500)
    lost = {**drop([*LEAVING], to=[node]), "start_ms": start_ms, "stop_ms": stop_ms + 2_500}
    absent = {**away(node, validators), "start_ms": start_ms, "stop_ms": stop_ms}
    kept = draw.between("far-ahead-block.view_retention", 1, 2)
    return FaultSequence({"far-ahead-block": absent, "lost-timeouts": lost}, {"consensus": {"view_retention": kept}})


def _timeouts_for_some(draw: Draw, validators: int, views: tuple[int, int] = _EARLY) -> FaultSequence:
    """No validator hears a leader, and the messages that leave its view reach some validators much later."""
    view = draw.between("partial-timeouts.view", *views)
    unheard = {**drop([BlockRelay.traced_name, *VOTES], [view % validators]), "views": [[view, view]], **_SPAN}
    some = sorted(draw.some_of("partial-timeouts.to", range(validators), draw.between("partial-timeouts.count", 1, 2)))
    late: Plain = {"kind": "rule", "action": "delay", "kinds": [*LEAVING], "views": [[view, view + 1]], "to": some}
    # The leader of the view above is unheard: two waits, the second twice as long.
    delay_ms = draw.one_of("partial-timeouts.delay_ms", (400, 2_500, 5_500))
    faults = {"lost-proposals": unheard, "late-timeouts": {**late, "delay_ms": delay_ms, **_SPAN}}
    leaving = draw.between("partial-timeouts.leaving", 0, validators - 1)
    return FaultSequence({**faults, "leaving": crash_as_it_leaves(draw, "partial-timeouts", leaving, 1_500 * view)})


def _hidden_chain(draw: Draw, validators: int) -> FaultSequence:
    """One validator gets a block late, when a view above it was skipped: a chain below the highest block is final."""
    # The first of two views of one leader, so that another leader has the view after the next.
    view = 2 * draw.between("late-chain.leader_term", 2, 3)
    # Not the leaders of these views: a missing leader would be noticed.
    node = (view // 2 + draw.between("late-chain.place", 2, validators - 2)) % validators
    missed = view - draw.between("late-chain.below", 0, 1)
    unheard = drop([BlockRelay.traced_name, *VOTES], [(view // 2 + 1) % validators])
    answer: Plain = {"kind": "rule", "action": "delay", "kinds": [BlockResponse.traced_name], "to": [node]}
    # The leader of the view above is unheard: two waits, the second twice as long.
    delay_ms = draw.between("late-chain.delay_ms", 7_400, 8_200)
    return FaultSequence(
        {
            "late-chain": {**drop([BlockRelay.traced_name], to=[node]), "views": [[missed, missed]], **_SPAN},
            "skipped": {**unheard, "views": [[view + 2, view + 2]], **_SPAN},
            "late-answer": {**answer, "delay_ms": delay_ms, **_SPAN},
        },
        {"consensus": {"certification_timeout_ms": 2_100}},
    )


def _hidden_certificates(draw: Draw, validators: int) -> FaultSequence:
    """One leader builds below certified blocks, as if it knew no certificate of them: locks are in its way."""
    hiding: Plain = {"kind": "byzantine", "behaviour": "hide-certificate", **_SPAN}
    node = draw.between("hidden-certificates.validator", 0, validators - 1)
    # Only three-chain has locks.
    return FaultSequence(
        {"hidden-certificates": {**hiding, "validator": node}},
        {"consensus": {"hotstuff": {"profile": "three-chain"}}},
    )


def _votes_of_a_left_view_later(draw: Draw, validators: int) -> FaultSequence:
    """The votes of some later views come late."""
    return renamed(_votes_of_a_left_view(draw, validators, _LATE), "later")


def _timeouts_for_some_later(draw: Draw, validators: int) -> FaultSequence:
    """No validator hears the leader of a later view, and the messages that leave it reach some much later."""
    return renamed(_timeouts_for_some(draw, validators, _LATE), "later")


def _far_block_later(draw: Draw, validators: int) -> FaultSequence:
    """One validator misses more views than peers keep, in the second half of the run."""
    return renamed(_far_block(draw, validators, 8_500), "later")


HOTSTUFF_SEQUENCES: Final[tuple[Callable[[Draw, int], FaultSequence], ...]] = (
    _votes_of_a_left_view,
    _far_block,
    _timeouts_for_some,
    _hidden_chain,
    _hidden_certificates,
)
"""All sequences of this file, in rotation."""

LATER_HOTSTUFF_SEQUENCES: Final[tuple[Callable[[Draw, int], FaultSequence], ...]] = (
    _votes_kept_over_crashes,
    _votes_of_a_left_view_later,
    _timeouts_for_some_later,
    _far_block_later,
)
"""Sequences that come after another sequence in the same run."""
