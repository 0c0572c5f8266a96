"""The roads of an outside application to the root of the winning branch, and the findings of each.

A road is a life of its own in an empty directory. It has to come to the roots of every header that it executes. Then it
executes another block above the final block: only later requests show whether finality has left wrong state behind.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import msgspec

from cluster.outside.blocks import OutsideBlock
from cluster.outside.home import ApplicationHome, ForgottenBlockError
from cluster.outside.process import ApplicationLostError
from cluster.reorgs.application import (
    ApplicationFork,
    ApplicationReorgs,
    ForkHomes,
    ForkLife,
    RoadDifferenceError,
    build_application_fork,
)
from cluster.reorgs.fork import ForkError
from cluster.reorgs.table import DepthResult, RoadFinding
from network.words import counted
from validators.execution import RootMismatchError
from validators.execution.blocks import encode_header
from validators.restored import RestoredLog, StateBase

OTHER_HASH_SEED: Final = 20_011
OTHER_TIME_ZONE: Final = "Pacific/Kiritimati"
"""The hash seed and time zone of the road `cold-replay`; all other roads have seed 0 and UTC."""


class Moved(NamedTuple):
    """Blocks that were dropped, undone or executed on a road, and the expected number."""

    found: int
    expected: int


BeginHome = Callable[..., ApplicationHome]


def _never_saw_the_fork(fork: ApplicationFork, begin: BeginHome) -> Moved:
    life = ForkLife(begin())
    life.follow(fork.trunk + fork.winning)
    life.follow([fork.after])
    return Moved(len(fork.winning), len(fork.winning))


def _drop_the_branch(fork: ApplicationFork, begin: BeginHome) -> Moved:
    life = ForkLife(begin())
    life.follow(fork.trunk)
    life.execute(fork.abandoned)
    life.execute(fork.winning)
    dropped = life.layer.finalize(fork.winning[-1].digest).dropped
    life.follow([fork.after])
    return Moved(len(dropped), len(fork.abandoned))


def _rewind_the_branch(fork: ApplicationFork, begin: BeginHome) -> Moved:
    return _certified(fork, begin(), (fork.abandoned, fork.winning), len(fork.abandoned))


def _come_back_and_go_again(fork: ApplicationFork, begin: BeginHome) -> Moved:
    branches = (fork.abandoned, fork.winning, fork.abandoned, fork.winning)
    return _certified(fork, begin(), branches, 2 * len(fork.abandoned) + len(fork.winning))


def _certified(
    fork: ApplicationFork, home: ApplicationHome, branches: Sequence[Sequence[OutsideBlock]], expected: int
) -> Moved:
    """Lead a life that applies each branch before it is final, in succession; the last branch wins."""
    life = ForkLife(home)
    life.follow(fork.trunk)
    for branch in branches:
        life.certify(branch)
    undone = life.layer.take_undone()
    life.layer.finalize(fork.winning[-1].digest)
    life.follow([fork.after])
    return Moved(len(undone), expected)


def _join_from_a_snapshot(fork: ApplicationFork, begin: BeginHome) -> Moved:
    """Restore the pivot from a life on the abandoned branch; both lives continue with the winning branch."""
    source, pivot = ForkLife(begin()), fork.trunk[-1]
    source.follow(fork.trunk)
    source.certify(fork.abandoned)
    base = StateBase(encode_header(pivot.header), source.layer.snapshot())
    joiner = ForkLife(begin(), RestoredLog(msgspec.msgpack.encode(base)))
    for life in (joiner, source):
        life.execute(fork.winning)
        life.layer.finalize(fork.winning[-1].digest)
        life.follow([fork.after])
    return Moved(len(fork.winning), len(fork.winning))


def _restart_in_the_middle(fork: ApplicationFork, begin: BeginHome) -> Moved:
    """Kill a life within the winning branch, half of which is final only in the log; and at each of its ends."""
    life, half = ForkLife(begin()), len(fork.winning) // 2
    life.follow(fork.trunk)
    life.execute(fork.abandoned)
    life.execute(fork.winning[:half])
    life.restart(fork.trunk + fork.winning[:half])
    life.execute(fork.winning[half:])
    life.layer.finalize(fork.winning[-1].digest)
    life.restart(fork.trunk + fork.winning)
    life.follow([fork.after])
    life.restart((*fork.trunk, *fork.winning, fork.after))
    return Moved(len(fork.winning), len(fork.winning))


def _replay_cold(fork: ApplicationFork, begin: BeginHome) -> Moved:
    other = replace(fork.launch, hash_seed=OTHER_HASH_SEED, timezone=OTHER_TIME_ZONE)
    return _never_saw_the_fork(fork, partial(begin, other))


class ApplicationRoad(NamedTuple):
    """A road, and the features that it needs."""

    lead: Callable[[ApplicationFork, BeginHome], Moved]
    needs: tuple[str, ...] = ()


APPLICATION_ROADS: Final[Mapping[str, ApplicationRoad]] = {
    "fresh": ApplicationRoad(_never_saw_the_fork),
    "drop": ApplicationRoad(_drop_the_branch),
    "rewind": ApplicationRoad(_rewind_the_branch, ("forks", "early")),
    "rewrite": ApplicationRoad(_come_back_and_go_again, ("forks", "early")),
    "snapshot": ApplicationRoad(_join_from_a_snapshot, ("snapshot", "restore")),
    "restart": ApplicationRoad(_restart_in_the_middle),
    "cold-replay": ApplicationRoad(_replay_cold),
}
"""Every road by name; the first road never sees the abandoned branch."""


def lacking(plan: ApplicationReorgs, road: str) -> str:
    """Return the feature that a road needs and the application lacks; empty if it has all."""
    return next((name for name in APPLICATION_ROADS[road].needs if name not in plan.greeting.features), "")


def measure_application(plan: ApplicationReorgs) -> Iterator[DepthResult]:
    """Yield the result of each fork, in the order of depths."""
    for depth in plan.depths:
        with TemporaryDirectory(prefix="stampede-reorgs-") as folder, ForkHomes(plan, depth, Path(folder)) as homes:
            yield _measure(homes)


_FAULTS: Final = (RoadDifferenceError, ApplicationLostError, RootMismatchError, ForgottenBlockError)
"""Errors of an application on a road."""


def _measure(homes: ForkHomes) -> DepthResult:
    entry = partial(DepthResult, policy="", depth=homes.depth, pivot=homes.plan.pivot)
    try:
        fork = build_application_fork(homes)
    except ForkError as error:
        return entry(findings=(), reason=str(error))
    except _FAULTS as error:
        # Two lives have built it, neither of which saw both branches.
        return entry(findings=(RoadFinding("fresh", "differs", 0, f"while the fork was built: {error}"),))
    finally:
        homes.end()
    return entry(findings=tuple(_lead(road, fork, homes) for road in APPLICATION_ROADS))


def _lead(road: str, fork: ApplicationFork, homes: ForkHomes) -> RoadFinding:
    if feature := lacking(homes.plan, road):
        return RoadFinding(road, "not asked", 0, f"not asked: the application lacks {feature}")
    try:
        found, expected = APPLICATION_ROADS[road].lead(fork, partial(homes.begin, fork.genesis))
    except _FAULTS as error:
        return RoadFinding(road, "differs", 0, str(error))
    finally:
        homes.end()
    if found != expected:
        return RoadFinding(road, "inconclusive", found, f"{counted(found, 'blocks')} moved, expected {expected}")
    return RoadFinding(road, "equal", found)
