"""The steps that a scenario file gives to script actors, one class a step, and how each is encoded (docs/programs.md).

A text becomes its bytes in UTF-8; a text with the prefix `0x` is bytes in hexadecimal digits.
"""

from collections.abc import Iterable, Iterator, Mapping
from string import hexdigits
from typing import Annotated, ClassVar, Final, Literal, NamedTuple, TypeAlias

import msgspec

from cluster.scenario.fields import NotNegative, Section, means
from cluster.workloads.quoting import Tier
from cluster.workloads.submission import Site
from faults.nearest import did_you_mean
from scheduler import MAX_U63
from validators.actors.script import STEPS_MAX

HEX: Final = "0x"
"""The prefix of a text that gives bytes in hexadecimal digits."""

DONE: Final = "done"
"""The topic of the event at a script's end."""

NOTED: Final = "noted"
FIRED: Final = "fired"
"""Names under which a script actor keeps a message's value and the payload of its last fire."""

_PATIENCE: Final = {"revert": 0, "tell": 1, "ignore": 2}

Number = Annotated[int, msgspec.Meta(ge=-MAX_U63, le=MAX_U63, title="whole number")]
"""A number that the chain may refuse."""


class Names:
    """The addresses that the scripts of a workload may name.

    Args:
        known: The workload's own actors and accounts, by name.
        site: Its surroundings: `WORKLOAD/INDEX` is an actor of another workload.
    """

    def __init__(self, known: Mapping[str, bytes], site: Site) -> None:
        self.known: Final = known
        self._site = site

    def address(self, name: str) -> bytes:
        """Return the address of a name or of hexadecimal digits; raises ValueError, which lists the known names."""
        if name in self.known:
            return self.known[name]
        if name.startswith(HEX):
            return bytes_of(name)
        workload, slash, index = name.rpartition("/")
        if slash and workload in self._site.workloads:
            actors = self._site.workloads[workload].genesis(self._site.at(workload)).actors
            if index.isdecimal() and int(index) < len(actors):
                return actors[int(index)].address
            raise ValueError(f"{workload} has no actor {index!r}; it has {len(actors)}, counted from 0")
        there = f"there are {', '.join(self.known)}, `WORKLOAD/INDEX` and `{HEX}` with hexadecimal digits"
        raise ValueError(f"no account or actor is named {name!r}{did_you_mean(name, self.known)}; {there}")


def bytes_of(text: str) -> bytes:
    """Return the bytes that a text of a scenario stands for; raises ValueError."""
    if not text.startswith(HEX):
        return text.encode()
    digits = text.removeprefix(HEX)
    # `fromhex` would also take blanks.
    if len(digits) % 2 or not set(digits) <= set(hexdigits):
        raise ValueError(f"{HEX} is followed by hexadecimal digits, two a byte; got {text!r}")
    return bytes.fromhex(digits)


class StatedStep(Section, frozen=True, tag_field="do"):
    """One step of a script. A subclass lists its values in the script actor's order, and gives the kind of each."""

    addresses: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()
    """Keys that name the result of an earlier step."""
    stores: ClassVar[tuple[str, ...]] = ()
    """Keys whose values later steps may read."""
    contents: ClassVar[tuple[str, ...]] = ()
    """Keys with any bytes, or with a script."""
    receiver: ClassVar[str] = ""
    """The key of the actor that runs the step's script; empty if the same actor does."""
    is_run: ClassVar[bool] = True
    """Whether the step's script runs; a script that is only stored belongs to an agent, which may emit no event."""

    def wire(self, names: Names, place: str) -> tuple[object, ...]:
        """Return the step in the script actor's encoding; scripts within it emit events with `place`."""
        return self.__struct_config__.tag, *(self.read(key, names, place) for key in self.__struct_fields__)

    def read(self, key: str, names: Names, place: str) -> object:
        """Return the value of a key in the script actor's encoding; raises ValueError for an invalid value."""
        stated = getattr(self, key)
        if isinstance(stated, StatedScript):
            return stated.encoded(names, f"{place}.{key}", is_told=self.is_run)
        if isinstance(stated, str) and key in self.addresses:
            return names.address(stated)
        if isinstance(stated, str) and key in (*self.reads, *self.stores, *self.contents):
            return bytes_of(stated)
        return stated

    def problems(self, names: Names) -> Iterator[tuple[str, str]]:
        """Yield key and reason of each invalid value; scripts within the step are not checked."""
        for key in self.__struct_fields__:
            if not isinstance(getattr(self, key), StatedScript):
                try:
                    self.read(key, names, "")
                except ValueError as error:
                    yield key, str(error)


