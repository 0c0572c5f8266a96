"""The lane's timer phase against a reference made of lists and sorting, and its switches against each other."""

from dataclasses import dataclass, field
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import (
    Basefees,
    DeferredSummary,
    FeeParams,
    GbaFailure,
    LaneConfig,
    RunOutcome,
    Timer,
    TimerCancelledInsufficientFunds,
    TimerConfig,
    TimerDeferred,
    TimerExpired,
    TimerFired,
)
from scheduler.types import Quote
from tests.support.lane_doubles import PROPOSER, LaneBench
from tests.support.properties import examples

ACTORS = tuple(bytes([letter]) * 20 for letter in b"abc")
AGENTS = {b"g" * 20: FeeParams(900, 60, 0, 0), b"h" * 20: FeeParams(300, 5, 0, 0), b"i" * 20: GbaFailure.OVERRUN}


@dataclass
class Plain:
    """The rules of docs/spec.md, the timer phase, over lists; balances and fires of the caller's own."""

    config: TimerConfig
    lane: LaneConfig
    fees: Basefees
    price: int
    p50: int
    weights: dict[bytes, Fraction]
    balances: dict[bytes, int]
    uses: dict[bytes, tuple[bool, int]]
    notes: list[tuple] = field(default_factory=list)
    tips: list[int] = field(default_factory=list)
    used: int = 0

    def run(self, waiting, now, parent_now):
        """Return the timers that are left."""
        asked = [
            timer
            for timer in waiting
            if timer.expires_at >= now and not self.is_over(timer) and timer.quote and timer.quote.gba
        ][: self.lane.max_gba_calls_per_block]
        self.asked = [timer.timer_id for timer in asked]
        opening = dict(self.balances)
        dead = [timer for timer in waiting if self.class_of(timer, now, opening) in ("expired", "insolvent")]
        removed = dead[: self.config.gc_budget]
        for timer in removed:
            self.note_removal(timer, now)
        candidates = [timer for timer in waiting if self.class_of(timer, now, opening) == "candidate"]
        candidates.sort(key=self.rank)
        gone, unpaid = list(removed), []
        room = 0 if self.config.execution_lane_paused else self.config.lane_timer_cycles
        for timer in candidates if not self.config.execution_lane_paused else []:
            if self.gas(timer) > room:
                if self.lane.packing_misfit == "stop":
                    break
                continue
            if self.balances[timer.fee_payer] >= self.cost(timer):
                room -= self.fire(timer)
                gone.append(timer)
            elif len(removed) < self.config.gc_budget:
                removed.append(timer)
                gone.append(timer)
                self.note_removal(timer, now)
            else:
                unpaid.append(timer)
        left = [timer for timer in waiting if timer not in gone]
        held = [timer for timer in left if timer not in dead and timer not in unpaid]
        reasons = [self.reason(timer) for timer in held]
        self.notes += [
            ("deferred", timer.timer_id, reason)
            for timer, reason in zip(held, reasons, strict=True)
            if timer.due > parent_now
        ]
        order = ("lane_full", "over_cap", "below_basefee")
        self.held = tuple((reason, reasons.count(reason)) for reason in order if reason in reasons)
        return left

    def gas(self, timer):
        ceiling = min(self.config.max_cycles_per_fire, self.cap)
        return min(timer.gas_limit, ceiling) if timer.gas_limit_is_default else timer.gas_limit

    @property
    def cap(self):
        return min(self.lane.max_cycles_per_fire_auction_phase, self.config.lane_timer_cycles)

    def is_over(self, timer):
        return self.gas(timer) > self.cap

    def offer(self, timer):
        fee, tip = 2 * self.price, self.p50
        if timer.quote is None:
            return 2_000, 0
        answer = AGENTS.get(timer.quote.gba)
        if timer.timer_id in self.asked and isinstance(answer, FeeParams):
            fee, tip = answer.max_fee_per_cycle, answer.max_priority_fee_per_cycle
        stated = timer.quote
        fee = fee if stated.max_fee_per_cycle is None else stated.max_fee_per_cycle
        return fee, tip if stated.max_priority_fee_per_cycle is None else stated.max_priority_fee_per_cycle

    def priority(self, timer):
        fee, tip = self.offer(timer)
        return min(tip, fee - self.price)

    def cost(self, timer):
        per_cycle = self.fees.cycle + self.priority(timer)
        per_cycle += self.price if self.lane.settlement == "additive" else 0
        return self.gas(timer) * per_cycle + self.config.max_cells_per_fire * self.fees.cell

    def class_of(self, timer, now, opening):
        if now > timer.expires_at:
            return "expired"
        if self.is_over(timer):
            return "over_cap"
        if self.priority(timer) < 0:
            return "below_basefee"
        return "insolvent" if opening[timer.fee_payer] < self.cost(timer) else "candidate"

    def reason(self, timer):
        if self.is_over(timer):
            return "over_cap"
        return "below_basefee" if self.priority(timer) < 0 else "lane_full"

    def rank(self, timer):
        weight = self.weights[timer.actor]
        priority = self.priority(timer)
        effective = priority + (weight - 1) * self.price if self.lane.weight == "additive" else priority * weight
        tie = (timer.due, timer.sequence) if self.lane.tie_break == "age" else timer.timer_id
        return -effective, tie

    def fire(self, timer):
        ok, use = self.uses[timer.timer_id]
        use = min(use, self.gas(timer))
        priority = self.priority(timer)
        charged = self.fees.cycle + (self.price if self.lane.settlement == "additive" else 0)
        self.balances[timer.fee_payer] -= use * (charged + priority)
        self.balances[PROPOSER] += use * priority
        self.used += use
        self.tips.append(priority)
        self.notes.append(("fired", timer.timer_id, ok, use, use * charged, use * priority))
        return self.gas(timer) if self.lane.packing_account == "limit" else use

    def note_removal(self, timer, now):
        expired = now > timer.expires_at
        self.notes.append(("expired" if expired else "insolvent", timer.timer_id))


