"""The fault catalogue as data: what a scenario file may say under ``[faults.NAME]``.

Each kind says whom it hits and when; times are virtual milliseconds from the start of the run. What
a type can refuse is refused here, what needs the whole cluster in ``faults.plan``.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import msgspec

from network.conditions import RuleAction
from validators.storage import Boundary

Milliseconds = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
VALIDATOR_TITLE = "validator"
"""Tells a validator's number from any other number in the type of a value."""

Validator = Annotated[int, msgspec.Meta(ge=0, title=VALIDATOR_TITLE)]
Link = tuple[Validator, Validator]
Range = tuple[NotNegative, NotNegative]
PartsPerMillion = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
FileGroup = Literal["journal", "blocks", "operations", "snapshot"]
Factor = Annotated[int, msgspec.Meta(ge=2, le=1_000_000)]


class _Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    enabled: bool = True


class Partition(_Fault, tag="partition", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut every link between different groups; a validator in no group is a group of its own."""

    groups: tuple[tuple[Validator, ...], ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds


class Cut(_Fault, tag="cut", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut single links in one direction each, from the first validator to the second."""

    links: tuple[Link, ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds


class Flapping(_Fault, tag="flapping", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A partition that comes and goes: cut for ``cut_ms``, open for ``open_ms``, and again."""

    groups: tuple[tuple[Validator, ...], ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds
    cut_ms: Positive
    open_ms: Positive


class IsolateLeader(_Fault, tag="isolate-leader", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut off whoever leads the greatest view that anybody has entered; with ``open_ms`` it comes and goes."""

    start_ms: Milliseconds
    stop_ms: Milliseconds
    cut_ms: Milliseconds = 0
    open_ms: Milliseconds = 0


class Links(_Fault, tag="links", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Make links worse: latency, loss, reordering, copies, damage. Without ``between`` every link is hit."""

    start_ms: Milliseconds = 0
    stop_ms: Milliseconds
    between: tuple[Link, ...] = ()
    latency_ms: Positive | None = None
    jitter_ms: Milliseconds = 0
    loss_ppm: PartsPerMillion = 0
    reorder_ppm: PartsPerMillion = 0
    reorder_extra_ms: Milliseconds = 0
    duplicate_ppm: PartsPerMillion = 0
    corrupt_ppm: PartsPerMillion = 0


class Rule(_Fault, tag="rule", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Drop, hold or delay single messages, by kind, view, height, sender and receiver; what is left out admits all.

    Held messages are released at ``release_ms``, or else when the rule stops; those to ``first_to`` at ``first_ms``
    already. ``release_gap_ms`` lies between two released messages of one receiver.
    """

    action: RuleAction
    start_ms: Milliseconds = 0
    stop_ms: Milliseconds
    kinds: tuple[str, ...] = ()
    views: tuple[Range, ...] = ()
    heights: tuple[Range, ...] = ()
    senders: tuple[Validator, ...] = msgspec.field(default=(), name="from")
    receivers: tuple[Validator, ...] = msgspec.field(default=(), name="to")
    delay_ms: Milliseconds = 0
    release_ms: Milliseconds | None = None
    release_gap_ms: Milliseconds = 0
    first_to: tuple[Validator, ...] = ()
    first_ms: Milliseconds | None = None

    @property
    def released_ms(self) -> int:
        """When the last held message is let go."""
        return self.stop_ms if self.release_ms is None else self.release_ms


class Crash(_Fault, tag="crash", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Stop one validator in an instant: memory and unsynced writes are gone. It restarts from its disk."""

    validator: Validator
    at_ms: Milliseconds
    restart_ms: Milliseconds


class Blackout(_Fault, tag="blackout", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut the power of validators in one instant; they come back at one later time, or ``restart_every_ms`` apart."""

    validators: tuple[Validator, ...]
    at_ms: Milliseconds
    restart_ms: Milliseconds
    restart_every_ms: Milliseconds = 0

    def restarts_ms(self) -> Iterator[tuple[int, int]]:
        """Yield each validator with the time at which it comes back, in the order in which they are named."""
        for place, node in enumerate(self.validators):
            yield node, self.restart_ms + place * self.restart_every_ms


class Pause(_Fault, tag="pause", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Hold back all events of one validator and deliver them when it is resumed; its clock goes on."""

    validator: Validator
    start_ms: Milliseconds
    stop_ms: Milliseconds


class Slow(_Fault, tag="slow", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """All work of one validator (executing, verifying, syncing) takes ``factor`` times as long."""

    validator: Validator
    factor: Factor
    start_ms: Milliseconds
    stop_ms: Milliseconds


class CrashAtBoundary(_Fault, tag="crash-at-boundary", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Crash one validator at a boundary of its write-ahead order: at one occurrence, or at each ``every``-th.

    ``after-send`` is when the first message of a vote's broadcast has left and the others have not.
    """

    validator: Validator
    boundary: Boundary
    start_ms: Milliseconds
    stop_ms: Milliseconds
    occurrence: Positive = 1
    every: NotNegative = 0
    restart_after_ms: Positive


class Wipe(_Fault, tag="wipe", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut the power of one validator, put an empty disk in, and switch it on again."""

    validator: Validator
    at_ms: Milliseconds
    restart_ms: Milliseconds


class _DiskFault(_Fault, kw_only=True, frozen=True, forbid_unknown_fields=True):
    validator: Validator
    start_ms: Milliseconds
    stop_ms: Milliseconds


class BitRot(_DiskFault, tag="bit-rot", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Sectors of one validator's disk go bad when they are read: one bit, from then on."""

    ppm: PartsPerMillion
    files: tuple[FileGroup, ...] = ()


class StaleReads(_DiskFault, tag="stale-read", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Sectors of one validator's disk read as an earlier sync left them, from then on."""

    ppm: PartsPerMillion
    files: tuple[FileGroup, ...] = ()


class MisdirectedWrites(_DiskFault, tag="misdirected-write", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Writes of one validator land on synced bytes elsewhere; their own place holds zeros."""

    ppm: PartsPerMillion
    files: tuple[FileGroup, ...] = ()


class IoErrorFault(_DiskFault, tag="io-error", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Reads, writes and syncs of one validator fail; at the end it is restarted if it stopped over that."""

    read_ppm: PartsPerMillion = 0
    write_ppm: PartsPerMillion = 0
    sync_ppm: PartsPerMillion = 0


class DiskFull(_DiskFault, tag="disk-full", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One validator's disk takes ``spare_bytes`` more and no byte beyond; at the end it is restarted if it stopped."""

    spare_bytes: NotNegative = 0


class SlowDisk(_DiskFault, tag="slow-disk", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Each sync of one validator takes ``factor`` times as long and ``extra_ms`` on top."""

    factor: Positive = 1
    extra_ms: Milliseconds = 0


class TornWrites(_Fault, tag="torn-writes", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Crashes of these validators leave part of what was not synced: a prefix, or a random subset of sectors."""

    validators: tuple[Validator, ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds


NetworkFault = Partition | Cut | Flapping | IsolateLeader | Links | Rule
MachineFault = Crash | Blackout | Pause | Slow | CrashAtBoundary | Wipe
DiskFault = BitRot | StaleReads | MisdirectedWrites | IoErrorFault | DiskFull | SlowDisk | TornWrites
Fault = NetworkFault | MachineFault | DiskFault


def span_ms(fault: Fault) -> tuple[int, int]:
    """Return when the fault starts and when nothing of it is left, in virtual milliseconds."""
    if isinstance(fault, Crash | Wipe):
        return fault.at_ms, fault.restart_ms
    if isinstance(fault, Blackout):
        return fault.at_ms, max((at_ms for _, at_ms in fault.restarts_ms()), default=fault.restart_ms)
    if isinstance(fault, CrashAtBoundary):
        return fault.start_ms, fault.stop_ms + fault.restart_after_ms
    if isinstance(fault, Rule) and fault.action == "hold":
        return fault.start_ms, fault.released_ms
    return fault.start_ms, fault.stop_ms


def cut_windows_ms(fault: Flapping | IsolateLeader) -> Iterator[tuple[int, int]]:
    """Yield when a cut that comes and goes begins and ends; a cut that is never open has one window."""
    if not fault.open_ms:
        yield fault.start_ms, fault.stop_ms
        return
    for start_ms in range(fault.start_ms, fault.stop_ms, fault.cut_ms + fault.open_ms):
        yield start_ms, min(start_ms + fault.cut_ms, fault.stop_ms)


def kind_of(fault: Fault) -> str:
    """Return what a scenario file calls the fault's kind."""
    return str(type(fault).__struct_config__.tag)


def faults_from(plan: Mapping[str, Fault], start_us: int) -> dict[str, Fault]:
    """Return a plan without what begins before this time: a run that goes on later cannot show it."""
    return {
        name: fault if span_ms(fault)[0] * 1_000 >= start_us else msgspec.structs.replace(fault, enabled=False)
        for name, fault in plan.items()
    }


def named_validators(fault: Fault) -> tuple[int, ...]:
    """Return every validator that the fault names, in the order in which it does."""
    match fault:
        case Blackout() | TornWrites():
            return fault.validators
        case Partition() | Flapping():
            return tuple(node for group in fault.groups for node in group)
        case Cut() | Links():
            links = fault.links if isinstance(fault, Cut) else fault.between
            return tuple(node for link in links for node in link)
        case Rule():
            return (*fault.senders, *fault.receivers, *fault.first_to)
        case IsolateLeader():
            return ()
        case _:
            return (fault.validator,)
