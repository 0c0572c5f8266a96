"""A lane: what a block's limits, price and defaults are, by a market and parameters that a seed draws.

On a drawn chain the lane's basefee has often not moved since its activation, and limits that governance changes often
agree; then a rule reads one for the other and nothing shows it.
"""

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, Final, cast

import msgspec

from scheduler.lane import Lane, LaneConfig
from scheduler.policies.eip1559 import tables_pool
from scheduler.pool import PoolRules, WaitingPool
from scheduler.types import Basefees, LaneMarket, TimerConfig
from tests.properties.draws import Asked, Draw

_FEE_MAX: Final = 2**63 - 1
_ROUNDS: Final = 3

OpensPool = Callable[[int, PoolRules], WaitingPool]


def check_lanes(draw: Draw) -> Asked:
    """Yield what is asked of a lane, and whether it is so."""
    for _ in range(_ROUNDS):
        multiplier = 1 + draw(5), 1 + draw(3)
        tie_break = ("id", "age", "append")[draw(3)]
        config = LaneConfig(
            max_cycles_per_fire_auction_phase=1 + draw(9),
            lane_multiplier=multiplier,
            settlement=("additive", "literal", "intro")[draw(3)],
            tie_break=cast("Any", tie_break),
        )
        # Now and then so great that twice of it does not fit a record.
        basefee, activation = draw(50), draw(50) if draw(3) else _FEE_MAX // 2 + draw(3)
        market = LaneMarket(basefee, draw(9), draw(9), 1, activation, 0)
        timers = msgspec.structs.replace(TimerConfig(), max_cycles_per_fire=1 + draw(9), lane_timer_cycles=1 + draw(9))
        opened: list[PoolRules] = []

        def pool(now: int, rules: PoolRules, opened: list[PoolRules] = opened) -> WaitingPool:
            opened.append(rules)
            return WaitingPool(rules, now)

        lane = _lane(config, market, cycle_basefee=draw(50), pool=pool)
        tables_pool(lane, timers, 5)
        cap = min(config.max_cycles_per_fire_auction_phase, timers.lane_timer_cycles)
        yield (
            "timers wait in a lane by other limits, fees or ties than it has",
            opened
            == [
                PoolRules(
                    gas_limit_cap=cap,
                    default_gas_limit=min(cap, timers.max_cycles_per_fire),
                    legacy_max_fee=min(2 * activation, _FEE_MAX),
                    is_by_age=tie_break in {"age", "append"},
                    is_appended=tie_break == "append",
                )
            ],
        )
        price = lane.basefees.cycle if config.settlement == "intro" else int(basefee * Fraction(*multiplier))
        yield "a lane has another price than its basefee makes", lane.price == price
        default = lane.prices.default_params()
        yield (
            "a default bid in a lane is another one",
            (default.max_fee_per_cycle, default.max_priority_fee_per_cycle) == (2 * price, market.p50_tip),
        )


def _lane(config: LaneConfig, market: LaneMarket, *, cycle_basefee: int, pool: OpensPool) -> Lane:
    """Return a lane of which only its market and parameters are asked."""
    return Lane(
        config=config,
        market=market,
        basefees=Basefees(cycle_basefee, 0),
        activated_at=1,
        tables=cast("Any", SimpleNamespace(pool=pool)),
        proposer=b"",
        ask=cast("Any", None),
        owner_of=bytes,
    )
