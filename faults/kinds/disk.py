"""Faults of disks: sectors that go bad, writes that go astray, operations that fail or take long."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, ClassVar, Final

from faults.coverage.required import VOTING, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.steps import Edge
from faults.kinds.base import FOREVER, Family, Loss, Occupied, Part, Plan, Windowed
from faults.kinds.drawing import Drawn, Plain, draw_validator, draw_window
from faults.kinds.fields import (
    FileGroup,
    Milliseconds,
    NotNegative,
    PartsPerMillion,
    Positive,
    Requirement,
    Validator,
    distinct,
    means,
    no_repeats,
)
from faults.kinds.wording import join, seconds, share, who
from network.draw import Draw
from network.types import MILLISECOND_US
from validators import storage

_WRITES: Final[Mapping[storage.Write, str]] = {
    "append": "appends",
    "overwrite": "overwrites",
    "truncate": "truncations",
}
"""Words for kinds of writes."""


class DiskFault(Windowed, kw_only=True, frozen=True):
    """A fault of a validator's disk; most disk faults are a condition of its medium."""

    family: ClassVar[Family] = "disk"
    reaches: ClassVar[tuple[Part, ...]] = ("disks",)
    touches_disk: ClassVar[bool] = True
    restarts_halted: ClassVar[bool] = False
    """Whether the operator restarts a validator at the end if it halted because of its disk."""

    validator: Annotated[Validator, means("The validator whose disk is hit.")]
    stop_ms: Annotated[Milliseconds, means("When it ends.")]

    def condition(self, used_bytes: int) -> storage.Condition:
        """Return the condition of a medium that holds this many bytes at the start."""
        raise NotImplementedError

    def losses(self, nodes: int) -> Iterator[Loss]:
        # A validator that halts because of its disk is restarted at the end; a damaged journal costs its vote for good.
        stop_ms = FOREVER if self.destroys_synced else self.stop_ms
        if self.restarts_halted or self.destroys_synced:
            yield Loss(self.start_ms, stop_ms, off=self.targets(), is_sure=False)

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        yield from impose_on_media(self, context)


class _Damage(DiskFault, kw_only=True, frozen=True):
    """Damage of synced data: at most f validators may be hit over the whole plan."""

    destroys_synced: ClassVar[bool] = True
    medium: ClassVar[type[storage.BitFlip | storage.StaleRead | storage.MisdirectedWrite]]
    effect: ClassVar[str]

    stop_ms: Annotated[Milliseconds, means("When it ends. Damaged bytes stay damaged.")]
    ppm: Annotated[PartsPerMillion, means("The share of operations that are hit.")]
    files: Annotated[tuple[FileGroup, ...], means("The files that may be hit; left out: all.")] = ()

    def condition(self, used_bytes: int) -> storage.Condition:
        return self.medium(self.ppm, self.files)

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield "ppm", self.ppm > 0, "changes nothing; give at least 1"

    def describe(self) -> str:
        files = f" under {join(self.files)}" if self.files else ""
        return f"{self.when()} on the disk of validator {self.validator}{files} {share(self.ppm)} {self.effect}."


class BitRot(_Damage, tag="bit-rot", kw_only=True, frozen=True):
    """When one validator reads a sector of its disk, one bit of the sector may flip and stay flipped."""

    counts: ClassVar[str] = "sectors"
    cells: ClassVar[RequiredPoints] = (("recovering", "voter"),)
    medium: ClassVar = storage.BitFlip
    effect: ClassVar[str] = "of the sectors that are read have a bit flipped from then on"

    both_copies: Annotated[
        bool, means("Whether both copies of the journal may be hit in one place, which costs the validator its vote.")
    ] = False

    def condition(self, used_bytes: int) -> storage.Condition:
        return storage.BitFlip(self.ppm, self.files, self.both_copies)

    def describe(self) -> str:
        return super().describe() + " Both copies of its journal may be hit in one place." * self.both_copies

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(15, "bit-rot", _draw_bit_rot, companion=_draw_restart),)


class StaleReads(_Damage, tag="stale-read", kw_only=True, frozen=True):
    """When one validator reads a sector of its disk, the sector may go back for good to what an earlier sync left."""

    counts: ClassVar[str] = "sectors"
    cells: ClassVar[RequiredPoints] = (("recovering", "voter"),)
    medium: ClassVar = storage.StaleRead
    effect: ClassVar[str] = "of the sectors that are read show what an earlier sync left there, from then on"


