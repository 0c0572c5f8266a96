"""The interface of a kind of fault, and the base classes of kinds.

A kind is a frozen struct: its fields are the keys of `[faults.NAME]`, its docstring describes them, its methods are
everything that the rest of the project asks of a fault. No other module knows a kind by its type.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, NamedTuple, Self, TypeAlias, get_args

import msgspec

from faults.anchors.anchor import Anchor
from faults.coverage.required import DEFAULT, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.steps import Edge
from faults.kinds.drawing import Drawn
from faults.kinds.fields import Link, Milliseconds, Requirement, Start, Stop, means
from faults.kinds.numbers import validators_of
from faults.kinds.wording import seconds
from network.regions import Region

Family: TypeAlias = Literal["network", "machine", "disk", "clock", "validator", "other"]

Part: TypeAlias = Literal["links", "power", "pace", "disks", "clocks"]

EVERYTHING: Final[tuple[Part, ...]] = get_args(Part)
"""The parts of the test bed: the fate of messages, power, the speed of machines, the contents of disks, the time."""

Resource: TypeAlias = Literal["power", "pace", "disk pace", "clock"]

RESOURCES: Final[Sequence[Resource]] = ("power", "pace", "disk pace", "clock")
"""Parts of a machine that only one fault at a time may use."""


class Occupied(NamedTuple):
    """The part of a machine that a fault uses exclusively, and the word for the machine's state meanwhile."""

    resource: Resource
    state: str


FOREVER: Final = 1 << 63
"""The end in milliseconds of a permanent loss: above every time of a plan."""


class Loss(NamedTuple):
    """A window of the plan in which validators are off or links carry nothing, in milliseconds.

    Attributes:
        start_ms: Its beginning.
        stop_ms: Its end; FOREVER for a permanent loss.
        off: The validators that are off, paused, or without a vote.
        links: The directed links that carry nothing.
        of_leader: Whether all links of the current leader carry nothing.
        on_ms: The length of each period of a periodic loss; else 0.
        rest_ms: The length of each gap of a periodic loss; else 0.
        is_sure: Whether the loss is complete during the whole window; else only the run shows the loss and its time.
    """

    start_ms: int
    stop_ms: int
    off: tuple[int, ...] = ()
    links: tuple[Link, ...] = ()
    of_leader: bool = False
    on_ms: int = 0
    rest_ms: int = 0
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """The fault plan of a cluster, for the rules of a kind; observers are numbered after the validators."""

    faults: "Mapping[str, Fault]"
    validators: int
    observers: int
    engine: str
    is_foreign: bool = False
    """Whether the validators have an application with rules of its own."""

    @property
    def replicas(self) -> int:
        """The number of validators and observers together."""
        return self.validators + self.observers


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    """The interface of every kind of fault; only `inject` has no default.

    Attributes:
        enabled: A fault that is not enabled stays in the plan and does nothing.
        may_be_idle: An enabled fault without effect makes a run inconclusive, unless it may be idle.
        anchor: The moment from which its times count; without one they count from the beginning of the run.
        family: The heading under which the kind is listed.
        counts: The unit of its count, the figure `fault_NAME` of a run.
        cells: The stages and roles that a campaign with this kind has to reach.
        end_key: The key whose value must lie after the start.
        reaches: The parts of the test bed that it may touch. The audit does not follow a kind of a plug-in, and leaves
            these parts out from the first edge of its fault on.
        touches_disk: Whether it damages or slows a simulated disk.
        destroys_synced: Whether it may destroy synced data of a validator.
        only_stops: Whether it only stops and restarts validators.
        is_byzantine: Whether no check judges its validator.
        draws_ahead: Whether `inject` draws moments or places, each with `Chance.at` the time at which it is used; it
            is called again when the chance of a run changes, and then has to do nothing else.
    """

    family: ClassVar[Family] = "other"
    counts: ClassVar[str] = ""
    cells: ClassVar[RequiredPoints] = DEFAULT
    end_key: ClassVar[str] = "stop_ms"
    reaches: ClassVar[tuple[Part, ...]] = EVERYTHING
    touches_disk: ClassVar[bool] = False
    destroys_synced: ClassVar[bool] = False
    only_stops: ClassVar[bool] = False
    is_byzantine: ClassVar[bool] = False
    draws_ahead: ClassVar[bool] = False

    enabled: bool = True
    may_be_idle: bool = False
    anchor: Anchor | None = None

    def span(self) -> tuple[int, int]:
        """Return the start and end of the fault's effects, in milliseconds from its anchor or the start of the run."""
        raise NotImplementedError

    def bounds(self, node: int | None = None) -> tuple[int, int]:
        """Return the time of the run in which the fault can be active, at any time of its anchor; or at a validator."""
        start_ms, stop_ms = self.span() if node is None else self.span_at(node)
        return (start_ms, stop_ms) if self.anchor is None else self.anchor.bounds(start_ms, stop_ms)

    def sentence(self) -> str:
        """Return a sentence for the fault, with its anchor."""
        told = self.describe()
        return (
            told if self.anchor is None else f"Counted from when {self.anchor.describe()}: {told[0].lower()}{told[1:]}"
        )

    def targets(self) -> tuple[int, ...]:
        """Return every validator that the fault names, in the order of its fields."""
        return tuple(validators_of(self))

    def check(self, plan: Plan) -> Iterable[Requirement]:
        """Return the rules of the kind about this fault: the key, whether the rule holds, the allowed values."""
        return ()

    def describe(self) -> str:
        """Return a sentence for the fault: its targets, effect, start and end."""
        raise NotImplementedError

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        """Yield the moments of the fault, each with its action."""
        raise NotImplementedError

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        """Return the ways in which the swarm draws this kind; empty if the swarm never draws it."""
        return ()

    def span_at(self, node: int) -> tuple[int, int]:
        """Return the part of the span in which a validator is hit."""
        return self.span()

    def occupies(self) -> Occupied | None:
        """Return the part of the machine that no other fault may use meanwhile."""
        return None

    def installs(self) -> tuple[tuple[str, int], ...]:
        """Return the builds of an application that it installs, each with the height from which it may differ."""
        return ()

    def runs_on_real_disks(self) -> bool:
        """Whether the fault can be injected where validators have directories for disks."""
        return not self.touches_disk

    def twinned(self) -> tuple[int, ...]:
        """Return the validators to which the fault gives a second machine."""
        return ()

    def exceeds_f(self) -> bool:
        """Whether the fault allows more than f Byzantine validators in its plan."""
        return False

    def lead_ms(self) -> int:
        """Return how far ahead of true time the fault puts a clock at most."""
        return 0

    def losses(self, nodes: int) -> Iterable[Loss]:
        """Return the windows in which validators or links are lost, or may be lost."""
        return ()

    def lost_views_ppm(self, validators: int) -> int:
        """Return the approximate share of lost views besides its losses, in parts per million: only for estimates."""
        return 0

    def resolved(self, regions: Sequence[Region], validators: int) -> Self:
        """Return the fault with numbers of validators in place of regions, or of an empty list that means all.

        Args:
            regions: The region of each validator, if `[network]` has any.
            validators: The number of validators.

        Raises:
            ValueError: A region is without a validator.
        """
        return self

    def moments(self) -> int:
        """Return the approximate number of its moments, without its outages."""
        return 2

    def outages(self, replicas: int) -> int:
        """Return the approximate number of outages that it draws."""
        return 0