def note_of(event):
    if isinstance(event, TimerFired):
        return ("fired", event.timer_id, event.ok, event.used_cycles, event.burned, event.tip)
    if isinstance(event, TimerExpired):
        return ("expired", event.timer_id)
    if isinstance(event, TimerCancelledInsufficientFunds):
        return ("insolvent", event.timer_id)
    assert isinstance(event, TimerDeferred), event
    return ("deferred", event.timer_id, event.reason.value)


FEES = st.none() | st.integers(0, 1_500)
TIMERS = st.tuples(
    st.sampled_from(ACTORS),
    st.sampled_from(ACTORS),
    st.integers(1, 4),
    st.integers(0, 130),
    st.booleans(),
    st.integers(0, 8),
    st.none() | st.tuples(FEES, st.none() | st.integers(0, 80), st.sampled_from([None, *AGENTS])),
    st.tuples(st.booleans(), st.integers(0, 130)),
)
LANES = st.builds(
    LaneConfig,
    max_cycles_per_fire_auction_phase=st.integers(40, 120),
    min_lane_basefee=st.just(8),
    fairness_window_blocks=st.integers(1, 4),
    max_gba_calls_per_block=st.integers(0, 3),
    lane_multiplier=st.sampled_from(((1, 1), (4, 5))),
    settlement=st.sampled_from(("additive", "literal")),
    packing_account=st.sampled_from(("use", "use", "limit")),
    packing_misfit=st.sampled_from(("skip", "skip", "stop")),
    tie_break=st.sampled_from(("id", "age")),
    weight=st.sampled_from(("multiplicative", "additive")),
    median=st.sampled_from(("mean", "lower", "upper")),
)
BLOCKS = st.lists(
    st.tuples(
        st.lists(TIMERS, max_size=14),
        st.integers(1, 3),
        st.tuples(st.sampled_from(ACTORS), st.integers(0, 60_000)),
        st.builds(
            TimerConfig,
            max_cells_per_fire=st.integers(0, 3),
            gc_cycles_per_block=st.integers(0, 1_500),
            lane_timer_cycles=st.integers(60, 500),
            execution_lane_paused=st.sampled_from((False, False, False, True)),
            gc_lane_paused=st.sampled_from((False, False, False, True)),
        ),
        st.tuples(st.integers(0, 40), st.integers(0, 30)),
    ),
    min_size=1,
    max_size=7,
)


def insert(bench, number, timer):
    """Put a timer into the tables as if it had been admitted at some time."""
    actor, payer, delay, gas_limit, is_default, life, terms, _ = timer
    due = bench.moment.now + delay
    quote = None if terms is None else Quote(*terms)
    if quote is not None and None not in (quote.max_fee_per_cycle, quote.max_priority_fee_per_cycle):
        quote = msgspec.structs.replace(quote, gba=None)
    timer_id = (number * 2_654_435_761 % 2**32).to_bytes(4, "big")
    record = Timer(
        timer_id,
        actor,
        due,
        bench.tables.next_sequence(due),
        b"",
        "tick",
        payer,
        gas_limit,
        is_default,
        due + life,
        quote,
    )
    bench.tables.insert(record)
    return timer_id


def make_bench(lane, **options):
    bench = LaneBench(lane=lane, basefee=1_000, p50=20, **options)
    bench.ledger.balances = dict.fromkeys(ACTORS, 60_000) | {PROPOSER: 0}
    bench.agents = dict(AGENTS)
    return bench


def run_of(uses):
    def run(timer):
        ok, use = uses[timer.timer_id]
        return RunOutcome(ok, min(use, timer.gas_limit), 0, ())

    return run