class StatedScript(Section, frozen=True, kw_only=True):
    """A script: steps that one actor takes in one call."""

    steps: Annotated[
        "tuple[AnyStep, ...]", msgspec.Meta(min_length=1, max_length=STEPS_MAX - 1), means("The steps, in their order.")
    ]
    on_refusal: Annotated[
        Literal["revert", "tell", "ignore"],
        means(
            "After a step that is refused: `revert` ends and undoes the call, `tell` emits the error's name under the "
            "topic `refused` and goes on, `ignore` goes on."
        ),
    ] = "revert"
    may_be_idle: Annotated[
        bool,
        means("Whether the script need not complete; it then never emits `done`."),
    ] = False

    def encoded(self, names: Names, place: str, *, is_told: bool = True) -> bytes:
        """Return the script in the script actor's encoding; its last step emits `place`, unless it may be idle."""
        wires = [step.wire(names, f"{place}.steps[{index}]") for index, step in enumerate(self.steps)]
        if is_told and not self.may_be_idle:
            wires.append(("tell", DONE, place.encode()))
        return msgspec.msgpack.encode([wires, _PATIENCE[self.on_refusal]])


class PlacedScript(NamedTuple):
    """A script, its place in the scenario, the actor that runs it, and whether it has to complete."""

    script: StatedScript
    place: str
    actor: str
    is_told: bool

    def steps(self) -> Iterator[tuple[str, StatedStep]]:
        """Yield its steps with their places."""
        for index, step in enumerate(self.script.steps):
            yield f"{self.place}.steps[{index}]", step

    def all(self) -> Iterator["PlacedScript"]:
        """Yield this script and the scripts within it."""
        yield self
        for place, step in self.steps():
            for key in step.contents:
                if isinstance(inner := getattr(step, key), StatedScript):
                    runner = getattr(step, step.receiver) if step.receiver else self.actor
                    is_told = self.is_told and step.is_run and not inner.may_be_idle
                    yield from PlacedScript(inner, f"{place}.{key}", runner, is_told).all()


Payload = Annotated[
    str | StatedScript, means("Bytes, or a table with the `steps` of a script, its `on_refusal` and `may_be_idle`.")
]


class TimerStep(StatedStep, frozen=True, kw_only=True):
    """A step that schedules a timer: its name, payload, payer, limit, life and offer."""

    addresses = ("fee_payer", "agent")
    stores = ("name",)
    contents = ("payload",)

    name: Annotated[str, means("The name under which later steps find the timer: a key of the actor's storage.")]
    payload: Payload = ""
    fee_payer: Annotated[str | None, means("The account that pays.", left_out="the actor")] = None
    gas_limit: Annotated[Number | None, means("Cycles that the fire may use.", left_out="the chain's default")] = None
    ttl_slots: Annotated[Number | None, means("Expires after this many slots.", left_out="the chain's default")] = None
    max_fee: Annotated[
        NotNegative | None, means("The most that it pays, in units per cycle.", left_out="open, as the policy has it")
    ] = None
    tip: Annotated[NotNegative | None, means("Its tip, in units per cycle.", left_out="no tip")] = None
    tier: Annotated[Tier | None, means("Its priority tier.", left_out="no tier")] = None
    agent: Annotated[
        str | None, means("The agent that bids for it.", left_out="no agent; under `gba-auction` the chain's own")
    ] = None
    bid: Annotated[
        NotNegative | None, means("Units that it bids in the bias auction.", left_out="no bid, or the agent's")
    ] = None

    def shared(self, names: Names, place: str) -> Iterator[object]:
        """Yield the common values of the steps, in the script actor's order; the name comes before."""
        for key in ("payload", "fee_payer", "gas_limit", "ttl_slots"):
            yield self.read(key, names, place)
        yield [self.read(key, names, place) for key in ("max_fee", "tip", "tier", "agent", "bid")]


class ScheduleStep(TimerStep, tag="schedule", frozen=True, kw_only=True):
    """Schedule a call of the actor. The payload is handed to `handle_timer`, which runs it if it is a script."""

    delay_slots: Annotated[Number, means("Due after this many slots.")]
    handler: Annotated[
        str, means("A handler that the payload names in the form of CIP-5, such as `run`; left out: none.")
    ] = ""
    pass_signer: Annotated[bool, means("Under `aptos`: whether the handler sees the entry's account.")] = True

    def wire(self, names: Names, place: str) -> tuple[object, ...]:
        """Return the step in the script actor's encoding."""
        payload, *shared = self.shared(names, place)
        if self.handler:
            payload = msgspec.json.encode({"_handler": self.handler, "_payload": payload})
        return "schedule", bytes_of(self.name), self.delay_slots, payload, *shared, self.pass_signer


class Watched(Section, frozen=True, kw_only=True):
    """A value that a timer waits for."""

    address: Annotated[str, means("Whose value.")]
    key: Annotated[str | None, means("A key of its storage.", left_out="its balance")] = None

    def wire(self, names: Names) -> tuple[bytes, bytes | None]:
        """Return the value in the script actor's encoding."""
        return names.address(self.address), None if self.key is None else bytes_of(self.key)


class WatchStep(TimerStep, tag="watch", frozen=True, kw_only=True):
    """Schedule a call of the actor for a change of one of some values, instead of a time."""

    watched: Annotated[tuple[Watched, ...], means("The values.")]

    def wire(self, names: Names, place: str) -> tuple[object, ...]:
        """Return the step in the script actor's encoding."""
        watched = [each.wire(names) for each in self.watched]
        return "watch", bytes_of(self.name), watched, *self.shared(names, place)

    def problems(self, names: Names) -> Iterator[tuple[str, str]]:
        """Yield key and reason of each invalid value."""
        yield from super().problems(names)
        for index, each in enumerate(self.watched):
            try:
                each.wire(names)
            except ValueError as error:
                yield f"watched[{index}]", str(error)


