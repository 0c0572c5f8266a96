"""The workload `governance`: system instructions at their times."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

import msgspec

from cluster.scenario.fields import Milliseconds, NotNegative, Positive, means
from cluster.workloads.identifiers import ids_problem
from cluster.workloads.submission import Client, GenesisShare, Site, TimedTransaction, Volume, WorkloadKind
from faults.nearest import did_you_mean
from network.words import counted
from scheduler import MAX_U63, InvalidInput, Parameters, TimerConfig, decode_update
from validators.execution import SystemCancelTimer, SystemExtendTimer, SystemUpdateTimerConfig
from validators.execution.blocks import SystemControlService, SystemInstruction

INSTRUCTION_CYCLES: Final = 5_000
"""Cycles that a system deployer allows for one instruction."""


Rules: TypeAlias = tuple[Parameters, ...]
"""The parameters of the chain, the timers' parameters first."""


class Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", kw_only=True):
    """An action of the validator set at a time."""

    allowed: ClassVar[str] = ""
    """The allowed keys, for the message about a refused change."""

    at_ms: Annotated[Milliseconds, means("When it is submitted.")]

    @property
    def size(self) -> int:
        """The number of instructions."""
        return 1

    @property
    def pace_ms(self) -> int:
        """The time from one instruction to the next."""
        return 0

    def change(self, rules: Rules) -> Rules:
        """Return the parameters after the action; raises ValidationError or InvalidInput."""
        return rules

    def problem(self, site: Site) -> str:
        """Return the contradiction among the values; empty if there is none."""
        del site
        return ""

    def instructions(self, rules: Rules, site: Site) -> Iterator[SystemInstruction]:
        """Yield the instructions; `rules` are the rules after the action."""
        raise NotImplementedError


class Configure(Action, tag="configure", kw_only=True, frozen=True):
    """Replace the timer configuration: the keys of `set` change, the other keys keep their values."""

    allowed: ClassVar[str] = f"; there are {', '.join(TimerConfig.__struct_fields__)}"

    set: Annotated[dict[str, int | bool], msgspec.Meta(min_length=1), means("The keys that change, with their values.")]

    def change(self, rules: Rules) -> Rules:
        """Return the rules with the keys of `set` changed."""
        known = TimerConfig.__struct_fields__
        for key in self.set:
            if key not in known:
                raise InvalidInput(key, f"no such key{did_you_mean(key, known)}")
        fields = msgspec.structs.asdict(rules[0]) | self.set
        return (msgspec.convert(list(fields.values()), TimerConfig), *rules[1:])

    def instructions(self, rules: Rules, site: Site) -> Iterator[SystemInstruction]:
        """Yield one instruction with the whole configuration."""
        del site
        yield SystemUpdateTimerConfig(msgspec.msgpack.encode(rules[0]))


class Govern(Action, tag="govern", kw_only=True, frozen=True):
    """Change the parameters of `set` by their governance keys (docs/spec.md, governance)."""

    set: Annotated[
        dict[str, int | bool | str | list[int]],
        msgspec.Meta(min_length=1),
        means("The governance keys that change, with their values."),
    ]

    @property
    def encoded(self) -> bytes:
        """The bytes that instruction 49 carries: the keys in ascending order."""
        return msgspec.msgpack.encode({key: self.set[key] for key in sorted(self.set, key=str.encode)})

    def change(self, rules: Rules) -> Rules:
        """Return the rules as the chain will change them."""
        for key, value in self.set.items():
            numbers = value if isinstance(value, list) else [value]
            # Before they are encoded: msgpack has no room for more than 64 bits.
            if any(isinstance(number, int) and abs(number) > MAX_U63 for number in numbers):
                raise InvalidInput(key, "a number is at most 2^63 - 1")
        return tuple(decode_update(self.encoded, rules))

    def instructions(self, rules: Rules, site: Site) -> Iterator[SystemInstruction]:
        """Yield one instruction with the keys of `set`."""
        del rules, site
        yield SystemUpdateTimerConfig(self.encoded)


class ControlService(Action, tag="service", kw_only=True, frozen=True):
    """Give the service of scheduled transactions the instruction `action`, `count` times (docs/spec.md)."""

    action: Annotated[
        Literal["pause", "unpause", "start_shutdown", "continue_shutdown", "re_initialize"], means("The instruction.")
    ]
    batch: Annotated[NotNegative, means("Entries that `continue_shutdown` removes; 0 for as many as it may.")] = 0
    count: Annotated[Positive, means("How many times.")] = 1
    every_ms: Annotated[Milliseconds, means("Time from one time to the next.")] = 0

    @property
    def size(self) -> int:
        """The number of times."""
        return self.count

    @property
    def pace_ms(self) -> int:
        """The time from one time to the next."""
        return self.every_ms

    def problem(self, site: Site) -> str:
        """Return that there is no service."""
        return "" if site.queue is not None else "only chain.policy aptos has a service"

    def instructions(self, rules: Rules, site: Site) -> Iterator[SystemInstruction]:
        """Yield the instruction `count` times."""
        del rules, site
        yield from [SystemControlService(self.action, self.batch)] * self.count


