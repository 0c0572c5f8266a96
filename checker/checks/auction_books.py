"""The GBA auction's accounts: burns, tips and their order, asks, and what an epoch leads to, from receipts.

Whose agent bid what, and whom a slice held back, is the oracle's to check. Here the fires and deferrals are taken as
they are, and the state's records of the auction have to follow from them and from the records before
(docs/state.md, the GBA auction). A block of another policy leaves these records alone.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import msgspec

from checker.checks.budgets import add_up
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from checker.tables import (
    AUCTION_ACTOR,
    AUCTION_BOOKS,
    AUCTION_CONFIG,
    AUCTION_CURSOR,
    AUCTION_TALLY,
    AUCTION_WEIGHT,
    CALENDAR,
    FEE_MARKET_KEY,
    read_fields,
)
from scheduler import MAX_U63, DeferralReason, DeferredSummary, GbaFailed, TimerDeferred, TimerFired, TimerScheduled
from scheduler.errors import InvalidInput
from scheduler.gba_records import AUCTION_BOOKS as BOOKS_TABLE
from scheduler.gba_records import AuctionConfig

_OWN = (AUCTION_BOOKS, AUCTION_ACTOR, AUCTION_TALLY, AUCTION_WEIGHT, AUCTION_CURSOR)
_MILLION = 1_000_000

Sums = list[int]
"""Fires, those that ended well, tips, lateness, cycles, deferrals."""


class AuctionAccounts(Check):
    """Burns, tips, asks, tallies and weights of the GBA auction follow from what fired and what was deferred."""

    name = "auction-books"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._actors: dict[bytes, bytes] = {}
        self._blocks = 0
        self._scored = 0
        self._tips = 0

    def not_asked(self) -> str:
        """Return a reason where the chain has no auction."""
        return "" if self.run.rules.first_with(BOOKS_TABLE) else "no policy of the chain is gba-auction"

    def settle(self, block: SettledBlock) -> None:
        """Check one block."""
        for event in block.events():
            if isinstance(event, TimerScheduled):
                self._actors[event.timer_id] = event.actor
        config = _config(block)
        if not self.run.rules.keeps(BOOKS_TABLE, block.height):
            written = [key for key in block.changes if key[0] in _OWN]
            self.require(not written, block, "{} entries of the auction were written outside it", len(written))
            return
        self._blocks += 1
        if config is None:
            self.require(None, block, "the auction has no configuration that can be read")
            return
        self._judge_fires(block)
        self._judge_asks(block, config)
        self._judge_books(block, config)

    def finish(self) -> CheckResult:
        """Return the result."""
        if not self._blocks:
            return self.tally.inconclusive("the run ended before the first block of the auction")
        return self.tally.result(
            f"{self.tally.compared:,} burns, tips, asks, sums and weights of {self._blocks:,} blocks follow from what "
            f"fired; {self._scored:,} weights were scored at the ends of epochs, {self._tips:,} units tipped",
            scored=self._scored,
            tips=self._tips,
        )

    def _judge_fires(self, block: SettledBlock) -> None:
        """Require that burns and tips follow from use, and that tips fall but where the second pass begins."""
        cycle_basefee, cell_basefee = _numbers(block.before.get(FEE_MARKET_KEY), 2)
        fires = [event for event in block.events() if isinstance(event, TimerFired)]
        self._tips += sum(fire.tip for fire in fires)
        for fire in fires:
            burned = fire.used_cycles * cycle_basefee + fire.used_cells * cell_basefee
            text = "timer {} burned {}, its cycles and cells come to {}"
            self.require(fire.burned == burned, block, text, fire.timer_id[:6].hex(), fire.burned, burned)
            is_whole = fire.tip == 0 if not fire.used_cycles else fire.tip % fire.used_cycles == 0
            self.require(is_whole, block, "timer {} tipped {}", fire.timer_id[:6].hex(), fire.tip)
        tips = [fire.tip // fire.used_cycles for fire in fires if fire.used_cycles]
        rises = [pair for pair in pairwise(tips) if pair[0] < pair[1]]
        self.require(len(rises) <= 1, block, "tips a cycle rise {} times in the order of fires", len(rises))

    def _judge_asks(self, block: SettledBlock, config: AuctionConfig) -> None:
        """Require that no more agents were asked than allowed, and as many as that before a timer went unasked."""
        events = list(block.events())
        held: dict[DeferralReason, int] = {}
        for event in events:
            if isinstance(event, DeferredSummary):
                held.update(event.counts)
        failed = sum(isinstance(event, GbaFailed) for event in events)
        stated = held.get(DeferralReason.AGENT_FAILED, 0)
        self.require(failed == stated, block, "{} agents failed, {} timers wait for that", failed, stated)
        is_paused = block.config.execution_lane_paused
        full = 0 if is_paused else held.get(DeferralReason.LANE_FULL, 0)
        fired = add_up(block).fired
        # Who cannot pay may have been asked or not.
        asked = fired + full + failed + held.get(DeferralReason.BELOW_BASEFEE, 0)
        limit, unasked = config.max_gba_calls_per_block, held.get(DeferralReason.NOT_ASKED, 0)
        self.require(asked <= limit, block, "{} agents were asked, at most {} may be", asked, limit)
        most = asked + held.get(DeferralReason.FUNDS, 0)
        text = "{} timers were not asked for, and no more than {} of {} asks were used"
        self.require(not unasked or most >= limit, block, text, unasked, most, limit)

    def _judge_books(self, block: SettledBlock, config: AuctionConfig) -> None:
        """Require the tallies, the books and, in the first block of an epoch, the weights that the last one left."""
        length = _numbers(block.before.get(_key(CALENDAR)), 3)[1] or 1
        stored = block.before.get(_key(AUCTION_BOOKS))
        _, epoch, count, budget = _numbers(stored, 4)
        present = block.now // length if stored is None else max(epoch, block.now // length)
        known = {actor: _numbers(block.before.get(_key(AUCTION_TALLY, actor)), 6) for actor in _listed(block, count)}
        if stored is not None and present > epoch:
            self._judge_weights(block, config, known, length)
            gone = [actor for actor in known if actor not in self._sums(block) and _after(block, AUCTION_TALLY, actor)]
            self.require(not gone, block, "{} tallies of the last epoch are still there", len(gone))
            known, budget = {}, 0
        for actor, own in self._sums(block).items():
            sums = zip(known.get(actor, [0] * 6), own, strict=True)
            known[actor] = [min(one + other, MAX_U63) for one, other in sums]
            found = _numbers(_after(block, AUCTION_TALLY, actor), 6)
            if actor in self._uncounted(block):
                # What a fire without cycles would have tipped for each is in no receipt; the oracle knows it.
                known[actor][2] = max(known[actor][2], found[2])
            text = "the tally of actor {} is {}, what fired leads to {}"
            self.require(found == known[actor], block, text, actor[:6].hex(), found, known[actor])
        used = block.summary.cycles_used + block.summary.lane_cycles
        lane = 0 if block.config.execution_lane_paused else block.config.lane_timer_cycles
        # A number of these records stays at the greatest that a record holds (docs/state.md).
        expected = [min(used, MAX_U63), present, len(known), min(budget + lane, MAX_U63)]
        left = _numbers(_after(block, AUCTION_BOOKS), 4)
        self.require(left == expected, block, "the auction's books are {}, its block leads to {}", left, expected)

    def _judge_weights(
        self, block: SettledBlock, config: AuctionConfig, tallies: dict[bytes, Sums], length: int
    ) -> None:
        _, epoch, _, budget = _numbers(block.before.get(_key(AUCTION_BOOKS)), 4)
        means = sorted(Fraction(tips, fires) for fires, _, tips, *_ in tallies.values() if fires)
        median = means[(len(means) - 1) // 2] if means else Fraction(0)
        for actor, (fires, ended_well, tips, lateness, cycles, deferrals) in tallies.items():
            score = Fraction(0)
            if fires:
                mean = Fraction(tips, fires)
                score = mean / (mean + median) if mean + median else Fraction(1, 2)
                score += Fraction(ended_well, fires) + min(Fraction(1), Fraction(lateness, fires * length))
                score += 1 - min(Fraction(1), Fraction(cycles, budget)) if budget else 1
            share, low, high = (Fraction(*it) for it in (config.ema_lambda, config.weight_min, config.weight_max))
            weight = (1 - share) * Fraction(read_weight(block, config, actor, epoch), _MILLION) + share * score / 4
            weight = max(min(weight, high), low)
            if deferrals >= config.starvation_deferrals:
                weight = max(weight, Fraction(*config.starvation_floor))
            expected, found = [epoch + 1, int(weight * _MILLION)], _numbers(_after(block, AUCTION_WEIGHT, actor), 2)
            text = "the weight of actor {} is {}, its epoch leads to {}"
            self.require(found == expected, block, text, actor[:6].hex(), found, expected)
            self._scored += 1

    def _uncounted(self, block: SettledBlock) -> dict[bytes, None]:
        """Return the actors of fires that used no cycle: their tips cannot be divided by that."""
        fires = (event for event in block.events() if isinstance(event, TimerFired) and not event.used_cycles)
        return {self._actors.get(fire.timer_id, b""): None for fire in fires}

    def _sums(self, block: SettledBlock) -> dict[bytes, Sums]:
        """Return what a block did for each actor that fired or was deferred in it."""
        sums: dict[bytes, Sums] = {}
        for event in block.events():
            if isinstance(event, TimerFired):
                per_cycle = event.tip // event.used_cycles if event.used_cycles else 0
                own = [1, int(event.ok), per_cycle, block.now - event.due, event.used_cycles, 0]
            elif isinstance(event, TimerDeferred):
                own = [0, 0, 0, 0, 0, 1]
            else:
                continue
            actor = self._actors.get(event.timer_id, b"")
            sums[actor] = [one + other for one, other in zip(sums.get(actor, [0] * 6), own, strict=True)]
        return sums


def read_weight(block: SettledBlock, config: AuctionConfig, actor: bytes, epoch: int) -> int:
    """Return an actor's weight in an epoch, in millionths, by its record before a block (docs/spec.md)."""
    low, high, initial = (
        over * _MILLION // under for over, under in (config.weight_min, config.weight_max, config.weight_initial)
    )
    encoded = block.before.get(_key(AUCTION_WEIGHT, actor))
    written, weight = _numbers(encoded, 2)
    if encoded is None or written < config.reset_epoch:
        return initial
    if written < config.rescale_epoch:
        weight = weight * config.rescale[0] // config.rescale[1]
    weight = max(min(weight, high), low)
    over, under = config.ema_lambda
    for _ in range(epoch - written):
        if weight <= low:
            break
        weight = max(weight * (under - over) // under, low)
    return weight


def _listed(block: SettledBlock, count: int) -> Iterator[bytes]:
    """Yield the actors that had a tally before a block."""
    for index in range(count):
        match read_fields(block.before.get(_key(AUCTION_ACTOR, index.to_bytes(8, "big")), b"")):
            case [bytes() as actor]:
                yield actor


def _key(table: int, raw: bytes = b"") -> bytes:
    return (bytes([table]) + raw).ljust(32, b"\0")


def _after(block: SettledBlock, table: int, raw: bytes = b"") -> bytes | None:
    key = _key(table, raw)
    return block.changes[key] if key in block.changes else block.before.get(key)


def _numbers(encoded: bytes | None, count: int) -> Sums:
    """Return the numbers of a record; as many zeros where there is none, or it is another one."""
    fields: Sequence[object] = (None if encoded is None else read_fields(encoded)) or []
    numbers = [field for field in fields if isinstance(field, int)]
    return numbers if len(numbers) == len(fields) == count else [0] * count


def _config(block: SettledBlock) -> AuctionConfig | None:
    try:
        return msgspec.msgpack.decode(block.before.get(_key(AUCTION_CONFIG), b""), type=AuctionConfig)
    except (msgspec.MsgspecError, InvalidInput):
        return None
