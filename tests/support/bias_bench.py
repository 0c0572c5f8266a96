"""A chain in the bias auction that consists of nothing but the scheduler."""

from dataclasses import replace

import msgspec

from scheduler import (
    BlockContext,
    BlockPhase,
    GbaFailure,
    Moment,
    PolicyInBlock,
    RunOutcome,
    ScheduleRequest,
    Watches,
    admit,
)
from scheduler.bias_records import BIAS_BOOKS, BiasBooks, BiasConfig
from scheduler.escrow import BID, ESCROW_ADDRESS, Escrow
from scheduler.policies.bias_auction import BiasAuction
from scheduler.tables import Runner
from scheduler.types import TimerConfig
from tests.support.auction_bench import DictState
from tests.support.scheduler_doubles import Bench

PROPOSER = b"\xee" * 20


class BiasBench(Bench):
    """A chain in height or slot time; `agents` maps an address to four numbers, to a failure, or to any bytes."""

    kind = BiasAuction

    def __init__(self, config=None, own=None, *, cycle=0, cell=0, timebase="height", activated_at=1) -> None:
        super().__init__(config, cycle=cycle, cell=cell)
        self.own = own or BiasConfig()
        self.timebase = timebase
        self.activated_at = activated_at
        self.state = DictState()
        self.agents: dict[bytes, object] = {}
        self.contexts: list[list[int]] = []
        self.changed: tuple[bytes, ...] = ()
        self.made: dict[bytes, tuple[int, int]] = {}
        """The places of the timers that were put in as if long ago."""

    def at(self, height, slot=None, parent_slot=None):
        timebase = getattr(self, "timebase", "height")
        slot = height if slot is None else slot
        return Moment(height, slot, slot - 1 if parent_slot is None else parent_slot, timebase)

    def block(self, run: Runner | None = None) -> BlockContext:
        return replace(
            super().block(run),
            own=self.own,
            state=self.state,
            ask=self.ask,
            activated_at=self.activated_at,
            escrow=Escrow(self.state, self.ledger),
            watches=self.watches,
        )

    @property
    def watches(self) -> Watches:
        """The watches of the block, with the keys that the test says have changed."""
        limits = BiasAuction().watch_limits(self.own, self.state)
        return Watches(self.state, self.tables, lambda: sorted(self.changed), limits, Escrow(self.state, self.ledger))

    @property
    def escrow(self) -> Escrow:
        return Escrow(self.state, self.ledger)

    def admission_of(self, actor, *keys):
        """Return the admission of a timer that is to watch keys."""
        return self.policy.admit(ScheduleRequest(actor, actor, 0, 101, b"", expires_at=100, watched=keys))

    def watching(self, actor, *keys, expires_at=100, **options):
        """Schedule a timer that watches keys; return its identifier."""
        self.policy.check_watch(actor, keys)
        return self.schedule(actor, expires_at + 1, expires_at=expires_at, watched=keys, **options)

    @property
    def policy(self) -> PolicyInBlock:
        opened = self.kind().open(self.block())
        opened.context = replace(opened.context, collected=self.collected)
        return opened

    def ask(self, call):
        """Answer for an agent."""
        self.contexts.append(msgspec.msgpack.decode(call.payload))
        answer = self.agents.get(call.agent, GbaFailure.FAILED)
        return msgspec.msgpack.encode([*answer]) if isinstance(answer, tuple) else answer

    def timer(self, actor, due=1, *, bid=0, **options):
        """Schedule a timer with a bid; return its identifier."""
        return self.schedule(actor, due, bid=bid, **options)

    def carried(self, actor, due=1, bid=0, **fields):
        """Put a timer in as if it had been scheduled long ago; return its identifier."""
        context = replace(Bench.context.fget(self), moment=self.at(0, 0))
        admitted = admit(context, ScheduleRequest(actor, actor, 0, due, b"", **fields)).timer
        self.tables.insert(admitted)
        self.made[admitted.timer_id] = (admitted.due, admitted.sequence)
        self.ledger.credit(actor, bid)
        Escrow(self.state, self.ledger).lock(admitted, bid)
        return admitted.timer_id

    def run(self, height, run=None, slot=None, parent_slot=None):
        """Run the timer phase of a block, and trigger what it has changed."""
        self.moment = self.at(height, slot, parent_slot)
        opened = self.kind().open(self.block(run or (lambda timer: RunOutcome(True, timer.gas_limit, 0, ()))))
        opened.begin()
        return opened.run(BlockPhase.TIMERS).then(opened.trigger())

    @property
    def books(self) -> BiasBooks | None:
        return self.state.get(BIAS_BOOKS, BIAS_BOOKS.key())

    @property
    def escrowed(self) -> tuple[int, int]:
        """The balance of the escrow, and the sum of the bids that are locked."""
        return self.ledger.balance(ESCROW_ADDRESS), sum(locked.bid for locked in self.state.of(BID))


def bias_bench(budget=1_000_000, *, config=None, own=None, **options):
    """Return a chain in which cells cost nothing, cycles as stated, and the loop is off unless it is stated."""
    timers = TimerConfig(lane_timer_cycles=budget, max_cells_per_fire=0, **(config or {}))
    return BiasBench(timers, BiasConfig(**{"lambda_window_blocks": 0, **(own or {})}), **options)
