"""The GBA auction's tables over a dict, and a chain in it that consists of nothing but the scheduler."""

from dataclasses import replace

import msgspec

from scheduler import (
    MAX_U63,
    Bid,
    BlockContext,
    BlockPhase,
    DeferredSummary,
    GbaFailure,
    PolicyInBlock,
    RunOutcome,
    ScheduleRequest,
    TimerConfig,
    TimerDeferred,
    TimerFired,
    admit,
)
from scheduler.gba_records import AUCTION_WEIGHT, DEFAULT_AGENT, ActorWeight, AuctionConfig
from scheduler.policies.gba_auction import GbaAuction
from scheduler.tables import Runner
from tests.support.scheduler_doubles import Bench


class DictState:
    """Tables in a dict, each record kept encoded, as a state would hold it."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes] = {}

    def get(self, table, key):
        encoded = self.entries.get(key)
        return None if encoded is None else msgspec.msgpack.decode(encoded, type=table.record)

    def set(self, key, record):
        self.entries.pop(key, None)
        if record is not None:
            self.entries[key] = msgspec.msgpack.encode(record)

    def of(self, table):
        """Return all records of a table, by key."""
        found = sorted((key, value) for key, value in self.entries.items() if key[0] == table.code)
        return [msgspec.msgpack.decode(value, type=table.record) for _, value in found]


class AuctionBench(Bench):
    """A chain in the GBA auction; `agents` maps an address to (greatest fee, tip), to a failure, or to any bytes."""

    def __init__(
        self,
        config: TimerConfig | None = None,
        own: AuctionConfig | None = None,
        *,
        cycle: int = 0,
        cell: int = 0,
        epoch_length: int = 1_000,
    ) -> None:
        super().__init__(config, cycle=cycle, cell=cell)
        self.own = own or AuctionConfig()
        self.epoch_length = epoch_length
        self.state = DictState()
        self.agents: dict[bytes, object] = {DEFAULT_AGENT: (MAX_U63, 0)}
        self.asked: list[bytes] = []
        self.contexts: list[list[int]] = []

    def block(self, run: Runner | None = None) -> BlockContext:
        return replace(super().block(run), own=self.own, state=self.state, ask=self.ask, epoch_length=self.epoch_length)

    @property
    def policy(self) -> PolicyInBlock:
        opened = GbaAuction().open(self.block())
        opened.context = replace(opened.context, collected=self.collected)
        return opened

    def ask(self, call):
        """Answer for an agent."""
        self.asked.append(call.agent)
        self.contexts.append(msgspec.msgpack.decode(call.payload))
        answer = self.agents.get(call.agent, GbaFailure.FAILED)
        return msgspec.msgpack.encode([*answer, 0, 0]) if isinstance(answer, tuple) else answer

    def timer(self, actor, due=1, *, tip=0, fee=MAX_U63, agent=None, **options):
        """Schedule a timer whose agent, an own one unless it is named, bids this; return its identifier."""
        if agent is None:
            agent = b"\xa9" + len(self.agents).to_bytes(19, "big")
            self.agents[agent] = (fee, tip)
        return self.schedule(actor, due, fees=Bid(gba=agent), **options)

    def carried(self, actor, due=1, quote=None, **fields):
        """Put a timer in as another policy made it; return its identifier."""
        found = Bench.context.fget(self)
        admitted = admit(found, ScheduleRequest(actor, actor, 0, due, b"", **fields)).timer
        self.tables.insert(msgspec.structs.replace(admitted, quote=quote))
        return admitted.timer_id

    def run(self, height, run=None, parent=None):
        """Run the timer phase of a block and close it."""
        self.moment = self.at(height, parent)
        opened = GbaAuction().open(self.block(run or (lambda timer: RunOutcome(True, timer.gas_limit, 0, ()))))
        opened.begin()
        result = opened.run(BlockPhase.TIMERS)
        opened.close(result.lane_cycles)
        return result

    def weigh(self, actor, weight, epoch=0):
        """Give an actor a weight, in millionths."""
        self.state.set(AUCTION_WEIGHT.key(actor), ActorWeight(epoch, weight))


def fired(result):
    """Return the identifiers of the timers that fired, in order."""
    return [event.timer_id for event in result.events if isinstance(event, TimerFired)]


def deferred(result):
    """Return the reason of each first deferral by the timer."""
    return {event.timer_id: event.reason.value for event in result.events if isinstance(event, TimerDeferred)}


def held(result):
    """Return how many each reason held back."""
    return {
        reason.value: count
        for event in result.events
        if isinstance(event, DeferredSummary)
        for reason, count in event.counts
    }
