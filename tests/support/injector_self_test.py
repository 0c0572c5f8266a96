"""The self-test of the fault injector: every fault with every key, on five machines, followed by the audit.

A drawn run has few faults with few of their keys. The plan of the self-test has every kind in all its forms, two and
three at a time. The audit compares its log with its plan, as it does for a run.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from checker.checks.audit.audit import FollowedRun
from checker.checks.audit.plan import TestBedPlan
from faults import Fault, Injector
from faults.anchors.anchor import Anchor
from faults.anchors.catalogue import MOMENTS
from faults.kinds.blackout import Blackout
from faults.kinds.clock import ClockDrift, ClockOffset, ClockStrobe, ClockSwing
from faults.kinds.clog import Clog
from faults.kinds.crash import Crash
from faults.kinds.crash_at_boundary import CrashAtBoundary
from faults.kinds.cut import Cut
from faults.kinds.disk import SlowDisk, TornWrites
from faults.kinds.flapping import Flapping
from faults.kinds.isolate_leader import IsolateLeader
from faults.kinds.links import Links
from faults.kinds.partition import Partition
from faults.kinds.partitions import Partitions
from faults.kinds.pause import Pause
from faults.kinds.restart_storm import RestartStorm
from faults.kinds.rule import Rule
from faults.kinds.slow import Slow
from faults.kinds.swizzle_clog import SwizzleClog
from faults.kinds.wipe import Wipe
from network.bus import Bus
from network.chance import Chance
from network.events import Event, EventRouter
from network.kernel import Kernel
from network.latency import Latency
from network.port import Delivery, Inbound, TimerDue, WorkDone
from network.queues import UplinkClass
from network.topology import LinkSpec, build_topology
from network.trace import Trace
from network.types import MILLISECOND_US, SUPERVISOR, EventKind, Label
from tests.support.fault_stage import Stage, StageMachine
from validators.consensus.registry import ENGINES
from validators.events import Entered
from validators.messages import TRAFFIC, kinds_of
from validators.storage.disk import SyncPoint
from validators.storage.medium import JOURNAL_FILES

_NODES: Final = 5
_END_MS: Final = 3_200
_BEAT_US: Final = 31_000
_VIEW_US: Final = 77_000
_SYNC_US: Final = 2_500
_STEPS_MAX: Final = 200_000
_SIZE_LIMIT: Final = 1_500

_KINDS: Final = tuple(kinds_of((channel,))[0] for channel in ("votes", "certificates", "blocks", "transactions"))
_VOTE: Final = _KINDS[0]
_ENGINE: Final = next(iter(ENGINES))

_LATENCY_MS: Final = 4
_JITTER_MS: Final = 3
_LOSS_PPM: Final = 20_000
_REORDER_PPM: Final = 30_000
_REORDER_MS: Final = 9

_NETWORK: Final = {
    "latency_ms": _LATENCY_MS,
    "distribution": "normal",
    "jitter_ms": _JITTER_MS,
    "loss_ppm": _LOSS_PPM,
    "reorder_ppm": _REORDER_PPM,
    "reorder_extra_ms": _REORDER_MS,
    "regions": [],
    "order": "none",
    "uplink_bytes_per_second": 0,
    "uplink_shares": {},
}

_SHARED_LINES: Final = {
    "order": "fifo",
    "uplink_bytes_per_second": 300_000,
    "uplink_shares": {"consensus": 50, "sync": 20, "gossip": 30},
}
"""The keys of the network in which runs with an odd seed differ: links keep an order and share an uplink."""

_LINES: Final[dict[str, Fault]] = {
    "torn": Partition(groups=((0, 1), (2,)), in_flight="lost", start_ms=100, stop_ms=300),
    "one-way": Partition(groups=((3,), (0, 1)), one_way=True, start_ms=250, stop_ms=420),
    "jammed": Partition(
        groups=((0,), (1, 2, 3)), one_way=True, manner="held", release_gap_ms=3, start_ms=350, stop_ms=500
    ),
    "slowed": Partition(groups=((0, 4), (1, 2)), manner="delayed", delay_ms=30, start_ms=480, stop_ms=650),
    "flapping": Flapping(groups=((0, 2), (1, 3)), cut_ms=40, open_ms=60, start_ms=600, stop_ms=930),
    "lines": Cut(links=((0, 1), (4, 2)), in_flight="lost", start_ms=700, stop_ms=800),
    "leaders": IsolateLeader(cut_ms=90, open_ms=50, start_ms=900, stop_ms=1_300),
    "leader": IsolateLeader(start_ms=2_500, stop_ms=2_800),
    "into": Clog(
        validators=(1,), way="in", channels=("votes", "blocks"), release_gap_ms=2, start_ms=1_000, stop_ms=1_150
    ),
    "out": Clog(validators=(2,), way="out", start_ms=1_050, stop_ms=1_250),
    "between": Clog(validators=(0,), between=((3, 4),), channels=("certificates",), start_ms=1_200, stop_ms=1_400),
    "swizzle": SwizzleClog(pairs=2, release_gap_ms=1, start_ms=1_300, stop_ms=1_600),
    "swizzle-some": SwizzleClog(validators=(2, 0), channels=("votes",), start_ms=1_500, stop_ms=1_701),
    "weather": Links(
        between=((0, 1), (3, 2)),
        latency_ms=12,
        jitter_ms=5,
        loss_ppm=150_000,
        reorder_ppm=200_000,
        reorder_extra_ms=15,
        duplicate_ppm=300_000,
        corrupt_ppm=200_000,
        burst_ppm=150_000,
        burst_ms=20,
        stop_ms=2_900,
    ),
    "gusts": Links(
        channels=("votes", "transactions"),
        loss_ppm=150_000,
        duplicate_ppm=200_000,
        reorder_ppm=100_000,
        reorder_extra_ms=40,
        corrupt_ppm=100_000,
        burst_ppm=150_000,
        burst_ms=30,
        start_ms=1_600,
        stop_ms=2_100,
    ),
    "narrow": Links(bytes_per_second=9_000, queue_max=3, start_ms=2_000, stop_ms=2_350),
    "again-and-again": Partitions(
        every_ms=60, length_ms=40, in_flight="lost", groups=((0, 2), (1,)), start_ms=1_700, stop_ms=2_400
    ),
    "drawn-sides": Partitions(every_ms=40, length_ms=30, start_ms=2_000, stop_ms=2_600),
    "upstream": Links(between=((1, 3), (3, 2)), one_way=True, loss_ppm=400_000, start_ms=2_000, stop_ms=2_300),
    "narrower": Links(between=((0, 1), (4, 0)), bytes_per_second=20_000, queue_max=2, start_ms=2_100, stop_ms=2_450),
    "dropped": Rule(
        action="drop",
        kinds=(_KINDS[0], _KINDS[2]),
        senders=(0, 1),
        receivers=(2, 3),
        views=((2, 6), (11, 11)),
        heights=((0, 30),),
        start_ms=90,
        stop_ms=1_500,
    ),
    "delayed": Rule(action="delay", delay_ms=21, heights=((13, 17),), views=((0, 90),), senders=(4,), stop_ms=2_000),
    "held": Rule(
        action="hold",
        kinds=(_KINDS[1],),
        receivers=(1, 2, 4),
        first_to=(2,),
        first_ms=1_750,
        start_ms=1_600,
        stop_ms=1_900,
        release_ms=1_960,
        release_gap_ms=4,
    ),
    "replayed": Rule(
        action="replay",
        senders=(4,),
        views=((1, 1_000),),
        release_gap_ms=2,
        start_ms=2_200,
        stop_ms=2_400,
        release_ms=2_430,
    ),
    "both": Rule(action="replay", receivers=(0, 1), first_to=(0,), first_ms=2_300, start_ms=2_250, stop_ms=2_380),
}

_MACHINES: Final[dict[str, Fault]] = {
    "crash": Crash(validator=0, at_ms=200, restart_ms=262),
    "wipe": Wipe(validator=1, at_ms=300, restart_ms=385),
    "waves": Blackout(validators=(3, 2), restart_every_ms=30, at_ms=450, restart_ms=520),
    "dark": Blackout(validators=(0, 1, 4), at_ms=620, restart_ms=655),
    "storm": RestartStorm(
        validators=(4, 2, 3), every_ms=(20, 60), down_ms=(10, 90), is_drawn=True, start_ms=700, stop_ms=1_000
    ),
    "turns": RestartStorm(every_ms=(10, 40), down_ms=(20, 60), start_ms=1_150, stop_ms=1_350),
    "appended": CrashAtBoundary(
        validator=0,
        also=(1,),
        boundary="after-append",
        occurrence=2,
        start_ms=1_450,
        stop_ms=1_800,
        restart_after_ms=33,
    ),
    "before": CrashAtBoundary(
        validator=2, boundary="before-append", every=3, start_ms=1_450, stop_ms=2_000, restart_after_ms=21
    ),
    "synced": CrashAtBoundary(
        validator=3, boundary="after-sync", every=4, start_ms=1_450, stop_ms=2_000, restart_after_ms=15
    ),
    "sent": CrashAtBoundary(
        validator=4, boundary="after-send", occurrence=3, start_ms=1_450, stop_ms=2_000, restart_after_ms=40
    ),
    "throttled": Pause(validator=3, also=(0,), pause_ms=45, run_ms=20, start_ms=2_100, stop_ms=2_400),
    "paused": Pause(validator=2, start_ms=2_150, stop_ms=2_275),
    "slow": Slow(validator=4, factor=7, start_ms=400, stop_ms=900),
    "slow-disk": SlowDisk(validator=4, factor=3, extra_ms=11, start_ms=600, stop_ms=1_100),
    "late-disk": SlowDisk(validator=0, extra_ms=6, start_ms=300, stop_ms=600),
    "torn-writes": TornWrites(validators=(2, 3, 4), start_ms=500, stop_ms=1_000),
    "ahead": ClockOffset(validators=(0, 4), offset_ms=130, start_ms=100, stop_ms=500),
    "behind": ClockOffset(validators=(0,), offset_ms=-95, start_ms=501, stop_ms=900),
    "fast": ClockDrift(validators=(1, 3), ppm=400_000, start_ms=150, stop_ms=1_000),
    "tardy": ClockDrift(validators=(1,), ppm=-333_333, start_ms=1_100, stop_ms=2_300),
    "swing": ClockSwing(validators=(2,), ppm=-300_001, period_ms=101, start_ms=600, stop_ms=1_300),
    "strobe": ClockStrobe(validators=(3, 0), offset_ms=55, period_ms=61, start_ms=1_310, stop_ms=2_600),
    "strobe-back": ClockStrobe(validators=(4,), offset_ms=-35, period_ms=15, start_ms=1_310, stop_ms=2_600),
}

_ANCHORED: Final[dict[str, Fault]] = {
    "after-restart": Cut(
        links=((2, 0), (0, 2)), start_ms=10, stop_ms=60, anchor=Anchor(event="restart", of=2, nth=2, by_ms=2_900)
    ),
    "after-view": Crash(
        validator=1,
        at_ms=1,
        restart_ms=20,
        anchor=Anchor(event="view", nth=3, after="synced", from_ms=2_450, by_ms=2_980),
    ),
    "given-up": Cut(links=((1, 0),), start_ms=0, stop_ms=60, anchor=Anchor(event="rewind", by_ms=900)),
}

PLAN: Final = {**_LINES, **_MACHINES, **_ANCHORED}
"""The plan of the self-test."""

_SURE: Final = (
    *("torn", "one-way", "jammed", "slowed", "flapping", "weather", "gusts", "narrow"),
    *("crash", "wipe", "waves", "dark", "storm", "turns", "throttled", "paused", "slow", "slow-disk", "late-disk"),
    *("ahead", "behind", "fast", "tardy", "swing", "strobe", "strobe-back"),
)
"""Faults that come to something whatever is drawn; others may find no message of theirs."""


def _act(machine: StageMachine, inbound: Inbound | str) -> None:
    """Send, work, append, sync and wait, as messages and timers come."""
    port, handle = machine.port, machine.handle
    assert port is not None, "what comes to a machine finds it on"
    assert handle is not None, "a port comes with a handle"
    match inbound:
        case Delivery(payload=payload):
            port.spend(len(payload))
        case TimerDue(key="beat"):
            _beat(machine)
        case TimerDue(key="wall"):
            port.set_alarm("wall", port.wall_us + 43_000)
            port.send((machine.node + 1) % _NODES, b"wall" * 5, Label(_KINDS[3]))
        case WorkDone(token=SyncPoint() as point):
            handle.finish_sync(point)
        case str():
            port.set_timer("beat", 1 + machine.node)
            port.set_timer("never", _BEAT_US)
            port.set_alarm("wall", port.wall_us + 20_000)
        case _:
            pass


def _beat(machine: StageMachine) -> None:
    port, handle = machine.port, machine.handle
    assert port is not None, "a timer finds its machine on"
    assert handle is not None, "a port comes with a handle"
    port.set_timer("beat", _BEAT_US)
    port.set_timer("never", 2 * _BEAT_US)
    port.cancel_timer("gone")
    port.set_timer("gone", _BEAT_US + 1)
    beat = machine.disk.appended_bytes + machine.node
    view, height = port.wall_us // _VIEW_US, beat // 7 % 40
    port.trace(Entered(view, view * 3 % _NODES))
    for name in JOURNAL_FILES:
        handle.append(name, b"beat!"[: 1 + beat % 5])
    port.work_on("disk", _SYNC_US, handle.begin_sync())
    port.work(700 * (beat % 3), None)
    label = (Label(_KINDS[beat % 4], view, height), Label(_KINDS[beat % 4]))[beat % 11 == 0]
    port.broadcast(bytes([beat % 256]) * (1 + beat * 37 % (_SIZE_LIMIT // 4)), label)


def find_deviations(seed: int, plan: Mapping[str, Fault] = PLAN) -> list[str]:
    """Return where the log of the self-test deviates from its plan."""
    found: list[str] = []
    test_bed = TestBedPlan(
        seed=seed,
        nodes=_NODES,
        validators=_NODES,
        network=_NETWORK | (_SHARED_LINES if seed % 2 else {}),
        faults={name: msgspec.to_builtins(fault) for name, fault in plan.items()},
        observers=(),
        anchor_events={name: MOMENTS[fault.anchor.event].event for name, fault in plan.items() if fault.anchor},
        payload_bytes_max=_SIZE_LIMIT,
    )
    followed = FollowedRun(test_bed, lambda what, **_where: found.append(what))
    acted_us: dict[int, int] = {}
    injector = _play(seed, plan, followed, acted_us)
    followed.finish()
    # Every machine has power at the end, and no pause lasts this long; the slowest clock is a third slow.
    due_us = _END_MS * MILLISECOND_US - 3 * _BEAT_US
    found += [
        f"validator {node} does nothing more after {acted_us.get(node, 0):,} us"
        for node in range(_NODES)
        if acted_us.get(node, 0) < due_us
    ]
    found += [
        f"fault {effect.name} says that it touched nothing"
        for effect in injector.effects()
        if effect.name in _SURE and not effect.took_effect
    ]
    return found


def _play(seed: int, plan: Mapping[str, Fault], followed: FollowedRun, acted_us: dict[int, int]) -> Injector:
    """Run the plan and return its injector; note when each machine acted last."""

    def act(machine: StageMachine, inbound: Inbound | str) -> None:
        acted_us[machine.node] = kernel.now_us
        _act(machine, inbound)

    def observe(event: Event) -> None:
        router.route(event)

    trace, chance = Trace(range(_NODES), (observe,), recording=False), Chance(seed)
    kernel = Kernel(trace, step_limit=_STEPS_MAX, time_limit_us=2 * _END_MS * MILLISECOND_US)
    latency = Latency("normal", _LATENCY_MS * MILLISECOND_US, _JITTER_MS * MILLISECOND_US)
    link = LinkSpec(latency, _LOSS_PPM, _REORDER_PPM, _REORDER_MS * MILLISECOND_US, is_fifo=bool(seed % 2))
    shares = [(TRAFFIC[name], share * 3_000) for name, share in _SHARED_LINES["uplink_shares"].items()]
    uplink = [UplinkClass(*share) for share in shares] if seed % 2 else []
    bus = Bus(kernel, build_topology(_NODES, link, uplink=uplink), chance, trace, size_limit=_SIZE_LIMIT)
    stage = Stage(kernel, bus, trace, chance, nodes=_NODES, votes=(_VOTE,), act=act)
    chain = trace.chain(SUPERVISOR)
    injector = Injector(
        plan, kernel=kernel, bus=bus, power=stage, chain=chain, chance=chance, validators=_NODES, engine=_ENGINE
    )
    router = EventRouter(*injector.handlers, followed.handlers)
    injector.schedule()
    kernel.post(_END_MS * MILLISECOND_US, SUPERVISOR, EventKind.WORKLOAD, SUPERVISOR, 0, partial(kernel.stop))
    kernel.run(stage.host_all)
    return injector
