"""Draws of differential blocks: a state, limits and readings of the policy, transactions before or after timers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from checker.oracle.blocks import OracleChain
from checker.oracle.contents import Market
from checker.oracle.lane_config import LaneConfig
from checker.oracle.market import Lane
from checker.oracle.policies import POLICY_ORACLES
from cluster.differential.blocks import CaseComparison, judge_block
from cluster.differential.cases import BlockCase, StatedLane, StatedQuote, StatedTimer, StatedWeights
from cluster.differential.draws import Draw, draw_digest
from cluster.differential.queue_draws import QueueDraw
from cluster.differential.stages import chain_at_genesis
from cluster.differential.transaction_draws import draw_transactions
from cluster.workloads.boundary.scripts import script_of
from scheduler import MAX_U63, POLICIES, TimerConfig
from validators.execution.genesis import Genesis

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
"""The longest script that a written timer carries: a longer script tries a rule sixty times, and takes as long."""


class DifferentialBlocks:
    """Draws and judges blocks on a genesis, each on a state of its own.

    Args:
        genesis: A chain's genesis, with script actors whose storage is empty, and agents.
        scripts: The scripts that timers may carry.
    """

    def __init__(self, genesis: Genesis, scripts: Sequence[bytes]) -> None:
        self._genesis = genesis
        self._scripts = [script for script in scripts if len(script) <= SCRIPT_BYTES_MAX]
        self._chain = chain_at_genesis(genesis)

    def draw(self, draw: Draw, more: Draw) -> BlockCase:
        """Return a block; `more` are the draws of its transactions, and of the queue of `aptos`."""
        return BlockDraw(self._genesis, self._chain, scripts=self._scripts, draw=draw, more=more).case()

    def judge(self, case: BlockCase) -> CaseComparison:
        """Return how the validators' code differs from the oracle on a block drawn here."""
        return judge_block(case, self._chain)


