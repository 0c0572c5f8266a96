"""Fault sequences about damaged or missing data on a disk at a start, for seeds without another sequence."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cluster.swarm.sequences.sequence import FaultSequence, applied_early, asked_alone, away, crash, drop
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from faults.kinds.simplex_messages import FINALITY
from network.draw import Draw

_SHORT_FILES: Final = ("blocks", "operations", "journal")


def _broken_pruning(draw: Draw, validators: int) -> FaultSequence:
    """Journals that are pruned all the time, and power that is cut between their two copies again and again."""
    hit = draw.some_of("interrupted-pruning.validators", range(validators), 2)
    faults: dict[str, Plain] = {
        f"mid-prune-{place}": {
            "kind": "crash-at-boundary",
            "validator": node,
            "boundary": "mid-prune",
            "every": draw.between(f"interrupted-pruning.{place}.every", 2, 6),
            "restart_after_ms": draw.between(f"interrupted-pruning.{place}.down_ms", 150, 900),
            "start_ms": FAULTS_FROM_MS + 700 * place,
            "stop_ms": 14_000,
        }
        for place, node in enumerate(hit)
    }
    if draw.chance("interrupted-pruning.is_rotten", 85):
        # Damage in one copy spares the other: more frequent damage would nearly always hit the copy that is read first.
        ppm = draw.one_of("interrupted-pruning.ppm", (80_000, 160_000))
        rot = {"kind": "bit-rot", "validator": hit[0], "ppm": ppm, "files": ["journal"]}
        faults["journal-bit-rot"] = {**rot, "start_ms": 3_000, "stop_ms": 14_000}
    if draw.chance("interrupted-pruning.is_slow", 60):
        # A sync is under way most of the time, and a pruning has to wait for its end.
        extra_ms = draw.one_of("interrupted-pruning.extra_ms", (150, 350))
        slow = {"kind": "slow-disk", "validator": hit[1], "factor": 1, "extra_ms": extra_ms}
        faults["slow-disk"] = {**slow, "start_ms": FAULTS_FROM_MS, "stop_ms": 15_000}
    kept = draw.between("interrupted-pruning.views", 1, 2)
    return FaultSequence(faults, {"consensus": {"view_retention": kept}})


def _joined_thrice(draw: Draw, validators: int) -> FaultSequence:
    """One validator is away three times, each time until it has to join from a snapshot: in one life, or in three."""
    node = draw.between("three-snapshot-joins.validator", 0, validators - 1)
    is_off = draw.chance("three-snapshot-joins.is_off", 50)
    faults: dict[str, Plain] = {}
    for place, first_ms in enumerate((2_000, 7_300, 12_600)):
        start_ms = first_ms + draw.between(f"three-snapshot-joins.{place}.start_ms", 0, 400)
        stop_ms = start_ms + 3_700
        cut = {**away(node, validators), "start_ms": start_ms, "stop_ms": stop_ms}
        faults[f"absence-{place}"] = crash(node, start_ms, stop_ms - start_ms) if is_off else cut
        # With block answers it would often have all of them before it knows that they are final.
        lost_ms = stop_ms + draw.between(f"three-snapshot-joins.{place}.lost_ms", 300, 900)
        lost = {**drop(["BlockResponse"], to=[node]), "start_ms": start_ms, "stop_ms": lost_ms}
        faults[f"lost-blocks-{place}"] = lost
    if draw.chance("three-snapshot-joins.is_refused", 33):
        # Only a later snapshot cuts the earlier snapshot's file; a start that cannot read its snapshot is repeated.
        since_ms, refused = draw.one_of("three-snapshot-joins.refused", _SNAPSHOT_REFUSALS[is_off])
        span: Plain = {"start_ms": since_ms, "stop_ms": 22_000}
        faults["refused-snapshot"] = {"kind": "io-error", "validator": node, "files": ["snapshot"], **refused, **span}
    chunk_bytes = draw.one_of("three-snapshot-joins.chunk_bytes", (8_000, 1 << 20))
    return FaultSequence(
        faults,
        {
            "sync": {"snapshot_gap_blocks": 2, "chunk_bytes": chunk_bytes},
            **applied_early(draw, "three-snapshot-joins", validators),
        },
    )


def _held_finality(draw: Draw, validators: int) -> FaultSequence:
    """Certified blocks pile up above the final block, applied early, and some validators restart meanwhile."""
    start_ms = draw.between("held-finality.start_ms", 2_500, 5_000)
    stop_ms = start_ms + draw.between("held-finality.for_ms", 4_000, 7_000)
    held: Plain = {"kind": "rule", "action": "hold", "kinds": [*FINALITY], "start_ms": start_ms, "stop_ms": stop_ms}
    faults: dict[str, Plain] = {"held-finality": held}
    for place, node in enumerate(draw.some_of("held-finality.order", range(validators), 2)):
        at_ms = draw.between(f"held-finality.{place}.at_ms", start_ms + 2_000, stop_ms - 500)
        faults[f"restart-{place}"] = crash(node, at_ms, draw.one_of(f"held-finality.{place}.down_ms", (200, 600)))
    retained = draw.one_of("held-finality.retain_blocks", (1, 2, 3, 8))
    return FaultSequence(
        faults,
        {"validators": {str(node): {"apply": "certified", "retain_blocks": retained} for node in range(validators)}},
    )


def _bad_journal(draw: Draw, validators: int) -> FaultSequence:
    """The vote journal of one validator goes bad, is pruned often, and is read at each of several starts."""
    node = draw.between("corrupt-journal.validator", 0, validators - 1)
    bad: Plain = {
        "kind": draw.one_of("corrupt-journal.kind", ("bit-rot", "stale-read", "misdirected-write")),
        "validator": node,
        "ppm": draw.one_of("corrupt-journal.ppm", (60_000, 200_000, 500_000)),
        "files": ["journal"],
        "start_ms": FAULTS_FROM_MS + draw.between("corrupt-journal.start_ms", 0, 1_500),
        "stop_ms": draw.between("corrupt-journal.stop_ms", 9_000, 15_000),
    }
    faults: dict[str, Plain] = {"corrupt-journal": bad}
    if bad["kind"] != "bit-rot":
        # These kinds have no effect on a journal as short as in most runs.
        rot = {**bad, "kind": "bit-rot", "ppm": draw.one_of("corrupt-journal.rot_ppm", (60_000, 200_000))}
        faults["added-bit-rot"] = rot
    at_ms = 3_000
    for place in range(draw.between("corrupt-journal.starts", 3, 5)):
        at_ms += draw.between(f"corrupt-journal.{place}.wait_ms", 700, 2_000)
        faults[f"crash-{place}"] = crash(node, at_ms, 200)
        at_ms += 200
    if draw.chance("corrupt-journal.is_refused", 50):
        # A start that cannot repair its journal stops, and the next start finds the same damage.
        writes = draw.one_of("corrupt-journal.writes", (["truncate"], ["overwrite"]))
        refused: Plain = {"kind": "io-error", "validator": node, "write_ppm": 500_000, "writes": writes}
        faults["refused-repairs"] = {**refused, "start_ms": bad["start_ms"], "stop_ms": bad["stop_ms"]}
    sync_us = 15_000
    if draw.chance("corrupt-journal.is_torn", 50):
        torn: Plain = {"kind": "torn-writes", "validators": [node], "start_ms": FAULTS_FROM_MS}
        faults["torn-journal-writes"] = {**torn, "stop_ms": 15_000}
        # A slower disk leaves more writes to tear, of blocks as well.
        sync_us = draw.one_of("corrupt-journal.sync_us", (15_000, 90_000))
    kept = draw.one_of("corrupt-journal.views", (1, 3, 20))
    return FaultSequence(faults, {"consensus": {"view_retention": kept}, "costs": {"sync_us": sync_us}})


_WRITES_REFUSED: Final[Sequence[tuple[int, Plain]]] = (
    (2_000, {"write_ppm": 1_000_000}),
    (8_000, {"write_ppm": 1_000_000}),
)
_SNAPSHOT_REFUSALS: Final[Mapping[bool, Sequence[tuple[int, Plain]]]] = {
    False: _WRITES_REFUSED,
    True: (*_WRITES_REFUSED, (6_500, {"read_ppm": 500_000})),
}
"""When a disk begins to refuse a snapshot, in ms, and how; by whether the validator is off or partitioned."""


def disk_refusals(draw: Draw, validators: int) -> FaultSequence:
    """One validator's disk refuses one kind of operation: it stops, and its operator starts it again later."""
    node = draw.between("disk-refusals.validator", 0, validators - 1)
    refusal, needs_start = draw.one_of("disk-refusals.refusal", _REFUSALS)
    start_ms = draw.between("disk-refusals.start_ms", 7_500, 9_500)
    stop_ms = start_ms + draw.between("disk-refusals.for_ms", 5_000, 8_000)
    torn: dict[str, Plain] = {}
    settings: dict[str, Plain] = {}
    if refusal["kind"] == "disk-full":
        refusal = {**refusal, "spare_bytes": draw.between("disk-refusals.spare_bytes", 0, SPARE_BYTES_MAX)}
    elif refusal == _LOG_WRITES:
        # The finalized log is written only when a block is final, and a run may wait long for it.
        stop_ms = FAULTS_UNTIL_MS
    elif refusal == _JOURNAL_WRITES and (writes := draw.one_of("disk-refusals.write", _JOURNAL_WRITE_KINDS)):
        # A start overwrites and cuts the torn end of a journal; so does pruning, but only after finality.
        refusal = {**refusal, "write_ppm": 1_000_000, "writes": writes}
        torn = _torn_appends(draw, node, {"start_ms": start_ms, "stop_ms": stop_ms})
    elif refusal == _BLOCK_WRITES and draw.chance("disk-refusals.is_cut", 50):
        # A start also cuts torn ends of blocks and the log; a slow disk leaves more writes to tear.
        refusal = {**refusal, "files": ["blocks", "operations"], "writes": ["truncate"]}
        torn = _torn_blocks(draw, node, {"start_ms": start_ms, "stop_ms": stop_ms})
        settings = {"costs": {"sync_us": 90_000}}
    faults: dict[str, Plain] = {
        "disk-refusals": {**refusal, "validator": node, "start_ms": start_ms, "stop_ms": stop_ms},
        **torn,
    }
    if needs_start:
        faults["refusal-crash"] = crash(node, start_ms + 100, 300)
    return FaultSequence(faults, settings)


