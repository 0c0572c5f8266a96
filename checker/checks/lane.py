"""The timer lane's accounts: its basefee, the burns and tips of fires, and the fairness window, from receipts.

The choice of timers that fire is the oracle's to check. Here the fires are taken as they are, and the state's records
of the lane have to follow from them (docs/state.md, the timer lane). A chain without a lane has no lane records.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from checker.tables import FEE_MARKET_KEY, FIRES, LANE_BOOKS, LANE_MARKET_KEY, LANE_TABLES, RECENT_FIRES, read_fields
from scheduler import LaneConfig, LaneMarket, TimerFired
from scheduler.lane_state import LANE_MARKET
from validators.execution.receipts import TimerReceipt


class LaneBooks(Check):
    """The timer lane's basefee, burns, tips and fairness sums follow from what fired."""

    name = "lane-books"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._first_height = run.rules.first_with(LANE_MARKET)
        self._blocks = 0
        self._active_blocks = 0
        self._fires: dict[int, dict[bytes, int]] = {}
        self._sums: dict[bytes, int] = {}
        self._burned = 0
        self._tips = 0
        self._dearest = 0

    def not_asked(self) -> str:
        """Return a reason where the chain has no lane."""
        return "" if self._first_height or self.tally.has_failed else "no policy of the chain has a lane"

    def settle(self, block: SettledBlock) -> None:
        """Check one block."""
        self._blocks += 1
        if not self.run.rules.keeps(LANE_MARKET, block.height):
            self._judge_absence(block)
            return
        self._active_blocks += 1
        market, config = read_market(block), block.lane
        if market is None or config is None:
            self.require(None, block, "the lane has no configuration or no market that can be read")
            return
        fires = [it.event for it in block.receipts if isinstance(it, TimerReceipt) and isinstance(it.event, TimerFired)]
        price = market.basefee * config.lane_multiplier[0] // config.lane_multiplier[1]
        price = _basefees(block)[0] if config.settlement == "intro" else price
        self._dearest = max(self._dearest, price)
        self._judge_fires(block, fires, price if config.settlement == "additive" else 0)
        self._judge_market(block, market, fires, price if config.settlement == "additive" else 0)
        self._judge_window(block, market, fires)

    def finish(self) -> CheckResult:
        """Return the result."""
        if not self._active_blocks:
            return self.tally.inconclusive(
                f"the lane is active from height {self._first_height:,} on, and the run ended at {self._blocks:,}"
            )
        return self.tally.result(
            f"{self.tally.compared:,} prices, burns, tips and sums follow from what fired; the dearest cycle cost "
            f"{self._dearest:,}, {self._burned:,} units burned for the lane and {self._tips:,} tipped",
            dearest=self._dearest,
            burned=self._burned,
            tips=self._tips,
        )

    def _judge_absence(self, block: SettledBlock) -> None:
        """Require no lane records in a chain without an active lane, but the lane's rules before an activation."""
        tables = LANE_TABLES if not self._first_height else LANE_BOOKS
        written = [key for key, value in block.changes.items() if key[0] in tables and value is not None]
        known = [key for key in block.before if key[0] in tables] if self._blocks == 1 else []
        strange = [*known, *written]
        self.require(not strange, block, "the state holds {} entries of a lane, and none is active", len(strange))

    def _judge_fires(self, block: SettledBlock, fires: Sequence[TimerFired], charged: int) -> None:
        cycle_basefee, cell_basefee = _basefees(block)
        for fire in fires:
            burned = fire.used_cycles * (cycle_basefee + charged) + fire.used_cells * cell_basefee
            text = "timer {} burned {}, its cycles and cells come to {}"
            self.require(fire.burned == burned, block, text, fire.timer_id[:6].hex(), fire.burned, burned)
            is_whole = fire.tip == 0 if not fire.used_cycles else fire.tip % fire.used_cycles == 0
            self.require(is_whole, block, "timer {} tipped {}", fire.timer_id[:6].hex(), fire.tip)

    def _judge_market(self, block: SettledBlock, market: LaneMarket, fires: Sequence[TimerFired], charged: int) -> None:
        config, used = block.lane, sum(fire.used_cycles for fire in fires)
        assert config is not None, "it was read"
        burned = used * charged
        self._burned += burned
        self._tips += sum(fire.tip for fire in fires)
        expected = LaneMarket(
            basefee=next_basefee(market.basefee, Fraction(used, block.config.lane_timer_cycles), config),
            p50_tip=median((fire.tip // fire.used_cycles for fire in fires if fire.used_cycles), config.median),
            used_cycles=block.summary.cycles_used + block.summary.lane_cycles,
            window_start=max(market.window_start, block.height - config.fairness_window_blocks),
            activation_basefee=market.activation_basefee,
            burned=market.burned + burned,
        )
        encoded = block.changes.get(LANE_MARKET_KEY, block.before.get(LANE_MARKET_KEY))
        found = [] if encoded is None else read_fields(encoded) or []
        for name, one, other in zip(expected.__struct_fields__, msgspec.structs.astuple(expected), found, strict=False):
            # A fire without cycles does not show the tip it would have paid for one.
            if name != "p50_tip" or all(fire.used_cycles for fire in fires):
                self.require(one == other, block, "the lane's {} is {}, what fired leads to {}", name, other, one)
        self.require(len(found) == len(expected.__struct_fields__), block, "the lane's market is {}", found)

    def _judge_window(self, block: SettledBlock, market: LaneMarket, fires: Sequence[TimerFired]) -> None:
        """Require that each subject's recent fires match the window's blocks, and each block's list its own fires."""
        config, height = block.lane, block.height
        assert config is not None, "it was read"
        own = self._fires_of(block, fires)
        start = max(market.window_start, height - config.fairness_window_blocks)
        changed = dict(own)
        for old in [old for old in self._fires if old < start]:
            changed |= {actor: -count + changed.get(actor, 0) for actor, count in self._fires.pop(old).items()}
        self._fires[height] = own
        self._sums = _count(self._fires.values())
        for key, value in block.changes.items():
            fields = [] if value is None else read_fields(value) or []
            if key[0] == RECENT_FIRES:
                expected: object = self._sums.get(key[1:21], 0)
                found: object = fields[0] if fields else 0
                text = "a subject is said to have fired {}, it fired {}"
                self.require(found == expected, block, text, found, expected)
            elif key[0] == FIRES and int.from_bytes(key[1:9], "big") == height:
                listed = [[actor, count] for actor, count in sorted(own.items())]
                self.require(fields == listed, block, "the block's fires are {}, they were {}", fields, listed)
        written = [key[1:21] for key in block.changes if key[0] == RECENT_FIRES]
        missing = [actor for actor, change in changed.items() if change and actor not in written]
        if any(changed.values()):
            self.require(not missing, block, "the sums of {} subjects were not written", len(missing))

    def _fires_of(self, block: SettledBlock, fires: Sequence[TimerFired]) -> dict[bytes, int]:
        """Return the number of fires of each subject in a block: by actor, or from the block's own list.

        A fire's event does not name the actor's deployer. Where fires count for deployers, the block's list is taken,
        if its total is right; the oracle checks whose fires they are.
        """
        assert block.lane is not None, "it was read"
        own: dict[bytes, int] = {}
        if block.lane.fairness_subject == "actor":
            for fire in fires:
                own[fire.actor] = own.get(fire.actor, 0) + 1
            return own
        encoded = block.changes.get((bytes([FIRES]) + block.height.to_bytes(8, "big")).ljust(32, b"\0"))
        for entry in read_fields(encoded or b"") or []:
            match entry:
                case [bytes() as subject, int() as count]:
                    own[subject] = count
        self.require(
            sum(own.values()) == len(fires), block, "{} fires are listed, {} were", sum(own.values()), len(fires)
        )
        return own


def read_market(block: SettledBlock) -> LaneMarket | None:
    """Return the lane market that a block starts from; the first one starts from the cycle basefee."""
    encoded, config = block.before.get(LANE_MARKET_KEY), block.lane
    if encoded is not None:
        fields = read_fields(encoded) or []
        is_market = len(fields) == len(LaneMarket.__struct_fields__) and all(type(field) is int for field in fields)
        return msgspec.convert(fields, LaneMarket) if is_market else None
    basefee = (config.initial_lane_basefee if config is not None else 0) or _basefees(block)[0]
    return LaneMarket(basefee, 0, 0, block.height, basefee, 0)


def next_basefee(basefee: int, utilisation: Fraction, config: LaneConfig) -> int:
    """Return the lane basefee that follows a block (docs/spec.md, prices of a block)."""
    target, most = Fraction(*config.target_utilisation), Fraction(*config.max_basefee_step)
    change = (utilisation - target) / target * (most if config.slope == "classic" else 1)
    change = min(max(change, -most), most)
    step = int(basefee * abs(change))
    if change > 0:
        return min(max(basefee + max(step, 1), config.min_lane_basefee), config.max_lane_basefee)
    return max(basefee - step, config.min_lane_basefee)


def median(values: Iterable[int], kind: str) -> int:
    """Return the median, the mean of the middle two rounded down; 0 without values."""
    ordered = sorted(values)
    if not ordered:
        return 0
    lower, upper = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return {"lower": lower, "mean": (lower + upper) // 2, "upper": upper}[kind]


def _count(blocks: Iterable[dict[bytes, int]]) -> dict[bytes, int]:
    sums: dict[bytes, int] = {}
    for fires in blocks:
        for actor, count in fires.items():
            sums[actor] = sums.get(actor, 0) + count
    return sums


def _basefees(block: SettledBlock) -> tuple[int, int]:
    fields = read_fields(block.before.get(FEE_MARKET_KEY, b"")) or []
    match fields:
        case [int() as cycle, int() as cell]:
            return cycle, cell
    return 0, 0
