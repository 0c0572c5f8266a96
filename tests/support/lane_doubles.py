"""The lane's tables over plain dicts, and a chain in it that consists of nothing but the scheduler."""

from dataclasses import replace

from scheduler import (
    Bid,
    BlockPhase,
    FeeParams,
    GbaFailure,
    Lane,
    LaneConfig,
    LaneMarket,
    PhaseResult,
    RunOutcome,
    ScheduleRequest,
    SchedulingContext,
    TimerConfig,
    WaitingPool,
    note_used_cycles,
    read_market,
)
from scheduler.lane_calls import context_in_lane
from scheduler.policies.eip1559 import Eip1559InBlock
from tests.support.scheduler_doubles import Bench, DictTables

PROPOSER = b"\xee" * 20


class DictLaneTables:
    """The lane's tables in dicts; the pool is made anew in every block, or kept where `keeps_pool`."""

    def __init__(self, timers: DictTables, *, keeps_pool: bool = False) -> None:
        self.timers = timers
        self.keeps_pool = keeps_pool
        self.kept: WaitingPool | None = None
        self.left: LaneMarket | None = None
        self.window: dict[int, tuple[tuple[bytes, int], ...]] = {}
        self.sums: dict[bytes, int] = {}
        self.cursor: tuple[int, int] | None = None

    def pool(self, upto, rules):
        waiting = self.timers.collect(upto)
        pool = self.kept if self.kept is not None and self.kept.rules == rules else WaitingPool(rules, upto)
        known = {timer.timer_id: timer for timer in pool.walk()}
        now = {timer.timer_id: timer for timer in waiting}
        for timer_id, timer in known.items():
            if now.get(timer_id) != timer:
                pool.discard(timer)
        for timer_id, timer in now.items():
            if known.get(timer_id) != timer:
                pool.add(timer)
        self.kept = pool if self.keeps_pool else None
        return pool

    def market(self):
        return self.left

    def set_market(self, market):
        self.left = market

    def fires(self, height):
        return self.window.get(height, ())

    def set_fires(self, height, fires):
        self.window[height] = tuple(fires)
        if not fires:
            del self.window[height]

    def recent_fires(self, subject):
        return self.sums.get(subject, 0)

    def set_recent_fires(self, subject, count):
        assert count >= 0
        self.sums[subject] = count
        if not count:
            del self.sums[subject]

    def fire_counts(self):
        counts: dict[int, int] = {}
        for count in self.sums.values():
            counts[count] = counts.get(count, 0) + 1
        return counts

    def gc_cursor(self):
        return self.cursor

    def set_gc_cursor(self, place):
        self.cursor = place


class LaneBench(Bench):
    """A chain in the lane; `agents` maps an address to what it answers, a value or a function of the context."""

    def __init__(
        self,
        config: TimerConfig | None = None,
        lane: LaneConfig | None = None,
        *,
        cycle: int = 0,
        cell: int = 0,
        basefee: int | None = None,
        p50: int = 0,
        activated_at: int = 1,
        keeps_pool: bool = False,
    ) -> None:
        super().__init__(config, cycle=cycle, cell=cell)
        self.lane_config = lane or LaneConfig()
        self.lane_tables = DictLaneTables(self.tables, keeps_pool=keeps_pool)
        self.activated_at = activated_at
        self.agents: dict[bytes, object] = {}
        self.asked: list[bytes] = []
        if basefee is not None:
            self.lane_tables.left = LaneMarket(basefee, p50, 0, 0, basefee, 0)

    @property
    def lane(self) -> Lane:
        """The lane as the present block sees it."""
        market = read_market(
            self.lane_tables, self.lane_config, height=self.moment.height, cycle_basefee=self.basefees.cycle
        )
        return Lane(
            config=self.lane_config,
            market=market,
            basefees=self.basefees,
            activated_at=self.activated_at,
            tables=self.lane_tables,
            proposer=PROPOSER,
            ask=self.ask,
            owner_of=self.owner,
        )

    @property
    def context(self) -> SchedulingContext:
        return replace(context_in_lane(self.lane, self.tables, self.moment, self.config), collected=self.collected)

    @property
    def policy(self) -> Eip1559InBlock:
        opened = Eip1559InBlock(self.block(), self.lane)
        opened.context = self.context
        return opened

    @staticmethod
    def run_whole(timer):
        """Run a handler that uses all that it may."""
        return RunOutcome(True, timer.gas_limit, 0, ())

    def ask(self, timer, context):
        """Answer for the agent of a timer."""
        self.asked.append(timer.timer_id)
        answer = self.agents.get(timer.quote.gba, GbaFailure.FAILED)
        if callable(answer):
            answer = answer(context)
        return FeeParams(*answer) if isinstance(answer, tuple) else answer

    def bid(self, actor, due, *, fee=None, tip=None, tier=None, gba=None, nonce=0, **options):
        """Schedule with fees and return the events."""
        request = ScheduleRequest(
            actor=actor, sender=actor, nonce=nonce, due=due, payload=b"", fees=Bid(fee, tip, tier, gba), **options
        )
        return self.admit(request)

    def run(self, height, run=None, parent=None, **lane) -> PhaseResult:
        """Run the timer phase of a block."""
        self.moment = self.at(height, parent)
        self.collected = True
        block = self.block(run or (lambda timer: RunOutcome(True, 0, 0, ())))
        result = Eip1559InBlock(block, replace(self.lane, **lane)).run(BlockPhase.TIMERS)
        self.collected = False
        note_used_cycles(self.lane_tables, result.lane_cycles)
        return result


def free(**fields) -> TimerConfig:
    """Return a configuration in which cells cost nothing."""
    return TimerConfig(max_cells_per_fire=0, **fields)