def giving(bench, run):
    def run_and_give(timer):
        for actor in ACTORS:
            bench.ledger.credit(actor, 20_000)
        return run(timer)

    return run_and_give


def weights_by_stratum(bench, lane, height):
    """Return every actor's W from the fires of the window's blocks, by the formula of CIP-1, section 8."""
    counts = dict.fromkeys(ACTORS, 0)
    for block, fires in bench.lane_tables.window.items():
        if height - lane.fairness_window_blocks <= block < height:
            for actor, count in fires:
                counts[actor] += count
    recent = sorted(count for count in counts.values() if count)
    median = Fraction(0)
    if recent:
        lower, upper = recent[(len(recent) - 1) // 2], recent[len(recent) // 2]
        median = {"mean": Fraction(lower + upper, 2), "lower": Fraction(lower), "upper": Fraction(upper)}[lane.median]
    return {
        actor: max(Fraction(1), min(Fraction(2), 2 - count / max(Fraction(1), median)))
        for actor, count in counts.items()
    }


@examples(100)
@given(LANES, BLOCKS, st.booleans())
@pytest.mark.soak
def test_the_timer_phase_equals_a_plain_list(lane, blocks, keeps_pool):
    """Over several blocks with storms, pauses, agents and top-ups, events, balances, prices and what waits agree."""
    bench = make_bench(lane, keeps_pool=keeps_pool)
    waiting, uses, now, number = [], {}, 0, 0
    for timers, step, (lucky, gift), config, (cycle, cell) in blocks:
        bench.moment = bench.at(now)
        for timer in timers:
            number += 1
            timer_id = insert(bench, number, timer)
            uses[timer_id] = timer[-1]
            waiting.append(bench.tables.timers[timer_id])
        waiting.sort(key=lambda timer: (timer.due, timer.sequence))
        bench.ledger.balances[lucky] += gift
        bench.config, bench.basefees, parent_now, now = config, Basefees(cycle, cell), now, now + step
        over, under = lane.lane_multiplier
        plain = Plain(
            config,
            lane,
            bench.basefees,
            bench.lane.market.basefee * over // under,
            bench.lane.market.p50_tip,
            weights_by_stratum(bench, lane, now),
            dict(bench.ledger.balances),
            uses,
        )
        due = [timer for timer in waiting if timer.due <= now]

        left = plain.run(due, now, parent_now)
        result = bench.run(now, run_of(uses), parent=parent_now)

        events = [event for event in result.events if type(event).__name__ != "GbaFailed"]
        summary = events.pop().counts if events and isinstance(events[-1], DeferredSummary) else ()
        assert [note_of(event) for event in events] == plain.notes
        assert tuple((reason.value, count) for reason, count in summary) == plain.held
        assert bench.ledger.balances == plain.balances
        assert bench.asked == plain.asked
        bench.asked = []
        waiting = left + [timer for timer in waiting if timer.due > now]
        assert sorted(bench.tables.timers) == sorted(timer.timer_id for timer in waiting)
        assert result.waiting_live + result.waiting_dead == len(left)
        assert result.lane_cycles == plain.used <= config.lane_budget
        assert result.tips == sum(tip * note[3] for tip, note in zip(plain.tips, fires_of(plain), strict=True))
        assert bench.lane_tables.sums == sums_of(bench)


def fires_of(plain):
    return [note for note in plain.notes if note[0] == "fired"]


def sums_of(bench):
    sums: dict[bytes, int] = {}
    for fires in bench.lane_tables.window.values():
        for actor, count in fires:
            sums[actor] = sums.get(actor, 0) + count
    return sums


@examples(100)
@given(LANES, BLOCKS, st.integers(0, 6), st.tuples(*[st.integers(0, 200_000)] * 3))
def test_one_block_fires_the_same_timers_under_both_classifications(lane, blocks, scan, balances):
    """From one state, whatever the GC lane gets to see, eager and cursor fire the same timers in the same order."""
    cursor = msgspec.structs.replace(lane, classification="cursor", gc_scan_per_block=scan)
    timers, _, _, config, (cycle, cell) = blocks[0]
    fired = []
    for configuration in (lane, cursor):
        bench = make_bench(configuration)
        bench.config, bench.basefees, bench.moment = config, Basefees(cycle, cell), bench.at(0)
        uses = {insert(bench, number, timer): timer[-1] for number, timer in enumerate(timers)}
        bench.ledger.balances = dict(zip(ACTORS, balances, strict=True)) | {PROPOSER: 0}
        # A gift of every handler: who is solvent by it only now was no candidate.
        result = bench.run(4, giving(bench, run_of(uses)), parent=0)
        fired.append([note_of(event) for event in result.events if isinstance(event, TimerFired)])

    assert fired[0] == fired[1]
