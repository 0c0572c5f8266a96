"""The timer phase of `fifo` as a whole, against the rules restated over a plain list."""

from dataclasses import dataclass, field

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scheduler import (
    Basefees,
    DeferralReason,
    DeferredSummary,
    RunOutcome,
    TimerCancelledInsufficientFunds,
    TimerConfig,
    TimerDeferred,
    TimerExpired,
    TimerFired,
)
from tests.support.properties import examples
from tests.support.scheduler_doubles import Bench

ALICE, BOB, CAROL = (bytes([letter]) * 20 for letter in b"abc")


@dataclass
class Plain:
    """A timer of the reference: only what decides."""

    place: tuple[int, int]
    name: bytes
    payer: bytes
    gas_limit: int
    expires_at: int
    use: int
    ok: bool
    gift: tuple[bytes, bytes, int] | None


@dataclass
class Reference:
    """The timer phase restated over one list: sort, walk, note."""

    balances: dict[bytes, int]
    waiting: list[Plain] = field(default_factory=list)
    burned: int = 0

    def block(self, config: TimerConfig, fees: Basefees, now: int, parent_now: int) -> list[tuple]:
        notes, lane = [], 0 if config.execution_lane_paused else config.lane_timer_cycles
        removals = 0 if config.gc_lane_paused else config.gc_cycles_per_block // config.gc_cost_per_timer
        due = sorted((timer for timer in self.waiting if timer.place[0] <= now), key=lambda timer: timer.place)
        cost = {timer.name: timer.gas_limit * fees.cycle + config.max_cells_per_fire * fees.cell for timer in due}
        dead = [t for t in due if now > t.expires_at or self.balances[t.payer] < cost[t.name]]
        live = [t for t in due if t not in dead]
        for timer in dead:
            if removals:
                removals -= 1
                self.waiting.remove(timer)
                notes.append(self.removal(timer, now, cost))
        held = [timer for timer in live if timer.gas_limit > config.lane_timer_cycles]
        blocked = config.execution_lane_paused
        for timer in live:
            if timer in held:
                continue
            blocked = blocked or timer.gas_limit > lane
            if blocked:
                held.append(timer)
            elif self.balances[timer.payer] >= cost[timer.name]:
                lane -= timer.use
                notes.append(self.fire(timer, fees))
            elif removals:
                removals -= 1
                self.waiting.remove(timer)
                notes.append(self.removal(timer, now, cost))
        held.sort(key=lambda timer: timer.place)
        notes += [("deferred", timer.name) for timer in held if timer.place[0] > parent_now]
        over = sum(timer.gas_limit > config.lane_timer_cycles for timer in held)
        return [*notes, ("held", len(held) - over, over)]

    def removal(self, timer: Plain, now: int, cost: dict[bytes, int]) -> tuple:
        if now > timer.expires_at:
            return ("expired", timer.name)
        return ("insolvent", timer.name, cost[timer.name], self.balances[timer.payer])

    def fire(self, timer: Plain, fees: Basefees) -> tuple:
        self.waiting.remove(timer)
        paid = timer.use * fees.cycle
        self.balances[timer.payer] -= paid
        self.burned += paid
        if timer.ok and timer.gift is not None:
            source, target, amount = timer.gift
            amount = min(amount, self.balances[source] if source != timer.payer else 0)
            self.balances[source] -= amount
            self.balances[target] += amount
        return ("fired", timer.name, timer.ok, timer.use)


def note_of(event):
    if isinstance(event, TimerFired):
        return ("fired", event.timer_id, event.ok, event.used_cycles)
    if isinstance(event, TimerExpired):
        return ("expired", event.timer_id)
    if isinstance(event, TimerCancelledInsufficientFunds):
        return ("insolvent", event.timer_id, event.required, event.available)
    assert isinstance(event, TimerDeferred)
    return ("deferred", event.timer_id)


ACTORS = st.sampled_from((ALICE, BOB, CAROL))
TIMERS = st.tuples(
    ACTORS,
    st.integers(1, 4),
    st.integers(0, 120),
    st.integers(0, 8),
    st.integers(0, 100),
    st.booleans(),
    st.none() | st.tuples(ACTORS, ACTORS, st.integers(0, 300)),
)
BLOCKS = st.tuples(
    st.lists(TIMERS, max_size=12),
    st.integers(0, 3),
    st.tuples(ACTORS, st.integers(0, 500)),
    st.builds(
        TimerConfig,
        max_cells_per_fire=st.integers(0, 3),
        gc_cycles_per_block=st.integers(0, 1_500),
        lane_timer_cycles=st.integers(60, 300),
        execution_lane_paused=st.sampled_from((False, False, False, True)),
        gc_lane_paused=st.sampled_from((False, False, False, True)),
    ),
    st.tuples(st.integers(0, 4), st.integers(0, 30)),
)


@examples(100)
@given(st.lists(BLOCKS, min_size=1, max_size=8))
def test_the_timer_phase_equals_a_plain_list(blocks):
    """Over several blocks with storms, pauses, gifts and top-ups, events, balances and what waits agree."""
    bench, now = Bench(), 0
    bench.ledger.balances = dict.fromkeys((ALICE, BOB, CAROL), 400)
    reference = Reference(dict(bench.ledger.balances))
    plain: dict[bytes, Plain] = {}

    def run(timer):
        known = plain[timer.timer_id]
        if known.ok and known.gift is not None:
            source, target, amount = known.gift
            amount = min(amount, bench.ledger.balance(source) if source != timer.fee_payer else 0)
            bench.move(source, target, amount)
        return RunOutcome(known.ok, known.use, 0, ())

    for timers, step, (lucky, gift), config, (cycle, cell) in blocks:
        bench.config = msgspec.structs.replace(config, lane_timer_cycles=300)
        bench.moment = bench.at(now)
        for actor, delay, gas_limit, life, use, ok, transfer in timers:
            due = now + delay
            name = bench.schedule(actor, due, gas_limit=gas_limit, expires_at=due + life)
            place = (due, bench.tables.timers[name].sequence)
            plain[name] = Plain(place, name, actor, gas_limit, due + life, min(use, gas_limit), ok, transfer)
            reference.waiting.append(plain[name])
        bench.ledger.balances[lucky] += gift
        reference.balances[lucky] += gift
        bench.config, bench.basefees, parent_now, now = config, Basefees(cycle, cell), now, now + step

        result = bench.run(now, run, parent=parent_now)
        *expected, (_, lane_full, over_cap) = reference.block(config, bench.basefees, now, parent_now)

        events = list(result.events)
        summary = events.pop().counts if events and isinstance(events[-1], DeferredSummary) else ()
        counts = ((DeferralReason.LANE_FULL, lane_full), (DeferralReason.OVER_CAP, over_cap))
        assert [note_of(event) for event in events] == expected
        assert summary == tuple((reason, count) for reason, count in counts if count)
        assert bench.ledger.balances == reference.balances
        assert bench.ledger.burned == reference.burned
        assert list(bench.tables.timers) == [timer.name for timer in reference.waiting]
        waiting = sum(timer.place[0] <= now for timer in reference.waiting)
        assert result.waiting_live + result.waiting_dead == waiting
        assert result.waiting_live == lane_full + over_cap
        assert result.lane_cycles <= config.lane_budget
        assert result.gc_cycles <= config.gc_cycles_per_block