def _torn_appends(draw: Draw, node: int, span: Plain) -> dict[str, Plain]:
    """Return crashes of a validator right after appends to its journal, each of which leaves a torn append."""
    every = draw.between("disk-refusals.every", 2, 4)
    crashes: Plain = {"kind": "crash-at-boundary", "validator": node, "boundary": "after-append", "every": every}
    return {
        "refusal-torn-writes": {"kind": "torn-writes", "validators": [node], **span},
        "refusal-torn-crash": {**crashes, "restart_after_ms": 200, **span},
    }


def _torn_blocks(draw: Draw, node: int, span: Plain) -> dict[str, Plain]:
    """Return crashes of a validator while blocks, or the log of final blocks, are on their way to its disk."""
    faults: dict[str, Plain] = {"refusal-torn-writes": {"kind": "torn-writes", "validators": [node], **span}}
    for place, event in enumerate(("executed", "finalized", "executed", "finalized")):
        at_ms = draw.between(f"disk-refusals.{place}.at_ms", 1, 80)
        anchor = {"event": event, "of": node, "nth": 1 + place, "from_ms": span["start_ms"], "by_ms": span["stop_ms"]}
        crashed = {"kind": "crash", "validator": node, "at_ms": at_ms, "restart_ms": at_ms + 200, "anchor": anchor}
        faults[f"refusal-torn-{place}"] = crashed
    return faults


