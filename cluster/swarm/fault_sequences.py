"""Faults without effect alone, drawn together: the correlated fault sequences of a drawn scenario.

A bad disk matters to a validator that reads it, so this validator has to restart. A repair from the next peer needs a
first peer that does not answer. A forgotten vote needs two losses of power. Such faults hardly ever meet when each is
drawn alone. A sequence is a few related faults, and the settings that they need.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.sequences.catching_up import LAG_SEQUENCES
from cluster.swarm.sequences.disks import DISK_SEQUENCES, FAULTY_DISK_SEQUENCES, disk_refusals
from cluster.swarm.sequences.guards import GUARD_SEQUENCES
from cluster.swarm.sequences.sequence import FaultSequence, away, crash, drop
from cluster.swarm.sequences.successive import TURN_SEQUENCES
from cluster.swarm.sequences.view_messages import picked_views
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from faults.kinds.simplex_messages import ANSWERS, CERTIFIED, LEAVING, VOTES
from network.draw import Draw
from validators.consensus.quorum import faults_of

SMALL_CHUNK_BYTES: Final = 12_000
"""A snapshot in pieces of this length has several pieces."""

_ANSWERS: Final = ("SnapshotOffer", "BlockResponse")

_Makers: TypeAlias = Sequence[Callable[[Draw, int], FaultSequence]]


def draw_fault_sequence(stratum: Draw, validators: int, engine: DrawnEngine) -> FaultSequence:
    """Return the seed's sequence, without faults that the engine does not have.

    Args:
        stratum: The seed's stratified draw among the seeds of its engine. A few dozen seeds use each list at its share,
            and each sequence of a list.
        validators: The number of validators.
        engine: Their engine.
    """
    return _draw_of(stratum, validators, engine, subject="correlated-faults", strata=_STRATA)


def draw_own(stratum: Draw, validators: int, engine: DrawnEngine) -> Iterator[FaultSequence]:
    """Yield two sequences of the engine's own, the second after the first, beside any other sequence.

    Every seed has them. An engine has only about 12 of 40 seeds; with one sequence a seed, no seed might meet the bug
    that the sequence is for.
    """
    yield _draw_own(stratum, validators, engine, name="own")
    yield _draw_own(stratum, validators, engine, name="later")


def draw_beside(stratum: Draw, validators: int, engine: DrawnEngine) -> FaultSequence:
    """Return faults that go with any sequence, because they target single views; some seeds get none."""
    return _draw_of(stratum, validators, engine, subject="additional", strata=_ADDITIONAL_STRATA)


def _draw_of(
    stratum: Draw, validators: int, engine: DrawnEngine, *, subject: str, strata: Sequence[str]
) -> FaultSequence:
    # Under the engine's own name: else each engine would get the same sequence in the same round.
    key = f"{subject}.{engine.name}"
    name = stratum.stratified(key, strata)
    if name == "own":
        # Only the sequence that the seed has in any case.
        return _draw_own(stratum, validators, engine, name="own")
    own = stratum.stratum(key, strata)
    return _draw_one(own, validators, engine, key=f"{key}.{name}", makers=_LISTS[name])


def _draw_own(stratum: Draw, validators: int, engine: DrawnEngine, *, name: str) -> FaultSequence:
    makers = engine.sequences if name == "own" else engine.later
    return _draw_one(stratum, validators, engine, key=f"{name}.{engine.name}", makers=makers)


def _draw_one(stratum: Draw, validators: int, engine: DrawnEngine, *, key: str, makers: _Makers) -> FaultSequence:
    if not makers:
        return FaultSequence({})
    sequence = stratum.one_of(key, makers)(stratum, validators)
    admitted = {name: engine.in_own_words(each) for name, each in sequence.faults.items() if engine.admits(each)}
    return FaultSequence(admitted, engine.settings(sequence.settings))


def _absent_leader(draw: Draw, validators: int) -> FaultSequence:
    """One leader or every leader is away, and views are nullified; meanwhile other validators lose power briefly."""
    absent, *others = draw.some_of("absent-leader.order", range(validators), validators)
    faults: dict[str, Plain] = {"absent-leader": crash(absent, 3_000, 12_500)}
    if draw.chance("absent-leader.is_every", 60):
        faults["absent-leader"] = {"kind": "isolate-leader", "start_ms": 3_000, "stop_ms": 12_500}
    for place, node in enumerate(others[:3]):
        at_ms = 4_500 + 3_300 * place + draw.between(f"absent-leader.{place}.at_ms", 0, 2_500)
        faults[f"brief-crash-{place}"] = crash(node, at_ms, 300)
    if draw.chance("absent-leader.is_unanswered", 60):
        faults["lost-answers"] = {**drop([*ANSWERS]), "start_ms": 3_000, "stop_ms": 13_000}
    return FaultSequence(faults)


def _far_behind(draw: Draw, validators: int) -> FaultSequence:
    """One validator misses many blocks, and the first peers that it asks do not answer, or answer badly."""
    node = draw.between("lagging-validator.validator", 0, validators - 1)
    start_ms = draw.between("lagging-validator.start_ms", 2_000, 3_500)
    back_ms = draw.between("lagging-validator.back_ms", 8_500, 10_500)
    kinds = draw.one_of(
        "lagging-validator.kinds", (["SnapshotOffer"], ["SnapshotChunk"], ["BlockResponse"], [*_ANSWERS])
    )
    absent = {**away(node, validators), "start_ms": start_ms, "stop_ms": back_ms}
    is_lied_to = draw.chance("lagging-validator.is_served_forgeries", 55)
    # Beside a wiped disk a Byzantine validator would be one fault too many.
    if not is_lied_to and draw.chance("lagging-validator.is_wiped", 40):
        absent = {"kind": "wipe", "validator": node, "at_ms": start_ms + 3_000, "restart_ms": back_ms}
    silent = [
        (node + 1) % validators,
        *([(node + 2) % validators] if draw.chance("lagging-validator.is_two", 50) else []),
    ]
    others = [other for other in range(validators) if other != node]
    faults: dict[str, Plain] = {
        "lagging-validator": absent,
        "lost-answers": {**drop(kinds, silent, [node]), "start_ms": 2_000, "stop_ms": 15_000},
    }
    if draw.chance("lagging-validator.is_noisy", 40):
        faults["corruption"] = {
            "kind": "links",
            "between": [[node, other] for other in others],
            "corrupt_ppm": 150_000,
            "start_ms": 2_000,
            "stop_ms": 14_000,
        }
    gap = draw.one_of("lagging-validator.snapshot_gap_blocks", (2, 3, 256))
    if is_lied_to:
        # The first peer that it asks for a snapshot serves a forged snapshot.
        span: Plain = {"start_ms": 2_000, "stop_ms": 15_500}
        del faults["lost-answers"]
        forging = draw.one_of("lagging-validator.behaviour", ("forge-answers", "forge-snapshot"))
        faults["forger"] = {"kind": "byzantine", "validator": silent[0], "behaviour": forging, **span}
        gap = min(gap, 3)
    return FaultSequence(faults, {"sync": {"snapshot_gap_blocks": gap, "chunk_bytes": SMALL_CHUNK_BYTES}})


def _lost_certificates(draw: Draw, validators: int) -> FaultSequence:
    """A leader is away, and one validator misses its views' nullifications and each first answer to its requests."""
    node, absent = draw.some_of("lost-certificates.order", range(validators), 2)
    silent = [other for other in range(validators) if other not in {node, absent}][:1]
    lost = draw.one_of("lost-certificates.kinds", ([*LEAVING], [*LEAVING, *VOTES], [*CERTIFIED]))
    return FaultSequence(
        {
            "absent": crash(absent, 2_500, 10_000),
            "lost": {**drop(lost, to=[node]), "start_ms": 3_000, "stop_ms": 9_000},
            "lost-answers": {**drop([*ANSWERS], silent, [node]), "start_ms": 3_000, "stop_ms": 14_000},
        }
    )