class ExtendStep(StatedStep, tag="extend", frozen=True, kw_only=True):
    """Move the expiry of a timer."""

    reads = ("name",)

    name: Annotated[str, means("The timer's name, or its identifier as `0x...`.")]
    delay_slots: Annotated[Number, means("Expires after this many slots.")]


class CancelStep(StatedStep, tag="cancel", frozen=True, kw_only=True):
    """Cancel a timer."""

    reads = ("name",)

    name: Annotated[str, means("The timer's name, or its identifier as `0x...`.")]


class PutStep(StatedStep, tag="put", frozen=True, kw_only=True):
    """Store a value in the actor's storage."""

    stores = ("key",)
    contents = ("value",)
    is_run = False

    key: Annotated[str, means("The key.")]
    value: Annotated[
        str | StatedScript, means("Bytes, or a table with `steps`: under the key `script`, the steps of an agent.")
    ]


class CopyStep(StatedStep, tag="copy", frozen=True, kw_only=True):
    """Read a value of the actor's storage, and store it under another key; nothing where there is none."""

    reads = ("source",)
    stores = ("target",)

    source: Annotated[str, means("The key that is read.")]
    target: Annotated[str, means("The key under which the value is stored.")]
    skip: Annotated[NotNegative, means("Bytes that are left out at the value's beginning.")] = 0


class DeleteStep(StatedStep, tag="delete", frozen=True, kw_only=True):
    """Delete a value of the actor's storage."""

    contents = ("key",)

    key: Annotated[str, means("The key.")]


class WeighStep(StatedStep, tag="weigh", frozen=True, kw_only=True):
    """Read a balance, and store it in eight bytes."""

    addresses = ("address",)
    stores = ("key",)

    key: Annotated[str, means("The key under which it is stored.")]
    address: Annotated[str | None, means("The address of the balance.", left_out="the actor's own")] = None


class ReadStep(StatedStep, tag="read", frozen=True, kw_only=True):
    """Add a stored number, the first eight bytes of a value, to an agent's bid; it may read any actor's storage."""

    addresses = ("address",)
    contents = ("key",)

    key: Annotated[str, means("The key.")]
    address: Annotated[str | None, means("The address of the value.", left_out="the actor's own")] = None


class PayStep(StatedStep, tag="pay", frozen=True, kw_only=True):
    """Move units from the actor to an address."""

    addresses = ("to",)

    to: Annotated[str, means("The payee.")]
    amount: Annotated[Number, means("Units.")]


class TellStep(StatedStep, tag="tell", frozen=True, kw_only=True):
    """Emit an event."""

    contents = ("data",)

    topic: Annotated[str, means("The event's topic.")]
    data: Annotated[str, means("The event's data, as bytes.")] = ""


class SendStep(StatedStep, tag="send", frozen=True, kw_only=True):
    """Send a message. The handler `run` takes a script, which the receiver runs."""

    addresses = ("to",)
    contents = ("payload",)
    receiver = "to"

    to: Annotated[str, means("The receiver.")]
    handler: Annotated[str, means("The handler that is called.")] = "run"
    payload: Payload = ""
    cycles: Annotated[Number, means("Cycles, and as many cells, that the call may use; the sender pays them.")] = 5_000


class HandStep(StatedStep, tag="hand", frozen=True, kw_only=True):
    """Send the value stored under a name to a script actor, which keeps it under the name `noted`."""

    addresses = ("to",)
    reads = ("name",)

    name: Annotated[str, means("The name, of a timer for example.")]
    to: Annotated[str, means("The receiver.")]
    cycles: Annotated[Number, means("Cycles, and as many cells, that the call may use; the sender pays them.")] = 1_000


class ComputeStep(StatedStep, tag="compute", frozen=True, kw_only=True):
    """Use cycles."""

    cycles: Annotated[Number, means("How many.")]


class FailStep(StatedStep, tag="fail", frozen=True, kw_only=True):
    """Give up with a refusal."""

    reason: Annotated[str, means("The error of the receipt.")]


AnyStep: TypeAlias = (
    ScheduleStep
    | WatchStep
    | ExtendStep
    | CancelStep
    | PutStep
    | CopyStep
    | DeleteStep
    | WeighStep
    | ReadStep
    | PayStep
    | TellStep
    | SendStep
    | HandStep
    | ComputeStep
    | FailStep
)


def stored_names(scripts: Iterable[PlacedScript], actor: str) -> Iterator[str]:
    """Yield the names under which an actor may have stored values after some scripts."""
    for script, _, runner, _ in scripts:
        for step in script.steps:
            if runner == actor:
                yield from (getattr(step, key) for key in step.stores)
                yield from [FIRED] if isinstance(step, TimerStep) else []
            if isinstance(step, HandStep | SendStep) and step.to == actor:
                yield NOTED
