"""Fault sequences about order: the first validator that is cut off, silent, stuck or behind, and its successors.

Drawn for seeds that have no other sequence. Settings state what each sequence needs of the chain or of consensus.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from cluster.swarm.sequences.sequence import FaultSequence, away, crash, drop
from faults.kinds.drawing import FAULTS_FROM_MS, Plain
from faults.kinds.simplex_messages import LEAVING
from network.draw import Draw
from validators.consensus.quorum import faults_of
from validators.messages import SnapshotOffer

SWIZZLED_MAX: Final = 4
"""Most validators that a swizzle cuts off."""

IMPATIENT_RETRY_MS: Final = (700, 1_300)
"""Times after which a nullify is repeated: a drawn fault lasts for several of them."""

SKIP_MS: Final = (3_500, 4_500)
"""Times after which a silent leader is skipped, just above the wait for a certified block."""


def _swizzle_cut(draw: Draw, validators: int) -> FaultSequence:
    """Validators are cut off one by one, and return in another order: any two see the network differently."""
    count = min(validators, SWIZZLED_MAX)
    order = draw.some_of("swizzle-cut.order", range(validators), count)
    back = draw.some_of("swizzle-cut.back", range(count), count)
    start_ms = FAULTS_FROM_MS + draw.between("swizzle-cut.start_ms", 0, 1_000)
    pace_ms = draw.one_of("swizzle-cut.pace_ms", (150, 500, 900))
    heal_ms = start_ms + count * pace_ms + draw.between("swizzle-cut.for_ms", 300, 2_500)
    faults: dict[str, Plain] = {}
    for place, node in enumerate(order):
        span = {"start_ms": start_ms + place * pace_ms, "stop_ms": heal_ms + back.index(place) * pace_ms}
        faults[f"swizzle-cut-{place}"] = {**away(node, validators), **span}
    return FaultSequence(faults)


def _stuck_view(draw: Draw, validators: int) -> FaultSequence:
    """A leader is away, and messages that would leave its view are lost until they have been sent several times."""
    absent = draw.between("stuck-view.absent", 0, validators - 1)
    retry_ms = draw.one_of("stuck-view.retry_ms", IMPATIENT_RETRY_MS)
    lost_ms = 5_500 + retry_ms * draw.between("stuck-view.retries", 2, 4)
    return FaultSequence(
        {
            "stuck-view": {**drop([*LEAVING]), "start_ms": FAULTS_FROM_MS, "stop_ms": FAULTS_FROM_MS + lost_ms},
            "absent": crash(absent, FAULTS_FROM_MS + 500, lost_ms + 2_000),
        },
        {"consensus": {"timeout_retry_ms": retry_ms}},
    )


def _silent_leaders(draw: Draw, validators: int) -> FaultSequence:
    """The most tolerated number of validators is silent for long enough to be skipped, and then leads again."""
    silent = draw.some_of("silent-leaders.validators", range(validators), faults_of(validators))
    is_mute = draw.chance("silent-leaders.is_mute", 50)
    faults: dict[str, Plain] = {}
    for node in silent:
        at_ms = FAULTS_FROM_MS + draw.between(f"silent-leaders.{node}.at_ms", 0, 1_500)
        down_ms = draw.between(f"silent-leaders.{node}.down_ms", 7_500, 10_500)
        # It hears all peers, and no peer hears it.
        mute = {**away(node, validators), "one_way": True, "start_ms": at_ms, "stop_ms": at_ms + down_ms}
        faults[f"silent-leader-{node}"] = mute if is_mute else crash(node, at_ms, down_ms)
    times = {
        "timeout_retry_ms": IMPATIENT_RETRY_MS[0],
        "skip_timeout_ms": draw.one_of("silent-leaders.skip_ms", SKIP_MS),
    }
    return FaultSequence(faults, {"consensus": times})


def joined_in_turn(draw: Draw, validators: int) -> FaultSequence:
    """Validators join from a snapshot one by one; each asks the validator that joined before it first."""
    first = draw.between("successive-joins.first", 0, validators - 1)
    step = draw.one_of("successive-joins.step", (-1, -1, 1))
    count = draw.between("successive-joins.count", 2, 3)
    joiners = [(first + step * place) % validators for place in range(count)]
    faults: dict[str, Plain] = {}
    for place, node in enumerate(joiners):
        start_ms = FAULTS_FROM_MS + 5_900 * place + draw.between(f"successive-joins.{place}.start_ms", 0, 400)
        faults[f"successive-join-{place}"] = {
            **away(node, validators),
            "start_ms": start_ms,
            "stop_ms": start_ms + 5_200,
        }
    # With block answers they would often have all of them before they know that they are final.
    faults["lost-blocks"] = {**drop(["BlockResponse"], to=joiners), "start_ms": FAULTS_FROM_MS, "stop_ms": 19_000}
    if step < 0 and draw.chance("successive-joins.is_alone", 70):
        # Only the validator that joined before offers a snapshot to the next.
        for before, node in pairwise(joiners):
            others = [other for other in range(validators) if other not in {before, node}]
            unoffered = {**drop([SnapshotOffer.traced_name], others, [node]), "start_ms": FAULTS_FROM_MS}
            faults[f"lost-offers-{node}"] = {**unoffered, "stop_ms": 19_000}
    chunk_bytes = draw.one_of("successive-joins.chunk_bytes", (8_000, 1 << 20))
    gap = draw.one_of("successive-joins.gap_blocks", (1, 1, 2))
    return FaultSequence(faults, {"sync": {"snapshot_gap_blocks": gap, "chunk_bytes": chunk_bytes}})


def _deaf_pools(draw: Draw, validators: int) -> FaultSequence:
    """Transactions come by the hundred while no block does; mempools learn of peers' transactions by repeats only."""
    deaf = draw.some_of(
        "isolated-mempools.validators", range(validators), draw.between("isolated-mempools.count", 1, validators - 1)
    )
    halves = [list(range(0, validators, 2)), list(range(1, validators, 2))]
    start_ms = FAULTS_FROM_MS + draw.between("isolated-mempools.start_ms", 0, 1_500)
    stop_ms = start_ms + draw.between("isolated-mempools.for_ms", 3_000, 5_500)
    accounts = draw.between("isolated-mempools.accounts", 90, 150)
    crowd: Plain = {
        "kind": "transfers",
        "accounts": accounts,
        "count": accounts + draw.between("isolated-mempools.more", 0, 60),
        "every_ms": draw.one_of("isolated-mempools.every_ms", (1, 6)),
        "tips": [1, 300, 7],
        "start_ms": start_ms + 200,
        "copies": draw.one_of("isolated-mempools.copies", (1, 2)),
    }
    return FaultSequence(
        {
            "isolated-mempools": {
                **drop(["TransactionGossip"], to=sorted(deaf)),
                "start_ms": start_ms,
                "stop_ms": start_ms + 1_500,
            },
            "no-quorum": {"kind": "partition", "groups": halves, "start_ms": start_ms, "stop_ms": stop_ms},
        },
        {"workload": {"transfer-burst": crowd}},
    )


TURN_SEQUENCES: Final[Sequence[Callable[[Draw, int], FaultSequence]]] = (
    _swizzle_cut,
    _stuck_view,
    _silent_leaders,
    joined_in_turn,
    _deaf_pools,
)
"""All sequences of this file, each drawn equally often."""