SPARE_BYTES_MAX: Final = 12_000
"""The most room on a full disk, in bytes: little enough for any file to be the first without room."""

_LOG_WRITES: Final[Plain] = {"kind": "io-error", "write_ppm": 1_000_000, "files": ["operations"]}
_BLOCK_WRITES: Final[Plain] = {"kind": "io-error", "write_ppm": 1_000_000, "files": ["blocks"]}
_JOURNAL_WRITES: Final[Plain] = {"kind": "io-error", "write_ppm": 700_000, "files": ["journal"]}
_JOURNAL_WRITE_KINDS: Final[Sequence[list[str]]] = (["truncate"], ["overwrite"], [])

_REFUSALS: Final[Sequence[tuple[Plain, bool]]] = (
    *[(_LOG_WRITES, False)] * 2,
    (_BLOCK_WRITES, False),
    (_JOURNAL_WRITES, False),
    ({"kind": "io-error", "sync_ppm": 300_000}, False),
    ({"kind": "io-error", "read_ppm": 1_000_000, "files": ["operations"]}, True),
    ({"kind": "io-error", "read_ppm": 1_000_000, "files": ["journal"]}, True),
    ({"kind": "io-error", "read_ppm": 500_000, "files": ["blocks"]}, True),
    ({"kind": "disk-full"}, False),
)
"""Each operation that a disk may refuse, by files, and whether only a start performs it."""

DISK_SEQUENCES: Final[Sequence[Callable[[Draw, int], FaultSequence]]] = (
    _broken_pruning,
    _joined_thrice,
    _held_finality,
    _bad_journal,
    _bad_journal,
)
"""All sequences of this file, in rotation; a bad journal, which has many variants, twice as often."""


