"""`[chain]` of a scenario: the rules of its chain, with the configurations of timers and timer lane at genesis."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast, get_args, get_type_hints

import msgspec

from cluster.scenario.fields import NotNegative, Positive, Section, means
from cluster.scenario.sections.calendar import CalendarSection
from cluster.scenario.sections.lane import LaneSection
from faults.nearest import did_you_mean
from scheduler import MAX_U63, MIN_BASEFEE, POLICIES, LaneConfig, Parameters, Refusal, TimerConfig
from scheduler.watch_records import TriggerConfig
from validators.actors.metering import CALL_CYCLES
from validators.execution.genesis import MIN_BASEFEE_FLOOR, PolicyEntry

_TIMERS = TimerConfig()


class TimersSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The chain's TimerConfig at genesis, by name; the defaults are the scheduler's own.

    Prices without a value are set by the policy, when the scenario is resolved.
    """

    max_ttl_blocks: Annotated[NotNegative, means("The longest life of a timer beyond its height.")] = (
        _TIMERS.max_ttl_blocks
    )
    max_cycles_per_fire: Annotated[NotNegative, means("The most cycles that a fire may use.")] = (
        _TIMERS.max_cycles_per_fire
    )
    max_cells_per_fire: Annotated[NotNegative, means("The most cells that a fire may use.")] = (
        _TIMERS.max_cells_per_fire
    )
    max_timers_per_actor: Annotated[NotNegative, means("Timers that one actor may have waiting.")] = (
        _TIMERS.max_timers_per_actor
    )
    gc_cycles_per_block: Annotated[NotNegative, means("Cycles a block may spend on removing dead timers.")] = (
        _TIMERS.gc_cycles_per_block
    )
    gc_cost_per_timer: Annotated[Positive, means("Cycles for removing a timer.")] = _TIMERS.gc_cost_per_timer
    lane_timer_cycles: Annotated[Positive, means("Cycles that the fires of a block may use.")] = (
        _TIMERS.lane_timer_cycles
    )
    schedule_cycles: Annotated[NotNegative | None, means("Price of scheduling a timer, in cycles.")] = None
    extend_cycles: Annotated[NotNegative, means("Price of extending a timer, in cycles.")] = _TIMERS.extend_cycles
    cancel_cycles: Annotated[NotNegative | None, means("Price of cancelling a timer, in cycles.")] = None
    execution_lane_paused: Annotated[bool, means("Whether no timer fires.")] = _TIMERS.execution_lane_paused
    gc_lane_paused: Annotated[bool, means("Whether no dead timer is removed.")] = _TIMERS.gc_lane_paused
    charges_index_cells: Annotated[bool, means("Whether a timer's index entries are charged as cells.")] = (
        _TIMERS.charges_index_cells
    )

    def config(self) -> TimerConfig:
        """Return the record that genesis holds."""
        return TimerConfig(**{key: value for key, value in msgspec.structs.asdict(self).items() if value is not None})

    def resolved(self, policy: str) -> "TimersSection":
        """Return the section with the policy's own values where none is stated."""
        default = POLICIES[policy].default_config
        stated = msgspec.structs.asdict(self)
        left_out = {key: getattr(default, key) for key, value in stated.items() if value is None}
        return msgspec.structs.replace(self, **left_out)


class ActivationSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The first height of the policy, and the policy below it (docs/spec.md, activation)."""

    height: Annotated[Positive, means("The first height of the policy.")] = 1
    previous: Annotated[str, means("The policy below that height, where it is above 1.")] = "fifo"


if TYPE_CHECKING:
    PolicyName: TypeAlias = str
else:
    # The registry is the only place that names the policies of this package.
    PolicyName: TypeAlias = Literal[tuple(POLICIES)]


class ChainSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rules of the chain; a key that is left out has the default of docs/chain.md.

    Keys, addresses and the chain's identifier come from ``id``, the scenario's name where it is empty.
    """

    id: Annotated[
        str,
        msgspec.Meta(pattern=r"^([a-z0-9][a-z0-9-]*)?\Z", max_length=64),
        means("Keys and addresses follow from it; the scenario's name where it is empty."),
    ] = ""
    policy: Annotated[PolicyName, means("The scheduling policy.")] = "fifo"
    timebase: Annotated[Literal["slot", "height"], means("The unit of due times: slots of time or heights.")] = "slot"
    slot_ms: Annotated[Positive, means("Length of a slot.")] = 1_000
    block_interval_ms: Annotated[Positive, means("Time from one block to the next.")] = 1_000
    block_cycles: Annotated[Positive, means("Cycles that a block may use.")] = 10_000_000
    block_cells: Annotated[Positive, means("Cells that a block may use.")] = 10_000_000
    mailbox_cycles: Annotated[
        int, msgspec.Meta(ge=CALL_CYCLES, le=MAX_U63), means("Cycles that the messages of a block may use.")
    ] = 2_000_000
    min_basefee: Annotated[int, msgspec.Meta(ge=MIN_BASEFEE_FLOOR, le=MAX_U63), means("The lowest basefee.")] = (
        MIN_BASEFEE
    )
    cycle_basefee: Annotated[Positive, means("The first block's price of a cycle.")] = MIN_BASEFEE
    cell_basefee: Annotated[Positive, means("The first block's price of a cell.")] = MIN_BASEFEE
    max_skew_ms: Annotated[NotNegative, means("The most that a block may be ahead of a voting validator's clock.")] = (
        500
    )
    profile: Annotated[
        Literal["default", "intro"],
        means("The defaults for sizes of the calendar queue and readings of the policies."),
    ] = "default"
    timers: TimersSection = TimersSection()
    activation: ActivationSection = ActivationSection()
    calendar: CalendarSection = CalendarSection()
    lane: LaneSection = LaneSection()
    state_triggers: Annotated[
        bool, means("Whether timers of the lane may wait for changes of values; under `bias-auction` they always may.")
    ] = False
    policy_parameters: Annotated[
        dict[str, bool | int | str | list[int]],
        means("Its own parameters by name, where it has no section."),
    ] = msgspec.field(default_factory=dict)

    @property
    def has_lane(self) -> bool:
        """Whether a policy of the chain takes its parameters from `[chain.lane]`."""
        return any(is_of_lane(POLICIES[policy].config_type) for policy in self._names())

    def policies(self) -> tuple[PolicyEntry, ...]:
        """Return the policies of genesis."""
        heights = (1,) if self.activation.height == 1 else (1, self.activation.height)
        return tuple(map(PolicyEntry, heights, self._names(), map(self._config_of, self._names())))

    def _config_of(self, policy: str) -> bytes:
        """Return the encoded parameters of a policy; two sets of parameters are an array."""
        encoded = [*map(msgspec.msgpack.encode, self._parameters_of(policy))]
        return msgspec.msgpack.encode(encoded) if len(encoded) > 1 else b"".join(encoded)

    def refusal(self) -> str:
        """Return why the policy cannot be activated in the middle of the chain; empty if it can."""
        previous = self.activation.previous
        if self.activation.height == 1:
            return ""
        if previous not in POLICIES:
            return f"there is no policy {previous!r}{did_you_mean(previous, list(POLICIES))}"
        carry = POLICIES[self.policy]().carry(POLICIES[previous]())
        is_same = previous == self.policy
        reason = "it is the policy before already" if is_same else carry.reason if isinstance(carry, Refusal) else ""
        return reason and f"{self.policy} cannot follow {previous}: {reason}"

    def timebase_refusal(self) -> str:
        """Return why a policy of the chain cannot use its timebase; empty if all can."""
        for policy in (name for name in self._names() if name in POLICIES):
            if self.timebase not in POLICIES[policy].timebases:
                allowed = " or ".join(map(repr, POLICIES[policy].timebases))
                return f"policy {policy!r} needs {allowed}, not {self.timebase!r}"
        return ""

    def parameters(self) -> tuple[Parameters, ...]:
        """Return the parameters that governance may change, besides the timers' parameters."""
        return (self.calendar.record(), *(own for policy in self._names() for own in self._parameters_of(policy)))

    def resolved_parameters(self) -> dict[str, Any]:
        """Return the parameters that have no section, with every default written out.

        Raises:
            msgspec.ValidationError: The policy has no such parameters.
            InvalidInput: A parameter is out of its range.
        """
        kind = POLICIES[self.policy].config_type
        own = self._own_of(kind, self.policy_parameters)
        found = {name: getattr(own, name) for name in parameters_section(kind).__struct_fields__}
        return dict(msgspec.to_builtins(found))

    def _names(self) -> tuple[str, ...]:
        """Return the policies of the chain, in the order of activation."""
        return (self.policy,) if self.activation.height == 1 else (self.activation.previous, self.policy)

    def _parameters_of(self, policy: str) -> tuple[Parameters, ...]:
        """Return a policy's own parameters if it has any."""
        kind = POLICIES[policy].config_type
        stated = self.policy_parameters if policy == self.policy else {}
        own = self._own_of(kind, stated)
        option = [TriggerConfig()] if self.state_triggers and is_of_lane(kind) else []
        return () if own is None else (own, *option)

    def _own_of(self, kind: type[Parameters] | None, stated: Mapping[str, Any]) -> Parameters | None:
        """Return parameters of a kind: the stated values, and the profile's or default values for the rest.

        A kind may have profiles of its own, selected by its field `profile`. The lane's fields have their section.
        """
        given = msgspec.structs.asdict(msgspec.convert(stated, parameters_section(kind)))
        if kind is None:
            return None
        if is_of_lane(kind):
            return kind(**msgspec.structs.asdict(self.lane.config(self.profile)), **given)
        of_profile = kind.profiles.get(given.get("profile", self.profile), {})
        return kind(**given | {name: value for name, value in of_profile.items() if name not in stated})


def is_of_lane(kind: type[Parameters] | None) -> bool:
    """Say whether a policy with these parameters takes the lane's from `[chain.lane]`."""
    return kind is not None and issubclass(kind, LaneConfig)


@lru_cache(64)
def parameters_section(kind: type[Parameters] | None) -> type[msgspec.Struct]:
    """Return the form of `[chain.policy_parameters]` for the parameters of a policy."""
    elsewhere = LaneConfig.__struct_fields__ if is_of_lane(kind) else ()
    known = () if kind is None else msgspec.structs.fields(kind)
    fields = [(each.name, each.type, each.default) for each in known if each.name not in elsewhere]
    return msgspec.defstruct("PolicyParameters", fields, frozen=True, forbid_unknown_fields=True, kw_only=True)


def chain_section(policies: Sequence[str]) -> type[ChainSection]:
    """Return the section of a scenario whose plug-ins bring these policies."""
    kinds: Any = Literal[(*get_args(get_type_hints(ChainSection)["policy"]), *policies)]
    found = msgspec.defstruct(
        "ChainSection",
        [("policy", kinds, "fifo")],
        bases=(ChainSection,),
        frozen=True,
        forbid_unknown_fields=True,
        kw_only=True,
    )
    return cast("type[ChainSection]", found)