class TimerAction(Action, kw_only=True, frozen=True):
    """An action on timers of another workload, one instruction a timer."""

    workload: Annotated[str, means("A workload whose timers are known in advance: a storm.")]
    actor: Annotated[NotNegative, means("The actor, counted from 0.")] = 0
    first: Annotated[NotNegative, means("The first of its timers.")] = 0
    count: Annotated[Positive, means("How many of them.")] = 1

    @property
    def size(self) -> int:
        """The number of timers."""
        return self.count

    def problem(self, site: Site) -> str:
        """Return which of the timers does not exist."""
        known = {name: workload.timers_known() for name, workload in site.workloads.items()}
        storms = [name for name, (actors, _) in known.items() if actors]
        if self.workload not in storms:
            named = f"{self.workload!r}{did_you_mean(self.workload, storms)}"
            return f"no storm is named {named}; there are {', '.join(storms) or 'none'}"
        actors, timers = known[self.workload]
        if self.actor >= actors:
            return f"{self.workload} has no actor {self.actor}; its actors are 0 to {actors - 1}"
        if self.first + self.count > timers:
            end = self.first + self.count
            return f"each actor of {self.workload} has {counted(timers, 'timer')}; first + count is {end}"
        return ids_problem(site)

    def instructions(self, rules: Rules, site: Site) -> Iterator[SystemInstruction]:
        """Yield one instruction a timer."""
        del rules
        storm = site.workloads[self.workload]
        yield from map(self.instruction, storm.timer_ids(site.at(self.workload), self.actor, self.first, self.count))

    def instruction(self, timer_id: bytes) -> SystemInstruction:
        """Return the instruction for one timer."""
        raise NotImplementedError


class CancelTimers(TimerAction, tag="cancel", kw_only=True, frozen=True):
    """Cancel `count` timers of an actor of a storm, from the timer `first` on."""

    def instruction(self, timer_id: bytes) -> SystemInstruction:
        """Return instruction 48."""
        return SystemCancelTimer(timer_id)


class ExtendTimers(TimerAction, tag="extend", kw_only=True, frozen=True):
    """Move the expiry of `count` timers of an actor of a storm to `expires_at`."""

    expires_at: Annotated[Positive, means("A slot or height, by the timebase.")]

    def instruction(self, timer_id: bytes) -> SystemInstruction:
        """Return instruction 50."""
        return SystemExtendTimer(timer_id, self.expires_at)


class Governance(WorkloadKind, tag="governance", kw_only=True, frozen=True):
    """System instructions at their times, from one account."""

    actions: Annotated[
        tuple[Configure | Govern | CancelTimers | ExtendTimers | ControlService, ...],
        msgspec.Meta(min_length=1),
        means("The actions, in the order of their times."),
    ]
    is_deployer: Annotated[
        bool, means("Whether genesis names the account as a system deployer; else every instruction is refused.")
    ] = True

    def problem(self, site: Site) -> str:
        """Return the first invalid action and its reason."""
        rules, at_ms = site.parameters, 0
        for index, action in enumerate(self.actions):
            place = f"actions[{index}]"
            if action.at_ms < at_ms:
                return f"{place}.at_ms: {action.at_ms} is before the end of the action above it, which is at {at_ms}"
            at_ms = action.at_ms + (action.size - 1) * action.pace_ms
            try:
                rules = action.change(rules)
            except (msgspec.ValidationError, InvalidInput) as error:
                return f"{place}.set: {error}{action.allowed}"
            if reason := action.problem(site):
                return f"{place}: {reason}"
        return ""

    def volume(self, slots: int) -> Volume:
        """Return its submissions."""
        del slots
        return Volume(sum(action.size for action in self.actions))

    def genesis(self, site: Site) -> GenesisShare:
        """Return the account, and whether it is a system deployer."""
        client = Client(site)
        return GenesisShare((client.funded,), (), (client.address,) if self.is_deployer else ())

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """One transaction for each instruction."""
        client, rules = Client(site), site.parameters
        for action in self.actions:
            rules = action.change(rules)
            for number, instruction in enumerate(action.instructions(rules, site)):
                at_ms = action.at_ms + number * action.pace_ms
                yield client.sign(at_ms, instruction, cycles_limit=INSTRUCTION_CYCLES)