class MisdirectedWrites(_Damage, tag="misdirected-write", kw_only=True, frozen=True):
    """Writes of one validator land on synced bytes elsewhere; their own place holds zeros."""

    counts: ClassVar[str] = "appends"
    cells: ClassVar[RequiredPoints] = (("voted", "voter"),)
    medium: ClassVar = storage.MisdirectedWrite
    effect: ClassVar[str] = "of the writes land in another place and destroy what stood there"


class IoErrorFault(DiskFault, tag="io-error", kw_only=True, frozen=True):
    """Reads, writes and syncs of one validator fail; a validator that stopped over a failure restarts at the end."""

    counts: ClassVar[str] = "failures"
    cells: ClassVar[RequiredPoints] = ()
    reaches: ClassVar[tuple[Part, ...]] = ("power", "disks")
    restarts_halted: ClassVar[bool] = True

    read_ppm: Annotated[PartsPerMillion, means("Reads that fail.")] = 0
    write_ppm: Annotated[PartsPerMillion, means("Writes that fail.")] = 0
    sync_ppm: Annotated[PartsPerMillion, means("Syncs that fail.")] = 0
    files: Annotated[tuple[FileGroup, ...], means("The files whose reads and writes may fail; left out: all.")] = ()
    writes: Annotated[tuple[storage.Write, ...], means("The kinds of writes that may fail; left out: all.")] = ()

    def check(self, plan: Plan) -> Iterator[Requirement]:
        is_failing = any((self.read_ppm, self.write_ppm, self.sync_ppm))
        yield "kind", is_failing, "changes nothing; give at least one of read_ppm, write_ppm and sync_ppm"
        yield "files", not (self.files and self.sync_ppm), "a sync is of all files: leave out files or sync_ppm"
        yield "writes", not self.writes or self.write_ppm > 0, "no write fails: give write_ppm, or leave out writes"
        yield no_repeats("writes", self.writes)

    def describe(self) -> str:
        writes = join([_WRITES[write] for write in self.writes]) if self.writes else "writes"
        rates = (("reads", self.read_ppm), (writes, self.write_ppm), ("syncs", self.sync_ppm))
        failing = join([f"{share(ppm)} of {what}" for what, ppm in rates if ppm])
        failing += f" under {join(self.files)}" if self.files else ""
        end = "if it stops, it is restarted at the end"
        return f"{self.when()} {failing} on the disk of validator {self.validator} fail; {end}."

    def condition(self, used_bytes: int) -> storage.Condition:
        return storage.IoErrors(self.read_ppm, self.write_ppm, self.sync_ppm, self.files, self.writes)


class DiskFull(DiskFault, tag="disk-full", kw_only=True, frozen=True):
    """One validator's disk takes ``spare_bytes`` more; a validator that stopped restarts at the end."""

    counts: ClassVar[str] = "appends that did not fit"
    cells: ClassVar[RequiredPoints] = (("verifying", "voter"),)
    reaches: ClassVar[tuple[Part, ...]] = ("power", "disks")
    restarts_halted: ClassVar[bool] = True

    spare_bytes: Annotated[NotNegative, means("The bytes that fit in on top of the bytes at the start.")] = 0

    def describe(self) -> str:
        room = f"{self.spare_bytes} more bytes" if self.spare_bytes else "nothing more"
        end = "if it stops, it is restarted at the end"
        return f"{self.when()} the disk of validator {self.validator} takes {room}; {end}."

    def condition(self, used_bytes: int) -> storage.Condition:
        return storage.FullDisk(used_bytes + self.spare_bytes)


class SlowDisk(DiskFault, tag="slow-disk", kw_only=True, frozen=True):
    """Each sync of one validator takes ``factor`` times as long and ``extra_ms`` on top."""

    counts: ClassVar[str] = "syncs"
    cells: ClassVar[RequiredPoints] = (*VOTING, ("certifying", "leader"), ("certifying", "voter"))
    reaches: ClassVar[tuple[Part, ...]] = ("pace",)

    factor: Annotated[Positive, means("How many times as long a sync takes.")] = 1
    extra_ms: Annotated[Milliseconds, means("What a sync takes on top.")] = 0

    def occupies(self) -> Occupied | None:
        return Occupied("disk pace", "slow at its disk")

    def check(self, plan: Plan) -> Iterator[Requirement]:
        is_slower = self.factor > 1 or self.extra_ms > 0
        yield "factor", is_slower, "changes nothing; give factor (2 or more) or extra_ms"

    def describe(self) -> str:
        longer = [f"{self.factor} times as long"] * (self.factor > 1)
        longer += [f"{seconds(self.extra_ms)} more"] * (self.extra_ms > 0)
        return f"{self.when()} each sync of validator {self.validator} takes {join(longer)}."

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        begin = partial(context.power.slow_disk, self.validator, self.factor, self.extra_ms * MILLISECOND_US)
        end = partial(context.power.speed_up_disk, self.validator)
        meter, nodes = context.power.slowed_disk, self.targets()
        yield from context.metered_window(self.span(), begin, end, meter=meter, nodes=nodes)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(13, "slow-disk", _draw_slow),)


