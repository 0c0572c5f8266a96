"""`[chain]` of a scenario: the rules of its chain, with the timer configuration and the timer lane's at genesis."""

from typing import Annotated, Literal

import msgspec

from cluster.scenario.fields import NotNegative, Positive, Section
from cluster.scenario.lane_section import LaneSection
from scheduler import MAX_U63, MIN_BASEFEE, POLICIES, Eip1559, Fifo, Parameters, TimerConfig
from validators.actors.metering import CALL_CYCLES
from validators.execution.genesis import MIN_BASEFEE_FLOOR, PolicyEntry

_TIMERS = TimerConfig()


class TimersSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The chain's TimerConfig at genesis, by name; the defaults are the scheduler's own.

    What is not named among the prices is set by the policy, when the scenario is resolved.
    """

    max_ttl_blocks: NotNegative = _TIMERS.max_ttl_blocks
    max_cycles_per_fire: NotNegative = _TIMERS.max_cycles_per_fire
    max_cells_per_fire: NotNegative = _TIMERS.max_cells_per_fire
    max_timers_per_actor: NotNegative = _TIMERS.max_timers_per_actor
    gc_cycles_per_block: NotNegative = _TIMERS.gc_cycles_per_block
    gc_cost_per_timer: Positive = _TIMERS.gc_cost_per_timer
    lane_timer_cycles: Positive = _TIMERS.lane_timer_cycles
    schedule_cycles: NotNegative | None = None
    extend_cycles: NotNegative = _TIMERS.extend_cycles
    cancel_cycles: NotNegative | None = None
    execution_lane_paused: bool = _TIMERS.execution_lane_paused
    gc_lane_paused: bool = _TIMERS.gc_lane_paused
    charges_index_cells: bool = _TIMERS.charges_index_cells

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
    """From which block on the policy `eip1559` holds; the chain is `fifo` below it."""

    height: Positive = 1


class ChainSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rules of the chain; what is not named has the default of docs/chain.md.

    Keys, addresses and the chain's identifier come from ``id``, the scenario's name where it is empty.
    """

    id: Annotated[str, msgspec.Meta(pattern=r"^([a-z0-9][a-z0-9-]*)?\Z", max_length=64)] = ""
    policy: Literal["fifo", "fifo-free", "eip1559"] = "fifo"
    timebase: Literal["slot", "height"] = "slot"
    slot_ms: Positive = 1_000
    block_interval_ms: Positive = 1_000
    block_cycles: Positive = 10_000_000
    block_cells: Positive = 10_000_000
    mailbox_cycles: Annotated[int, msgspec.Meta(ge=CALL_CYCLES, le=MAX_U63)] = 2_000_000
    min_basefee: Annotated[int, msgspec.Meta(ge=MIN_BASEFEE_FLOOR, le=MAX_U63)] = MIN_BASEFEE
    cycle_basefee: Positive = MIN_BASEFEE
    cell_basefee: Positive = MIN_BASEFEE
    max_skew_ms: NotNegative = 500
    timers: TimersSection = TimersSection()
    activation: ActivationSection = ActivationSection()
    lane: LaneSection = LaneSection()

    @property
    def has_lane(self) -> bool:
        """Whether the policy has the timer lane, from its activation on."""
        return self.policy == Eip1559.name

    def policies(self) -> tuple[PolicyEntry, ...]:
        """Return the policies of genesis: a chain that has the lane is `fifo` below its activation."""
        if not self.has_lane:
            return (PolicyEntry(1, self.policy),)
        own = PolicyEntry(self.activation.height, self.policy, msgspec.msgpack.encode(self.lane.config()))
        return (own,) if own.height == 1 else (PolicyEntry(1, Fifo.name), own)

    def parameters(self) -> tuple[Parameters, ...]:
        """Return the parameters that governance may change, besides those of the timers."""
        own = (self.lane.config(),) if self.has_lane else ()
        return (self.lane.calendar(), *own)