def _noise(draw: Draw, validators: int) -> FaultSequence:
    """Bytes change on every link, and some validators lose answers with blocks, so that they use damaged messages."""
    some = sorted(draw.some_of("corruption.to", range(validators), 2))
    return FaultSequence(
        {
            "corruption": {
                "kind": "links",
                "corrupt_ppm": draw.one_of("corruption.corrupt_ppm", (60_000, 150_000)),
                "duplicate_ppm": draw.one_of("corruption.duplicate_ppm", (0, 200_000)),
                "start_ms": 2_000,
                "stop_ms": 14_000,
            },
            "lost-blocks": {**drop(["BlockResponse"], to=some), "start_ms": 3_000, "stop_ms": 12_000},
        }
    )


def _joined_twice(draw: Draw, validators: int) -> FaultSequence:
    """One validator misses enough blocks to join from a snapshot, and joins again in the same life."""
    node = draw.between("two-snapshot-joins.validator", 0, validators - 1)
    cut = away(node, validators)
    first_ms, second_ms = (draw.between(f"two-snapshot-joins.{ms}_ms", ms, ms + 500) for ms in (2_000, 9_400))
    # With block answers it would often have all of them before it knows that they are final.
    lost: Plain = {**drop(["BlockResponse"], to=[node]), "start_ms": 2_000, "stop_ms": 18_000}
    return FaultSequence(
        {
            "first-absence": {**cut, "start_ms": first_ms, "stop_ms": first_ms + 4_800},
            "second-absence": {**cut, "start_ms": second_ms, "stop_ms": second_ms + 5_200},
            "lost-blocks": lost,
        },
        {
            "sync": {
                "snapshot_gap_blocks": 2,
                "chunk_bytes": draw.one_of("two-snapshot-joins.chunk_bytes", (8_000, 1 << 20)),
            }
        },
    )


