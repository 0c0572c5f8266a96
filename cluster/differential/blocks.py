"""A differential block: on a state that no chain has led to, executed by the validators' code and by the oracle.

On a chain timers come in by transactions, and meet the cases that clients thought of. Here the state is written before
the block: timers overdue by any number of blocks, payers with exactly the cost of a fire or a unit less, agents,
weights and prices. The oracle's tables are filled, the validators' state is their encoding, and both run the block.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from checker.oracle import NAME
from checker.oracle.auction_records import BOOKS, WEIGHTS, Books, Weight
from checker.oracle.blocks import OracleChain, Result
from checker.oracle.compare import compare_changes, compare_counts, compare_receipts
from checker.oracle.contents import Account, Basefees, Bucket, Contents, Market, Quote, Timer, TimerCounts
from checker.oracle.escrow import lock
from checker.oracle.market import Lane
from checker.oracle.records import Header, read_genesis, write
from checker.results import CheckTally
from cluster.differential.draws import Draw, draw_digest
from cluster.differential.stored_values import StoredValues
from cluster.workloads.edges.scripts import script_of
from scheduler import MAX_U63, POLICIES, Moment
from validators.actors import PROGRAMS
from validators.execution.blocks import Transaction
from validators.execution.genesis import Genesis
from validators.execution.heights import BranchHeights, scan_buckets
from validators.execution.run import BlockRun, Rules
from validators.execution.schema import CALENDAR
from validators.execution.tiers import Tiers
from validators.execution.timers import NOTHING_READ, PoolKeeper, StateTimers, TimerKeys
from validators.execution.view import DecodedCache, View
from validators.state import Batch

STATED_TABLES: Final = ("fifo", "fifo-free", "eip1559", "gba-auction", "bias-auction")
"""Policies whose tables can be written; the queue of `aptos` has an entry beside each timer, made when it comes in."""

TIMERS: Final = 14
OVERDUE_MAX: Final = 6
PAYERS: Final = 4
FIRES_MAX: Final = 5
RICH: Final = 10**12
GAS_LIMITS: Final = (450, 1_000, 2_000, 2_000, 2_000, 3_000, 5_000, 9_000)
WEIGHTS_MAX: Final = 2_000_000
READINGS: Final[Mapping[str, Sequence[Any]]] = {
    "gc_scan_per_block": (0, 1, 3, 6),
    "max_gba_calls_per_block": (0, 1, 3),
    "max_allowed_delays": (0, 1, 2, 3),
    "excessive_delay": ("off", "force", "cancel"),
    "classification": ("eager", "cursor"),
    "packing_account": ("use", "limit"),
    "packing_misfit": ("skip", "stop"),
    "tie_break": ("id", "age", "append"),
    "weight": ("multiplicative", "additive"),
    "median": ("mean", "lower", "upper"),
    "slope": ("literal", "classic"),
}
"""Limits and readings of the lane, and values of each."""

SCRIPT_BYTES_MAX: Final = 600
"""The longest script that a written timer carries: a longer one tries one rule sixty times, and takes as long."""


class _Stage:
    """A chain of the oracle whose tables are written before a block of its last policy, and that block.

    Attributes:
        chain: The chain, at the block's parent.
        header: The block's header, without roots.
    """

    def __init__(self, genesis: Genesis, chain: OracleChain, scripts: Sequence[bytes], draw: Draw) -> None:
        self.chain: Final = chain
        self._genesis = genesis
        self._scripts = scripts
        self._draw = draw
        self._entry = genesis.policies[-1]
        height = self._entry.height + draw(4)
        # Blocks may share no slot, and slots may be without a block.
        parent_slot = height + draw(3)
        slot = parent_slot + 1 + draw(3)
        parent = self._header(height - 1, parent_slot, self.chain.header)
        self.header: Final = self._header(height, slot, parent)
        self.chain.header = parent
        self.now, self.parent_now = (slot, parent_slot) if genesis.timebase == "slot" else (height, height - 1)
        clerks = [actor for actor in genesis.actors if actor.program == "script-actor"]
        self._actors = [actor.address for actor in clerks if not actor.storage]
        self._agents = [actor.address for actor in genesis.actors if actor.storage]
        self._is_endless = not POLICIES[self._entry.policy]().has_ttl
        self._write()

    @property
    def _contents(self) -> Contents:
        return self.chain.contents

    def _header(self, height: int, slot: int, parent: Header) -> Header:
        return parent._replace(
            height=height,
            view=parent.view + height + 1,
            parent=hashlib.sha256(write(parent)).digest(),
            proposer=self._draw(len(self._genesis.validators)),
            slot=slot,
            timestamp_ms=slot * self._genesis.slot_ms,
        )

    def _one_of(self, *values: int) -> int:
        return values[self._draw(len(values))]

    def _write(self) -> None:
        contents, draw = self._contents, self._draw
        cycle, cell = contents.basefees.rows[None]
        contents.basefees.put(None, Basefees(cycle + self._one_of(0, 0, draw(500)), cell))
        self._write_limits()
        price = 0
        if self._entry.policy == "eip1559":
            self._write_readings()
            price = self._write_market()
        elif self._entry.policy == "gba-auction":
            self._write_weights()
        timers = self._write_timers(price)
        self._write_balances(timers, price)
        if self._entry.policy == "bias-auction":
            for timer in timers:
                bid = self._one_of(0, 700, 4_000, 4_000, 4_001, 9_000)
                contents.credit(timer.fee_payer, bid)
                lock(contents, timer, bid)
        contents.settle()

    def _write_limits(self) -> None:
        """Write limits that a block meets: it removes a few of the dead, and fires a few of the others."""
        config, draw = self._contents.config.rows[None], self._draw
        lane = config.lane_timer_cycles
        limited = config._replace(
            gc_cycles_per_block=config.gc_cost_per_timer * self._one_of(0, 1, 2, 3, TIMERS) + draw(2),
            lane_timer_cycles=self._one_of(lane, lane, lane, lane, 4_000, 9_000, 20_000),
            gc_lane_paused=draw(12) == 0,
            execution_lane_paused=draw(16) == 0,
        )
        self._contents.config.put(None, limited)

    def _write_readings(self) -> None:
        """Write some limits and readings of the lane; half of them as genesis has them."""
        config = self._contents.lane_config.rows[None]
        for field, values in READINGS.items():
            if self._draw(2):
                config = config._replace(**{field: values[self._draw(len(values))]})
        self._contents.lane_config.put(None, config)

    def _write_market(self) -> int:
        """Write the lane's market and the fires of its window, and return the lane's price."""
        contents, draw, height = self._contents, self._draw, self.header.height
        config = contents.lane_config.rows[None]
        least, most = config.min_lane_basefee, config.max_lane_basefee
        basefee = min(least + self._one_of(0, 0, 1, draw(900)), most)
        start = max(self._entry.height, height - draw(8))
        market = Market(basefee, self._one_of(0, 0, 40, 41), draw(9_000), start, basefee, draw(9_000))
        if height > self._entry.height:
            contents.market.put(None, market)
            recent: dict[bytes, int] = {}
            for block in range(start, height):
                fires = {actor: 1 + draw(FIRES_MAX) for actor in self._subjects() if draw(3) == 0}
                contents.fires.put(block, fires or None)
                for subject, count in fires.items():
                    recent[subject] = recent.get(subject, 0) + count
            for subject, count in recent.items():
                contents.recent_fires.put(subject, count)
        return Lane(config, market, self._entry.height, contents.basefees.rows[None].cycle).price

    def _subjects(self) -> list[bytes]:
        is_by_owner = self._contents.lane_config.rows[None].fairness_subject == "deployer"
        owners = (self._contents.actors.rows[actor].owner for actor in self._actors)
        return list(dict.fromkeys(owners)) if is_by_owner else self._actors

    def _write_weights(self) -> None:
        epoch = self.parent_now // self._contents.calendar.rows[None].epoch_length
        self._contents.own(BOOKS).put(None, Books(self._draw(9_000), epoch, 0, self._draw(9_000)))
        for actor in self._actors:
            if self._draw(3):
                weight = Weight(max(epoch - self._draw(3), 0), 1 + self._draw(WEIGHTS_MAX))
                self._contents.own(WEIGHTS).put(actor, weight)

    def _write_timers(self, price: int) -> list[Timer]:
        contents, draw = self._contents, self._draw
        timers: list[Timer] = []
        tails: dict[int, int] = {}
        # Within the ring of the parent: what waits beyond it has a part in the tables of the tiers.
        latest = min(self.now, self.parent_now + contents.calendar.rows[None].ring_size - 1)
        for _ in range(TIMERS):
            due = max(latest - draw(OVERDUE_MAX), 1)
            tails[due] = tails.get(due, 0) + 1
            timers.append(self._timer(due, tails[due] - 1, price))
        for timer in timers:
            contents.timers.put(timer.timer_id, timer)
            contents.bucket_entries.put((timer.due, timer.sequence), timer.timer_id)
        for due, tail in tails.items():
            contents.buckets.put(due, Bucket(tail, tail, queued=False))
        for actor in self._actors:
            live = sum(timer.actor == actor for timer in timers)
            if live:
                contents.counts.put(actor, TimerCounts(live, live + draw(3)))
        return timers

    def _timer(self, due: int, sequence: int, price: int) -> Timer:
        draw, config = self._draw, self._contents.config.rows[None]
        # The first one, which has something to give, more often than the others.
        actor = self._actors[max(draw(len(self._actors) + 2) - 2, 0)]
        payer = actor if draw(3) else self._actors[draw(min(PAYERS, len(self._actors)))]
        return Timer(
            timer_id=draw_digest(draw),
            actor=actor,
            due=due,
            sequence=sequence,
            payload=self._payload(actor),
            handler="handle_timer",
            fee_payer=payer,
            gas_limit=min(self._one_of(*GAS_LIMITS, config.lane_timer_cycles), config.max_cycles_per_fire),
            gas_limit_is_default=draw(5) == 0,
            # Where timers have no time to live they come in without an end.
            expires_at=MAX_U63 if self._is_endless else self.now + self._one_of(-2, -1, 0, 1, 3, 9, 9, 9),
            quote=self._quote(price),
        )

    def _payload(self, actor: bytes) -> bytes:
        """Return nothing, a script, or one that pays an actor: before its own timers have their turn, or behind it."""
        draw = self._draw
        payee, amount = self._actors[1 + draw(len(self._actors) - 1)], self._one_of(1, 4_000_000, RICH // 100)
        paying = script_of(("pay", payee, amount))
        if actor == self._actors[0]:
            return paying
        return (b"", self._scripts[draw(len(self._scripts))], paying)[draw(3)]

    def _quote(self, price: int) -> Quote | None:
        policy, draw = self._entry.policy, self._draw
        if policy not in {"eip1559", "gba-auction"} or draw(8) == 0:
            return None
        agent = self._agents[draw(len(self._agents))]
        floor = price if policy == "eip1559" else self._contents.basefees.rows[None].cycle
        fee = floor + self._one_of(-1, 0, 1, 40, 900, 100_000)
        tip = self._one_of(0, 1, 40, 41, 300)
        offers: tuple[tuple[int | None, int | None], ...] = ((fee, tip), (fee, tip), (fee, None), (None, None))
        stated_fee, stated_tip = offers[draw(len(offers))]
        is_asked = stated_tip is None or policy == "gba-auction"
        return Quote(stated_fee, stated_tip, agent if is_asked else None)

    def _write_balances(self, timers: Sequence[Timer], price: int) -> None:
        """Give each payer just what one of its fires may cost, a unit less, or more."""
        contents, cells = self._contents, self._contents.config.rows[None].max_cells_per_fire
        cycle, cell = contents.basefees.rows[None]
        for payer in dict.fromkeys(timer.fee_payer for timer in timers):
            own = [timer for timer in timers if timer.fee_payer == payer]
            timer = own[self._draw(len(own))]
            tip = (timer.quote and timer.quote.max_priority_fee_per_cycle) or 0
            cost = timer.gas_limit * (cycle + price + tip) + cells * cell
            balance = cost + self._one_of(-1, 0, 0, 1, 900 * cycle, cost, RICH, -timer.gas_limit * price)
            # One has always something to pay others with.
            balance = RICH if payer == self._actors[0] else balance
            contents.accounts.put(payer, Account(max(balance, 0), 0))


class DifferentialBlocks:
    """Judges blocks on a genesis, each on a state of its own draws.

    Args:
        genesis: A chain's, with script actors that have nothing stored, and agents.
        scripts: What timers may carry.
    """

    def __init__(self, genesis: Genesis, scripts: Sequence[bytes]) -> None:
        encoded = msgspec.msgpack.encode(genesis)
        self._genesis = genesis
        self._scripts = [script for script in scripts if len(script) <= SCRIPT_BYTES_MAX]
        self._chain = OracleChain(read_genesis(encoded), encoded)

    def judge(self, draw: Draw) -> str:
        """Return how the validators' code differs from the oracle on a differential block; empty where it does not."""
        if self._genesis.policies[-1].policy not in STATED_TABLES:
            return ""
        stage = _Stage(self._genesis, self._chain.fork(), self._scripts, draw)
        before = stage.chain.contents.encode_all()
        run, summary, after = _execute(self._genesis, stage, before)
        result = stage.chain.execute(stage.header, [])
        changes = {key: after.get(key) for key in (*before, *after) if before.get(key) != after.get(key)}
        return _difference(result, run.receipts, changes, msgspec.structs.asdict(summary))