class BlockDraw:
    """A differential block as it is drawn, on the genesis of a chain.

    Args:
        genesis: The chain's genesis, with script actors whose storage is empty, and agents.
        at_genesis: The oracle's chain at this genesis.
        scripts: The scripts that timers may carry.
        draw: The draws of the state.
        more: The draws of transactions, and of the queue of `aptos`.
    """

    def __init__(
        self, genesis: Genesis, at_genesis: OracleChain, *, scripts: Sequence[bytes], draw: Draw, more: Draw
    ) -> None:
        self._genesis = genesis
        self._contents = at_genesis.contents
        self._scripts = scripts
        self._draw = draw
        self._more = more
        self._entry = genesis.policies[-1]
        clerks = [actor for actor in genesis.actors if actor.program == "script-actor"]
        self._actors = [actor.address for actor in clerks if not actor.storage]
        self._agents = [actor.address for actor in genesis.actors if actor.storage]
        self._is_endless = not POLICIES[self._entry.policy]().has_ttl

    def _one_of(self, *values: int) -> int:
        return values[self._draw(len(values))]

    def case(self) -> BlockCase:
        """Return the case."""
        draw, policy = self._draw, self._entry.policy
        height = self._entry.height + draw(4)
        # Blocks may share no slot, and slots may be without a block.
        parent_slot = height + draw(3)
        slot = parent_slot + 1 + draw(3)
        draw(len(self._genesis.validators))
        case = BlockCase(
            genesis=self._genesis,
            height=height,
            parent_slot=parent_slot,
            slot=slot,
            proposer=draw(len(self._genesis.validators)),
            basefees=self._basefees(),
            timer_config=self._limits(),
        )
        if policy == "aptos":
            case = QueueDraw(case, self._contents, self._actors, scripts=self._scripts, draw=self._more).case()
            return draw_transactions(case, self._actors, self._scripts, self._more)
        price = 0
        if policy == "eip1559":
            case, price = self._with_lane(case)
        elif policy == "gba-auction":
            case = self._with_weights(case)
        case = self._with_balances(self._with_timers(case, price), price)
        if policy == "bias-auction":
            bids = [self._one_of(0, 700, 4_000, 4_000, 4_001, 9_000) for _ in case.timers]
            timers = [msgspec.structs.replace(timer, bid=bid) for timer, bid in zip(case.timers, bids, strict=True)]
            case = msgspec.structs.replace(case, timers=tuple(timers))
        return draw_transactions(case, self._actors, self._scripts, self._more)

    def _basefees(self) -> tuple[int, int]:
        cycle, cell = self._contents.basefees.rows[None]
        return cycle + self._one_of(0, 0, self._draw(500)), cell

    def _limits(self) -> TimerConfig:
        """Return limits that a block meets: it removes a few of the dead timers, and fires a few of the live timers."""
        config, draw = self._genesis.timer_config, self._draw
        lane = config.lane_timer_cycles
        return msgspec.structs.replace(
            config,
            gc_cycles_per_block=config.gc_cost_per_timer * self._one_of(0, 1, 2, 3, TIMERS) + draw(2),
            lane_timer_cycles=self._one_of(lane, lane, lane, lane, 4_000, 9_000, 20_000),
            gc_lane_paused=draw(12) == 0,
            execution_lane_paused=draw(16) == 0,
        )

    def _with_lane(self, case: BlockCase) -> tuple[BlockCase, int]:
        """Return the case with readings of the lane, its market and the fires of its window, and the lane's price."""
        draw, height, config = self._draw, case.height, self._contents.lane_config.rows[None]
        # Half of the readings are the values of genesis.
        for field, values in READINGS.items():
            if draw(2):
                config = config._replace(**{field: values[draw(len(values))]})
        least, most = config.min_lane_basefee, config.max_lane_basefee
        basefee = min(least + self._one_of(0, 0, 1, draw(900)), most)
        start = max(self._entry.height, height - draw(8))
        fields = (basefee, self._one_of(0, 0, 40, 41), draw(9_000), start, basefee, draw(9_000))
        case = msgspec.structs.replace(case, own_config=list(config))
        if height > self._entry.height:
            subjects = self._subjects(config)
            window = tuple(
                (block, tuple((subject, 1 + draw(FIRES_MAX)) for subject in subjects if draw(3) == 0))
                for block in range(start, height)
            )
            case = msgspec.structs.replace(case, lane=StatedLane(fields, window))
        return case, Lane(config, Market(*fields), self._entry.height, case.basefees[0]).price

    def _subjects(self, config: LaneConfig) -> list[bytes]:
        owners = (self._contents.actors.rows[actor].owner for actor in self._actors)
        return list(dict.fromkeys(owners)) if config.fairness_subject == "deployer" else self._actors

    def _with_weights(self, case: BlockCase) -> BlockCase:
        draw, calendar = self._draw, self._genesis.calendar
        epoch = case.parent_now // calendar.epoch_length
        books = (draw(9_000), epoch, 0, draw(9_000))
        weights = tuple((actor, max(epoch - draw(3), 0), 1 + draw(WEIGHTS_MAX)) for actor in self._actors if draw(3))
        table = POLICY_ORACLES["gba-auction"].config_table(self._contents)
        assert table is not None, "the auction has parameters"
        # The only switch of the place of timers: transactions stand after them, or before them.
        own = table.rows[None]._replace(timer_phase=("after", "before")[self._more(2)])
        return msgspec.structs.replace(case, auction=StatedWeights(books, weights), own_config=list(own))

    def _with_timers(self, case: BlockCase, price: int) -> BlockCase:
        draw = self._draw
        # Within the parent's ring: timers that wait beyond it also need entries in the tables of the tiers.
        latest = min(case.now, case.parent_now + self._genesis.calendar.ring_size - 1)
        timers = tuple(self._timer(case, max(latest - draw(OVERDUE_MAX), 1), price) for _ in range(TIMERS))
        live = [actor for actor in self._actors if any(timer.actor == actor for timer in timers)]
        return msgspec.structs.replace(case, timers=timers, scheduled=tuple((actor, draw(3)) for actor in live))

    def _timer(self, case: BlockCase, due: int, price: int) -> StatedTimer:
        draw, config = self._draw, case.timer_config
        # The first actor, which has funds to give, more often than the others.
        actor = self._actors[max(draw(len(self._actors) + 2) - 2, 0)]
        payer = actor if draw(3) else self._actors[draw(min(PAYERS, len(self._actors)))]
        return StatedTimer(
            timer_id=draw_digest(draw),
            actor=actor,
            due=due,
            payload=self._payload(actor),
            fee_payer=payer,
            gas_limit=min(self._one_of(*GAS_LIMITS, config.lane_timer_cycles), config.max_cycles_per_fire),
            gas_limit_is_default=draw(5) == 0,
            # Timers without a time to live have no expiry.
            expires_at=MAX_U63 if self._is_endless else case.now + self._one_of(-2, -1, 0, 1, 3, 9, 9, 9),
            quote=self._quote(case, price),
        )

    def _payload(self, actor: bytes) -> bytes:
        """Return an empty payload, a script, or a script that pays an actor: before its own timers fire, or after."""
        draw = self._draw
        payee, amount = self._actors[1 + draw(len(self._actors) - 1)], self._one_of(1, 4_000_000, RICH // 100)
        paying = script_of(("pay", payee, amount))
        if actor == self._actors[0]:
            return paying
        return (b"", self._scripts[draw(len(self._scripts))], paying)[draw(3)]

    def _quote(self, case: BlockCase, price: int) -> StatedQuote | None:
        policy, draw = self._entry.policy, self._draw
        if policy not in {"eip1559", "gba-auction"} or draw(8) == 0:
            return None
        agent = self._agents[draw(len(self._agents))]
        floor = price if policy == "eip1559" else case.basefees[0]
        fee = floor + self._one_of(-1, 0, 1, 40, 900, 100_000)
        tip = self._one_of(0, 1, 40, 41, 300)
        offers: tuple[tuple[int | None, int | None], ...] = ((fee, tip), (fee, tip), (fee, None), (None, None))
        stated_fee, stated_tip = offers[draw(len(offers))]
        is_asked = stated_tip is None or policy == "gba-auction"
        return StatedQuote(stated_fee, stated_tip, agent if is_asked else None)

    def _with_balances(self, case: BlockCase, price: int) -> BlockCase:
        """Give each payer exactly the possible cost of one of its fires, 1 unit less, or more."""
        cells, (cycle, cell) = case.timer_config.max_cells_per_fire, case.basefees
        accounts = []
        for payer in dict.fromkeys(timer.fee_payer for timer in case.timers):
            own = [timer for timer in case.timers if timer.fee_payer == payer]
            timer = own[self._draw(len(own))]
            tip = (timer.quote and timer.quote.tip) or 0
            cost = timer.gas_limit * (cycle + price + tip) + cells * cell
            balance = cost + self._one_of(-1, 0, 0, 1, 900 * cycle, cost, RICH, -timer.gas_limit * price)
            # One actor always has units to pay the others with.
            balance = RICH if payer == self._actors[0] else balance
            accounts.append((payer, max(balance, 0), 0))
        return msgspec.structs.replace(case, accounts=tuple(accounts))