def _dark_view(draw: Draw, validators: int) -> FaultSequence:
    """All validators lose power within one view, and the most tolerated number stays off: each vote counts again."""
    order = draw.some_of("blackout-in-view.order", range(validators), validators)
    off, back = order[: faults_of(validators)], order[faults_of(validators) :]
    at_ms = draw.between("blackout-in-view.at_ms", 0, 40)
    # Counted in votes sent by any validator: in the middle of the votes of one view.
    nth = draw.between("blackout-in-view.nth", 8, 30)
    anchor: Plain = {"event": "vote", "nth": nth, "from_ms": FAULTS_FROM_MS, "by_ms": FAULTS_UNTIL_MS - 8_000}
    dark: Plain = {"kind": "blackout", "at_ms": at_ms, "anchor": anchor}
    return FaultSequence(
        {
            "blackout-in-view": {
                **dark,
                "validators": back,
                "restart_ms": at_ms + draw.between("blackout-in-view.ms", 150, 900),
            },
            "long-power-loss": {
                **dark,
                "validators": off,
                "restart_ms": at_ms + draw.between("blackout-in-view.off_ms", 4_000, 7_000),
            },
        },
        {"costs": {"sync_us": draw.one_of("blackout-in-view.sync_us", (2_000, 15_000))}},
    )


def _few_answers(draw: Draw, validators: int) -> FaultSequence:
    """A partition comes and goes; one validator misses blocks and asks often, and peers answer 1-2 times a second."""
    node = draw.between("answer-limit.validator", 0, validators - 1)
    others = away(node, validators)["groups"]
    pace = {"cut_ms": draw.one_of("answer-limit.cut_ms", (300, 900)), "open_ms": 700}
    return FaultSequence(
        {
            "flapping": {"kind": "flapping", "groups": others, **pace, "start_ms": 2_500, "stop_ms": 14_000},
            "lost-answers": {**drop(["BlockRelay", "BlockResponse"], to=[node]), "start_ms": 2_500, "stop_ms": 10_000},
        },
        {
            "costs": {"answers_per_second": draw.between("answer-limit.limit", 1, 2)},
            "consensus": {"fetch_timeout_ms": 100},
        },
    )


def _two_clogs(draw: Draw, validators: int) -> FaultSequence:
    """Two clogs hold one link; the end of the first clog must not let messages through."""
    node, peer = draw.some_of("overlapping-clogs.between", range(validators), 2)
    start_ms = draw.between("overlapping-clogs.start_ms", 2_500, 6_000)
    middle_ms = start_ms + draw.between("overlapping-clogs.first_ms", 600, 2_500)
    stop_ms = middle_ms + draw.between("overlapping-clogs.second_ms", 1_500, 4_000)
    first = {"between": [[node, peer]], "start_ms": start_ms, "stop_ms": stop_ms - 700}
    second = {"validators": [node], "way": draw.one_of("overlapping-clogs.way", ("in", "out", "both"))}
    return FaultSequence(
        {
            "first-clog": {"kind": "clog", "release_gap_ms": draw.one_of("overlapping-clogs.gap_ms", (0, 10)), **first},
            "second-clog": {"kind": "clog", **second, "start_ms": middle_ms, "stop_ms": stop_ms},
        }
    )


def _two_at_a_boundary(draw: Draw, validators: int) -> FaultSequence:
    """One validator loses power between two writes, together with another one, and both prune their journals."""
    node, other = draw.some_of("paired-crash.validators", range(validators), 2)
    boundary = draw.one_of(
        "paired-crash.boundary", ("before-append", "after-append", "after-sync", "after-send", "mid-prune", "mid-prune")
    )
    return FaultSequence(
        {
            "paired-crash": {
                "kind": "crash-at-boundary",
                "validator": node,
                "also": [other],
                "boundary": boundary,
                "occurrence": 1 if boundary == "mid-prune" else draw.between("paired-crash.occurrence", 5, 60),
                "restart_after_ms": draw.between("paired-crash.restart_after_ms", 100, 2_500),
                "start_ms": FAULTS_FROM_MS,
                "stop_ms": 14_000,
            }
        },
        {"consensus": {"view_retention": 2}},
    )


_CORRELATED: Final[_Makers] = (
    *FAULTY_DISK_SEQUENCES,
    _absent_leader,
    _far_behind,
    _far_behind,
    _lost_certificates,
    _noise,
    _joined_twice,
    _dark_view,
    _few_answers,
    _two_clogs,
    _two_at_a_boundary,
)
"""The sequences of this file; a sequence with many variants is listed twice."""

_LISTS: Final[Mapping[str, _Makers]] = {
    "correlated": _CORRELATED,
    "guards": GUARD_SEQUENCES,
    "disks": DISK_SEQUENCES,
    "rotation": TURN_SEQUENCES,
    "catch-up": LAG_SEQUENCES,
    "targeted-views": (picked_views,),
    "disk-refusals": (disk_refusals,),
    "none": (),
}
"""The lists by name, besides the engine's own."""

_STRATA: Final = (
    *["own"] * 6,
    *["correlated"] * 5,
    *["guards"] * 3,
    *["rotation"] * 2,
    *["disks"] * 2,
    *["catch-up"] * 2,
)
"""One value a seed: the list from which the seed gets its sequence."""

_ADDITIONAL_STRATA: Final = (*["targeted-views"] * 6, *["disk-refusals"] * 8, *["none"] * 6)
"""One value a seed: further faults beside its sequence and the engine's own, where the plan tolerates them."""