def _execute(
    genesis: Genesis, stage: _Stage, values: Mapping[bytes, bytes]
) -> tuple[BlockRun, msgspec.Struct, Mapping[bytes, bytes]]:
    """Run the block by the validators' code on these values; return the run, its summary and the values after it."""
    stored = StoredValues(values)
    view = View(cast("Batch", stored), DecodedCache())
    header, parent = stage.header, stage.chain.header
    moment = Moment(header.height, header.slot, parent.slot, genesis.timebase, header.timestamp_ms, genesis.slot_ms)
    profile = view.get(CALENDAR, CALENDAR.key())
    assert profile is not None, "genesis writes the calendar profile"
    heights = BranchHeights(profile, stage.parent_now, scan_buckets(stored.items()).items())
    tiers = Tiers(view, heights, moment)
    timers = StateTimers(view, tiers.heights, NOTHING_READ, TimerKeys(), pools=PoolKeeper())
    rules = Rules(genesis, PROGRAMS, _is_signed)
    proposer = genesis.validators[header.proposer]
    run = BlockRun(rules, view=view, tiers=tiers, timers=timers, moment=moment, proposer=proposer)
    return run, run.run(_take_nothing), stored


def _is_signed(_transaction: Transaction) -> bool:
    raise AssertionError("a differential block has no transactions")


def _take_nothing(_run: BlockRun) -> None:
    """Leave a block without transactions."""


def _difference(
    result: Result, receipts: Sequence[bytes], changes: Mapping[bytes, bytes | None], counts: Mapping[str, int]
) -> str:
    tally = CheckTally(NAME, "safety")
    found = (
        compare_receipts(result, receipts, tally)
        or compare_changes(result, changes, tally)
        or compare_counts(result, counts, tally)
    )
    return "" if found is None else found.line
