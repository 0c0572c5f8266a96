"""The queue of scheduled transactions over dicts: a chain that consists of nothing but the scheduler."""

from dataclasses import replace
from typing import NamedTuple

from scheduler import (
    Bid,
    BlockPhase,
    DeferredSummary,
    Moment,
    PhaseResult,
    RunOutcome,
    ScheduleRequest,
    TimerConfig,
    TimerDeferred,
    TimerFired,
    TransactionFailed,
)
from scheduler.aptos_records import AUTHORIZATION, DEPOSITS, QUEUE_ENTRY, REMOVAL_SLOT, AptosConfig
from scheduler.policies.aptos import Aptos
from tests.support.auction_bench import DictState
from tests.support.scheduler_doubles import Bench, DictTables


def config_of(stated):
    """Return the parameters of a profile, but for those that are stated."""
    return AptosConfig(**{**AptosConfig.profiles[stated.get("profile", "aip")], **stated})


class Sent(NamedTuple):
    """A transaction as the policy sees it."""

    max_fee_per_cycle: int
    priority_fee_per_cycle: int = 0
    cycles_limit: int = 0
    cells_limit: int = 0


class QueueTables(DictTables):
    """Timers in a dict, with the index made anew for each block."""

    def collect_pool(self, upto, rules):
        pool = rules.open_pool()
        for timer in self.collect(upto):
            pool.add(timer)
        return pool

    def by_due(self):
        for due in sorted({timer.due for timer in self.timers.values()}):
            yield [timer for timer in self.timers.values() if timer.due == due]

    def live_timers(self, actor):
        return 0 if len(self.timers) > 1_000 else super().live_timers(actor)


class QueueBench(Bench):
    """A chain whose slots last a second, if nothing else is said; a block stands at its time in milliseconds.

    `own` are the parameters that differ from the profile's. A run uses its whole gas unless `used` says how much, and
    reverts where `fails` names its payload.
    """

    def __init__(self, own=None, *, config=None, room=(10**9, 10**9), cycle=1, cell=1, slot_ms=1_000):
        super().__init__(config or TimerConfig(max_cells_per_fire=0), cycle=cycle, cell=cell)
        self.slot_ms = slot_ms
        self.tables = QueueTables()
        self.own = config_of(own or {})
        self.state = DictState()
        self.room_left = room
        self.carried = ()
        self.used = {}
        self.fails = []
        self.cells = 0
        self.inside = {}
        self.ran = []
        self.unsigned = []
        self.opened = None
        self.height = 0
        self.at_ms(0)

    def at_ms(self, now_ms, parent_ms=None):
        """Stand at a time, in transactions of a block that has run nothing yet; its height is one above the last."""
        slot = now_ms // self.slot_ms
        parent = slot - 1 if parent_ms is None else parent_ms // self.slot_ms
        self.height += 1
        self.moment = Moment(self.height, slot, parent, "slot", now_ms, self.slot_ms)
        self.opened = Aptos().open(self.block())
        return self.opened

    def block(self, run=None):
        """Return the present block."""
        found = super().block(run or self.run_entry)
        return replace(found, own=self.own, state=self.state, carried=self.carried, room=lambda: self.room_left)

    @property
    def policy(self):
        return self.opened

    def run_entry(self, timer, *, has_sender=True):
        """Run an entry's function."""
        self.unsigned += [] if has_sender else [timer.payload]
        self.ran.append(timer.payload)
        if timer.payload in self.inside:
            self.inside[timer.payload]()
        cycles = self.used.get(timer.payload, timer.gas_limit)
        return RunOutcome(timer.payload not in self.fails, cycles, self.cells, ())

    def insert(self, actor, due, payload=b"", *, price=None, gas=1_000, **fields):
        """Insert an entry, and return its identifier."""
        request = ScheduleRequest(
            actor=actor, sender=actor, nonce=0, due=due, payload=payload, gas_limit=gas, fees=Bid(price), **fields
        )
        admission = self.opened.admit(request)
        self.opened.enter(admission)
        self.events, self.key = admission.events, admission.name
        return admission.timer.timer_id

    def cancel(self, actor, entry):
        """Cancel an entry by its key, as its identifier stands in it; return the event."""
        timer = self.tables.timer(entry)
        return self.opened.cancel(actor, entry if timer is None else self.opened.key_of(timer))

    def run(self, now_ms, sent=(), parent_ms=None):
        """Run a block with these transactions, and return the result of all its phases."""
        opened = self.at_ms(now_ms, parent_ms)
        total = PhaseResult()
        self.order = []

        def book(result, name=None):
            nonlocal total
            total = total.then(result)
            cycles, cells = self.room_left
            self.room_left = (cycles - result.lane_cycles, cells - result.lane_cells)
            self.order += self.ran[len([each for each in self.order if isinstance(each, bytes)]) :]
            if name is not None:
                self.order.append(name)

        whole = self.room_left
        book(opened.run(BlockPhase.PROLOGUE))
        self.deposits_after_prologue = self.ledger.balance(DEPOSITS)
        for number, each in enumerate(sent):
            for result in opened.before_transaction(each):
                book(result)
            self.order.append(number)
        for result in opened.after_transactions():
            book(result)
        opened.begin()
        book(opened.run(BlockPhase.TIMERS))
        self.carried, self.room_left = opened.carried(), whole
        return total

    @property
    def held(self):
        """Return the units that are deposited."""
        return self.ledger.balance(DEPOSITS)

    @property
    def owed(self):
        """Return the sum of the deposits of all bodies."""
        return sum(timer.gas_limit * timer.quote.max_fee_per_cycle for timer in self.tables.timers.values())

    @property
    def keys(self):
        """Return the number of keys in the schedule map, marked ones included."""
        return len(self.key_ids())

    @property
    def marked(self):
        """Return the number of marked keys."""
        return len(self.marked_ids())

    def key_ids(self):
        """Return the identifiers of the keys in the schedule map."""
        return [entry.key[16:] for entry in self.state.of(QUEUE_ENTRY)]

    def marked_ids(self):
        """Return the identifiers of the marked keys."""
        return [key[16:] for slot in self.state.of(REMOVAL_SLOT) for key in slot.keys]

    def number(self, actor):
        """Return an actor's authorization number, None without one."""
        found = self.state.get(AUTHORIZATION, AUTHORIZATION.key(actor))
        return None if found is None else found.number


def fired(result):
    """Return the identifiers of the entries that ran, in order."""
    return [event.timer_id for event in result.events if isinstance(event, TimerFired)]


def failed(result):
    """Return the code of each entry that failed, by its identifier."""
    events = getattr(result, "events", result)
    return {event.txn_id: event.code.value for event in events if isinstance(event, TransactionFailed)}


def deferred(result):
    """Return the reason of each first deferral, by its identifier."""
    return {event.timer_id: event.reason.value for event in result.events if isinstance(event, TimerDeferred)}


def counts(result):
    """Return how many each reason holds back."""
    summaries = [event for event in result.events if isinstance(event, DeferredSummary)]
    return {reason.value: count for summary in summaries for reason, count in summary.counts}
