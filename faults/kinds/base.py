"""The interface of a kind of fault, and the bases that a kind is derived from.

A kind is one frozen struct: its fields are the keys of `[faults.NAME]`, its docstring describes them, its methods are
everything that the rest of the project asks of a fault. Nothing else knows a kind by its type.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, NamedTuple, Self, TypeAlias, get_args

import msgspec

from faults.anchors.anchor import Anchor
from faults.coverage.required import DEFAULT, Cells
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
"""The parts of the test bed: what messages become, who is on, how fast a machine works, what disks hold, the time."""

Resource: TypeAlias = Literal["power", "pace", "disk pace", "clock"]

RESOURCES: Final[Sequence[Resource]] = ("power", "pace", "disk pace", "clock")
"""Parts of a machine that one fault at a time may have."""


class Occupied(NamedTuple):
    """The part of a machine that a fault has to itself, and what the machine is called meanwhile."""

    resource: Resource
    state: str


FOREVER: Final = 1 << 63
"""The end in milliseconds of a loss that stays: above every time of a plan."""


class Loss(NamedTuple):
    """A time in which validators are off, or links carry nothing, as the plan states it, in milliseconds.

    Attributes:
        start_ms: Its beginning.
        stop_ms: Its end; FOREVER where what is lost does not come back.
        off: The validators that are off, stand still, or have no vote.
        links: The directed links that carry nothing.
        of_leader: Whether all links of the leader of the moment carry nothing.
        on_ms: For a loss that comes and goes, how long it is there each time; else 0.
        rest_ms: For a loss that comes and goes, how long it is not there in between; else 0.
        is_sure: Whether all of it is lost all the time; else the run shows what is lost, and when.
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
    """The interface of every kind of fault; `inject` has to be written, all else has a default.

    Attributes:
        enabled: A fault that is not enabled stays in the plan and does nothing.
        may_be_idle: An enabled fault without effect makes a run inconclusive, unless it may be idle.
        anchor: The moment from which its times count; without one they count from the beginning of the run.
        family: The heading under which the kind is listed.
        counts: What its count is of: the figure `fault_NAME` of a run.
        cells: The stages and roles that a campaign with this kind has to reach.
        end_key: The key whose value must lie after the start.
        reaches: The parts of the test bed that it may touch. The audit does not follow a kind of a plug-in, and leaves
            these parts out from the first edge of its fault on.
        touches_disk: Whether it makes a simulated disk worse.
        destroys_synced: Whether it may destroy what a validator has synced.
        only_stops: Whether validators that stop and restart are all that comes of it.
        is_byzantine: Whether its validator is judged by no check.
    """

    family: ClassVar[Family] = "other"
    counts: ClassVar[str] = ""
    cells: ClassVar[Cells] = DEFAULT
    end_key: ClassVar[str] = "stop_ms"
    reaches: ClassVar[tuple[Part, ...]] = EVERYTHING
    touches_disk: ClassVar[bool] = False
    destroys_synced: ClassVar[bool] = False
    only_stops: ClassVar[bool] = False
    is_byzantine: ClassVar[bool] = False

    enabled: bool = True
    may_be_idle: bool = False
    anchor: Anchor | None = None

    def span(self) -> tuple[int, int]:
        """Return when the fault starts and when nothing of it is left, in milliseconds from its anchor or the start."""
        raise NotImplementedError

    def bounds(self, node: int | None = None) -> tuple[int, int]:
        """Return the time of the run in which the fault can be at work, wherever its anchor comes; at one validator."""
        start_ms, stop_ms = self.span() if node is None else self.span_at(node)
        return (start_ms, stop_ms) if self.anchor is None else self.anchor.bounds(start_ms, stop_ms)

    def sentence(self) -> str:
        """Return what the fault does as one sentence, with the moment that its times count from."""
        told = self.describe()
        return (
            told if self.anchor is None else f"Counted from when {self.anchor.describe()}: {told[0].lower()}{told[1:]}"
        )

    def targets(self) -> tuple[int, ...]:
        """Return every validator that the fault names, in the order of its fields."""
        return tuple(validators_of(self))

    def check(self, plan: Plan) -> Iterable[Requirement]:
        """Return the rules of the kind about this fault: key, whether it is kept, what is allowed."""
        return ()

    def describe(self) -> str:
        """Return the fault as one sentence: who, what, when, until when."""
        raise NotImplementedError

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        """Yield the moments of the fault, each with what is done then."""
        raise NotImplementedError

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        """Return the ways in which the swarm draws this kind; without one it draws none."""
        return ()

    def span_at(self, node: int) -> tuple[int, int]:
        """Return the part of the span in which one validator is hit."""
        return self.span()

    def occupies(self) -> Occupied | None:
        """Return what no other fault may have of the same machine meanwhile."""
        return None

    def runs_on_real_disks(self) -> bool:
        """Whether the fault can be injected where validators have directories for disks."""
        return not self.touches_disk

    def exceeds_f(self) -> bool:
        """Whether the fault allows more than f Byzantine validators in its plan."""
        return False

    def lead_ms(self) -> int:
        """Return how far ahead of true time the fault puts a clock at most."""
        return 0

    def losses(self, nodes: int) -> Iterable[Loss]:
        """Return the times in which it takes validators or links away, or may do so."""
        return ()

    def lost_views_ppm(self, validators: int) -> int:
        """Return about how many of a million views it costs beside its losses: a guess, for estimates alone."""
        return 0

    def resolved(self, regions: Sequence[Region], validators: int) -> Self:
        """Return the fault with validators by number in the place of regions, and of none where none stands for all.

        Args:
            regions: The region of each validator, if `[network]` has any.
            validators: The number of validators.

        Raises:
            ValueError: A region is without a validator.
        """
        return self

    def moments(self) -> int:
        """Return about how many moments it has, beside those of its outages."""
        return 2

    def outages(self, replicas: int) -> int:
        """Return about how many outages it draws."""
        return 0


def problem_of(kind: type[Fault]) -> str:
    """Return what is wrong with the declarations of a kind, or an empty string."""
    if not isinstance(kind.reaches, tuple) or any(part not in EVERYTHING for part in kind.reaches):
        return f"reaches {kind.reaches!r}: it must be a tuple of {', '.join(EVERYTHING)}"
    return ""


class Windowed(Fault, kw_only=True, frozen=True):
    """A fault that is at work from `start_ms` to `stop_ms`."""

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
        """Return its one loss, of the validators that it names."""
        return (Loss(*self.span(), off=self.targets()),)

    def occupies(self) -> Occupied | None:
        """Return the machine's power."""
        return DOWN


DOWN: Final = Occupied("power", "down")


def windows_ms(start_ms: int, stop_ms: int, on_ms: int, off_ms: int) -> Iterator[tuple[int, int]]:
    """Yield when a fault that comes and goes is there; one that never goes has one window."""
    if not off_ms:
        yield start_ms, stop_ms
        return
    for begin_ms in range(start_ms, stop_ms, on_ms + off_ms):
        yield begin_ms, min(begin_ms + on_ms, stop_ms)


def moments_of(span_ms: int, period_ms: int) -> int:
    """Return about how many moments a fault has that begins and ends in each period."""
    return 2 * -(-span_ms // period_ms)
