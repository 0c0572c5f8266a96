"""The policy oracle of `fifo-free`: every due timer fires without a fee, and a timer never expires."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, NamedTuple

from checker.oracle.calls import SENT, Call, Present
from checker.oracle.contents import Basefees, Contents, OwnTable, Table, Timer, plain_key
from checker.oracle.parameters import hold, whole
from checker.oracle.policies.policy import BlockStart, PolicyInBlock, PolicyOracle
from checker.oracle.records import MalformedError, TimerConfig, read
from checker.oracle.timers import TimerPhase


class FreeConfig(NamedTuple):
    """The free configuration, field by field."""

    deferred_calls_per_fire_max: int = 2
    deferred_call_cycles_max: int = 100_000


CONFIG: Final = OwnTable(lambda _: plain_key(0x29, b""), lambda _, config: list(config))


class FreePhase(TimerPhase):
    """A block's timer phase: no timer exceeds a budget, and no timer waits unless the lane is paused."""

    def _reason_to_hold(self, _timer: Timer) -> str:
        return ""

    def _fill_lane(self, candidates: list[Timer]) -> list[Timer]:
        if self.present.config.execution_lane_paused:
            return candidates
        for timer in candidates:
            self._attempt(timer)
        return []


class FifoFreeInBlock(PolicyInBlock):
    """One block of the policy."""

    has_ttl: ClassVar[bool] = False

    def __init__(self, start: BlockStart) -> None:
        super().__init__(start)
        # Read once, because governance's changes in this block hold from the next block on.
        self.config: FreeConfig = start.contents.own(CONFIG).rows[None]

    def call_error(self, call: Call, cycles: int) -> str:
        """Return the error of a message of a fire: the record bounds their number, and the cycles of each."""
        sent = sum(event[0] == SENT for event in call.events)
        is_allowed = sent < self.config.deferred_calls_per_fire_max and cycles <= self.config.deferred_call_cycles_max
        return "" if is_allowed else "TooManyCalls"

    def ceiling(self, config: TimerConfig) -> int:
        """Return the greatest gas limit: without a budget, the limit of a single fire."""
        return config.max_cycles_per_fire

    def timer_phase(self, present: Present, parent_now: int, proposer: bytes) -> TimerPhase:
        """Return the timer phase, at zero prices; the rest of the block keeps its own."""
        return FreePhase(self.start.contents, present, parent_now, Basefees(0, 0), proposer)


class FifoFreeOracle(PolicyOracle):
    """First in, first out, without fee and expiry."""

    name: ClassVar[str] = "fifo-free"

    def open(self, start: BlockStart) -> PolicyInBlock:
        """Return the policy in a block."""
        return FifoFreeInBlock(start)

    def read_config(self, encoded: bytes) -> FreeConfig:
        """Return the free configuration; raises MalformedError."""
        config = self.config_of(read(encoded, "the free configuration"))
        if config is None:
            raise MalformedError("the free configuration of genesis breaks a rule of its fields")
        return config

    def config_table(self, contents: Contents) -> Table[None, Any]:
        """Return the table of the free configuration."""
        return contents.own(CONFIG)

    def config_of(self, fields: Sequence[Any]) -> FreeConfig | None:
        """Return the free configuration of these fields, None if a field breaks its rule."""
        return FreeConfig(*fields) if hold((whole(), whole()), fields) else None

    def key_of(self, name: str) -> str:
        """Return the key by which governance knows a field."""
        return f"system:cip5:{name}"
