"""The policy `eip1559`: timers bid for a lane whose price follows its use (CIP-1; docs/spec.md says every reading).

Its rules by file: lane.py parameters and market, lane_state.py tables and carried sums, lane_calls.py calls and agents.
quotes.py and bidding.py have fees, fee_market.py the price, fairness.py weights, auction.py the timer phase. pool.py,
books.py and ranking.py have the order.

Invariants: the two budgets are independent, and neither is exceeded. Agents are asked and balances read before anything
changes. Each timer that leaves does so with exactly one event. The pool does not change while the auction reads from
it: timers that left are removed at the end.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import msgspec

from scheduler.auction import Auction
from scheduler.fairness import Weights, open_window, read_weights
from scheduler.lane import Lane, LaneConfig, note_used_cycles
from scheduler.lane_calls import admit_in_lane, context_in_lane
from scheduler.lane_points import cells_of_opening
from scheduler.lane_state import LANE_CONFIG, LANE_TABLES, LaneState, open_lane
from scheduler.lifecycle import Admission, ScheduleRequest
from scheduler.policies.policy import BlockContext, Carry, Guarantees, Policy, PolicyInBlock, Refusal
from scheduler.pool import PoolRules, WaitingPool
from scheduler.tables import StateTable, StateTables
from scheduler.tally import Tally
from scheduler.types import MAX_U63, Basefees, BlockPhase, Parameters, PhaseResult, TimerConfig
from scheduler.watch_records import TRIGGER_CONFIG, WatchLimits


class Eip1559(Policy):
    """Sorted by effective priority, at a lane basefee, with a fairness weight per actor."""

    name: ClassVar[str] = "eip1559"
    has_ttl: ClassVar[bool] = True
    has_budget: ClassVar[bool] = True
    config_type: ClassVar[type[Parameters] | None] = LaneConfig
    config_table: ClassVar[StateTable[Any] | None] = LANE_CONFIG
    option_table: ClassVar[StateTable[Any] | None] = TRIGGER_CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = LANE_TABLES

    def carry(self, previous: Policy) -> Carry | Refusal:
        """Take on timers that name no fees."""
        if previous.name in ("fifo", "fifo-free"):
            return Carry("they keep their expiry, and fees are read from the activation basefee (A-22)")
        if previous.name == "gba-auction":
            return Carry("their agents are asked in the lane, in its terms, and the defaults hold where one fails")
        if previous.name == "bias-auction":
            return Carry("their bids go back as they leave, and fees are read from the activation basefee (A-22)")
        return super().carry(previous)

    def derive(self, state: StateTables, height: int) -> Mapping[int, int]:
        """Return the sums of the fairness window, from the records of its blocks."""
        return LaneState.count_sums(state, height)

    def watch_limits(self, own: Parameters | None, state: StateTables) -> WatchLimits | None:
        """Return the limits of state triggers, where genesis has switched them on."""
        del own
        found = state.get(TRIGGER_CONFIG, TRIGGER_CONFIG.key())
        return None if found is None else WatchLimits(*msgspec.structs.astuple(found))

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return what the auction promises: its order is the oracle's to check."""
        if not isinstance(own, LaneConfig):
            return Guarantees()
        return Guarantees(
            clears_dead=own.classification == "eager",
            fills_lane=own.packing_account == "use",
            caps_by_limit=True,
            attempt_cycles_max=own.max_cycles_per_fire_auction_phase,
        )

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block, with the lane as the block's parent left it."""
        return Eip1559InBlock(block, open_lane(block))


class Eip1559InBlock(PolicyInBlock):
    """One block of the policy; `lane` is what it goes by."""

    def __init__(self, block: BlockContext, lane: Lane) -> None:
        super().__init__(block, context_in_lane(lane, block.timers, block.moment, block.config))
        self.lane = lane
        self.price = lane.price

    def admit(self, request: ScheduleRequest) -> Admission:
        """Check a timer that is to come in; nothing is written.

        Raises:
            Rejected: One of the named errors; TimerArgDeprecated for a `bid` once it is withdrawn (A-14).
        """
        return admit_in_lane(self.lane, self.context, request)

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Run the timer phase (docs/spec.md, the timer phase)."""
        assert phase is BlockPhase.TIMERS, phase
        block = self.block
        reached = [*cells_of_opening(self.lane, block.moment.height)]
        lane = replace(self.lane, market=open_window(self.lane, block.moment.height))
        charged = lane.price if lane.config.settlement == "additive" else 0
        costs = Basefees(block.basefees.cycle + charged, block.basefees.cell)
        pool = tables_pool(lane, block.config, block.moment.now)
        weights, tally = self.weights(lane), Tally.of(self, costs)
        auction = Auction(lane=lane, prices=lane.prices, pool=pool, tally=tally, weights=weights)
        auction.tally.reached += reached
        auction.ask_agents()
        auction.open_balances()
        if lane.config.classification == "eager":
            auction.remove_dead()
        else:
            auction.walk_for_dead()
        auction.cancel_overdue()
        auction.fire()
        return auction.close(charged)

    def weights(self, lane: Lane) -> Weights:
        """Return the weights of this block; fires that are too old have left the window of `lane`."""
        return read_weights(lane)

    def close(self, used_cycles: int) -> None:
        """Complete the market by all cycles of the block: what agents are told in the next one."""
        note_used_cycles(self.lane.tables, used_cycles)

    def carried(self) -> object | None:
        """Return the sums of the fairness window."""
        return self.lane.tables.sums if isinstance(self.lane.tables, LaneState) else None


def tables_pool(lane: Lane, config: TimerConfig, now: int) -> WaitingPool:
    """Return the waiting set as this block reads it."""
    rules = PoolRules(
        gas_limit_cap=lane.gas_limit_cap(config),
        default_gas_limit=lane.gas_limit_ceiling(config),
        legacy_max_fee=min(2 * lane.market.activation_basefee, MAX_U63),
        is_by_age=lane.config.tie_break != "id",
        is_appended=lane.config.tie_break == "append",
    )
    pool = lane.tables.pool(now, rules)
    pool.advance(now)
    return pool