class TornWrites(Windowed, tag="torn-writes", kw_only=True, frozen=True):
    """Crashes of these validators leave a part of the unsynced writes: a prefix, or a random subset of sectors."""

    counts: ClassVar[str] = "files with a part left"
    cells: ClassVar[RequiredPoints] = (("verifying", "voter"), ("certifying", "voter"))
    family: ClassVar[Family] = "disk"
    reaches: ClassVar[tuple[Part, ...]] = ("disks",)
    touches_disk: ClassVar[bool] = True
    restarts_halted: ClassVar[bool] = False

    validators: Annotated[tuple[Validator, ...], means("The validators; a crash has to come from another fault.")]

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield "validators", bool(self.validators), "names no validator; give at least one"
        yield distinct("validators", self.validators)

    def describe(self) -> str:
        left = "leaves a part of what was not synced on the disk"
        return f"{self.when()} a crash of {who(self.validators)} {left}."

    def condition(self, used_bytes: int) -> storage.Condition:
        return storage.TornWrite()

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        yield from impose_on_media(self, context)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(14, "torn-writes", _draw_torn, companion=_draw_boundary),)


def impose_on_media(fault: DiskFault | TornWrites, context: FaultContext) -> tuple[Edge, Edge]:
    """Return the edges of a window in which the media of a fault's targets have its condition."""
    power, name = context.power, context.name

    def begin() -> None:
        for node in fault.targets():
            disk = power.disk(node)
            disk.medium.impose(name, fault.condition(disk.used_bytes))

    def end() -> None:
        for node in fault.targets():
            power.disk(node).medium.lift(name)
            if fault.restarts_halted:
                power.revive(node)

    def touched(node: int) -> int:
        return power.disk(node).medium.touched(name)

    return context.metered_window(fault.span(), begin, end, meter=touched, nodes=fault.targets())


def _draw_slow(draw: Draw, name: str, validators: int) -> Plain:
    return {
        "validator": draw_validator(draw, name, validators),
        "factor": draw.one_of(f"{name}.factor", (2, 20)),
        "extra_ms": draw.one_of(f"{name}.extra_ms", (0, 150)),
        **draw_window(draw, name),
    }


def _draw_bit_rot(draw: Draw, name: str, validators: int) -> Plain:
    return {
        "validator": draw_validator(draw, name, validators),
        "ppm": draw.one_of(f"{name}.ppm", (20_000, 200_000)),
        "files": draw.one_of(f"{name}.files", (["blocks"], ["operations"])),
        **draw_window(draw, name),
    }


def _draw_restart(draw: Draw, name: str, fault: Plain, _validators: int) -> Plain:
    """Return a restart while the fault is active, because a restarted validator reads most of its disk."""
    at_ms = draw.between(f"{name}.at_ms", fault["start_ms"] + 100, fault["stop_ms"] - 500)
    restart_ms = at_ms + draw.between(f"{name}.down_ms", 100, 400)
    return {"kind": "crash", "validator": fault["validator"], "at_ms": at_ms, "restart_ms": restart_ms}


def _draw_torn(draw: Draw, name: str, validators: int) -> Plain:
    return {"validators": list(range(validators)), **draw_window(draw, name)}


def _draw_boundary(draw: Draw, name: str, fault: Plain, validators: int) -> Plain:
    """Return a crash between a write and its sync, because only unsynced data can be torn."""
    return {
        "kind": "crash-at-boundary",
        "validator": draw_validator(draw, name, validators),
        "boundary": "after-append",
        "occurrence": draw.between(f"{name}.occurrence", 1, 6),
        "restart_after_ms": draw.between(f"{name}.restart_after_ms", 100, 1_500),
        "start_ms": fault["start_ms"],
        "stop_ms": fault["stop_ms"],
    }