def _bad_disk(draw: Draw, validators: int) -> FaultSequence:
    """One validator's disk is bad in two ways, and it restarts from it twice."""
    node = draw.between("corrupt-disk.validator", 0, validators - 1)
    ppm = draw.one_of("corrupt-disk.ppm", (150_000, 400_000))
    files = draw.one_of("corrupt-disk.files", ([], ["blocks"], ["operations"], ["journal"]))
    fault = draw.one_of(
        "corrupt-disk.kind",
        (
            {"kind": "bit-rot", "ppm": ppm, "files": files},
            {"kind": "stale-read", "ppm": ppm, "files": files},
            {"kind": "misdirected-write", "ppm": ppm, "files": files},
        ),
    )
    first_ms = draw.between("corrupt-disk.first_ms", 4_500, 8_000)
    second_ms = draw.between("corrupt-disk.second_ms", 10_000, 13_000)
    span: Plain = {
        "start_ms": FAULTS_FROM_MS + draw.between("corrupt-disk.start_ms", 0, 2_000),
        "stop_ms": FAULTS_UNTIL_MS - draw.between("corrupt-disk.stop_ms", 0, 2_000),
    }
    faults: dict[str, Plain] = {
        "corrupt-disk": {**fault, "validator": node, **span},
        # A run's files are short, so one kind in one file often has no effect; a snapshot would always be rotten.
        "added-bit-rot": {"kind": "bit-rot", "ppm": 60_000, "files": [*_SHORT_FILES], "validator": node, **span},
        "first-crash": crash(node, first_ms, 600),
        "second-crash": crash(node, second_ms, 600),
    }
    if not draw.chance("corrupt-disk.is_asked", 50):
        return FaultSequence(faults)
    asking = (node - 1) % validators
    back_ms = first_ms + 900
    return FaultSequence(
        faults
        | {
            "asking": {**away(asking, validators), "start_ms": 2_500, "stop_ms": back_ms},
            "single-responder": asked_alone(node, asking, validators, back_ms),
        },
        # Single blocks, and no snapshot of them all.
        {"sync": {"snapshot_gap_blocks": 256}},
    )


def _misdirected(draw: Draw, validators: int) -> FaultSequence:
    """One validator's writes land elsewhere, and it restarts from them twice."""
    sequence = _bad_disk(draw, validators)
    ppm = draw.one_of("misdirected-writes.ppm", (150_000, 400_000))
    sequence.faults["corrupt-disk"] |= {"kind": "misdirected-write", "ppm": ppm}
    return sequence


def _failing_disk(draw: Draw, validators: int) -> FaultSequence:
    """One validator's disk fails or is full: it stops, and its operator starts it again later."""
    node = draw.between("failing-disk.validator", 0, validators - 1)
    fault = draw.one_of(
        "failing-disk.kind",
        (
            {"kind": "io-error", "write_ppm": 20_000},
            {"kind": "io-error", "sync_ppm": 50_000},
            {"kind": "io-error", "read_ppm": 200_000},
            {"kind": "disk-full", "spare_bytes": 0},
            {"kind": "disk-full", "spare_bytes": 5_000},
        ),
    )
    return FaultSequence(
        {
            "failing-disk": {**fault, "validator": node, **_span(draw, "failing-disk")},
            "restart": crash((node + 1) % validators, draw.between("failing-disk.restart_ms", 5_000, 12_000), 500),
        }
    )


def _power_cuts(draw: Draw, validators: int) -> FaultSequence:
    """All validators lose power again and again, with disks slow enough for unsynced data at each loss."""
    everybody = draw.some_of("power-losses.order", range(validators), validators)
    faults: dict[str, Plain] = {}
    at_ms = 4_000
    for place in range(4):
        at_ms += draw.between(f"power-losses.{place}.wait_ms", 300, 2_500)
        down_ms = draw.between(f"power-losses.{place}.down_ms", 150, 500)
        faults[f"power-loss-{place}"] = {
            "kind": "blackout",
            "validators": everybody,
            "at_ms": at_ms,
            "restart_ms": at_ms + down_ms,
        }
        at_ms += down_ms + 100
    if draw.chance("power-losses.is_torn", 50):
        faults["torn-writes-at-crash"] = {
            "kind": "torn-writes",
            "validators": everybody,
            "start_ms": 2_000,
            "stop_ms": 16_000,
        }
    return FaultSequence(faults, {"costs": {"sync_us": draw.one_of("power-losses.sync_us", (40_000, 120_000))}})


def _span(draw: Draw, name: str) -> Plain:
    start_ms = draw.between(f"{name}.start_ms", 3_000, 9_000)
    return {"start_ms": start_ms, "stop_ms": draw.between(f"{name}.stop_ms", start_ms + 2_000, 15_000)}


FAULTY_DISK_SEQUENCES: Final[Sequence[Callable[[Draw, int], FaultSequence]]] = (
    *(_bad_disk, _bad_disk),
    _misdirected,
    *(_failing_disk, _failing_disk),
    _power_cuts,
)
"""Sequences of a disk that damages, refuses or loses data; a sequence with many variants is listed twice."""