def problem_of(kind: type[Fault]) -> str:
    """Return the error in the declarations of a kind, or an empty string."""
    if not isinstance(kind.reaches, tuple) or any(part not in EVERYTHING for part in kind.reaches):
        return f"reaches {kind.reaches!r}: it must be a tuple of {', '.join(EVERYTHING)}"
    return ""


class Windowed(Fault, kw_only=True, frozen=True):
    """A fault that is active from `start_ms` to `stop_ms`."""

    start_ms: Start
    stop_ms: Stop

    def span(self) -> tuple[int, int]:
        """Return `start_ms` and `stop_ms`."""
        return self.start_ms, self.stop_ms

    def when(self) -> str:
        """Return the beginning of the sentence."""
        return f"From {seconds(self.start_ms)} to {seconds(self.stop_ms)}"


class Outage(Fault, kw_only=True, frozen=True):
    """A loss of power from `at_ms` to `restart_ms`."""

    family: ClassVar[Family] = "machine"
    end_key: ClassVar[str] = "restart_ms"

    at_ms: Annotated[Milliseconds, means("When it stops.")]
    restart_ms: Annotated[Milliseconds, means("When it restarts.")]

    def span(self) -> tuple[int, int]:
        """Return `at_ms` and `restart_ms`."""
        return self.at_ms, self.restart_ms

    def losses(self, nodes: int) -> Iterable[Loss]:
        """Return its loss, of the validators that it names."""
        return (Loss(*self.span(), off=self.targets()),)

    def occupies(self) -> Occupied | None:
        """Return the machine's power."""
        return DOWN


DOWN: Final = Occupied("power", "down")


def windows_ms(start_ms: int, stop_ms: int, on_ms: int, off_ms: int) -> Iterator[tuple[int, int]]:
    """Yield the windows of a periodic fault; a fault without gaps has a single window."""
    if not off_ms:
        yield start_ms, stop_ms
        return
    for begin_ms in range(start_ms, stop_ms, on_ms + off_ms):
        yield begin_ms, min(begin_ms + on_ms, stop_ms)


def moments_of(span_ms: int, period_ms: int) -> int:
    """Return the approximate number of moments of a fault that begins and ends in each period."""
    return 2 * -(-span_ms // period_ms)
