"""A case of the timers' phase as a state: the tables that it states, and handlers that do as their timers say.

The oracle's tables are filled, and the engine's state is their encoding, as in differential blocks.
"""

from hashlib import sha256
from typing import Any, Final

import msgspec

from checker.oracle import auction_records, bias_records
from checker.oracle.auction import DEFAULT_AGENT
from checker.oracle.contents import Contents
from cluster.differential.cases import (
    BlockCase,
    StatedEntry,
    StatedLane,
    StatedMark,
    StatedQueue,
    StatedQuote,
    StatedTimer,
    StatedToken,
)
from cluster.differential.stages import chain_of
from cluster.fixtures.scheduler_form import CaseAgent, CaseEntry, CaseTimer, SchedulerInput
from scheduler import MAX_U63, POLICIES, CalendarProfile, TimerConfig
from validators.execution.genesis import Genesis, GenesisActor, PolicyEntry

STATUSES: Final = ("active", "paused", "shutting_down", "shut_down")
"""The words for the status of the service of `aptos`, by its number."""

HANDLER: Final = "stated"
"""The handler of all stated timers: not the default one, whose payloads may name another."""


class StatedHandlers:
    """The stated effects of handlers and answers of agents; it notes the timers whose agents were asked.

    Attributes:
        asked: Each asked timer, with the numbers that its agent was told.
    """

    def __init__(self, timers: tuple[CaseTimer, ...]) -> None:
        self.asked: list[tuple[CaseTimer, tuple[int, ...]]] = []
        self._by_id = {bytes.fromhex(timer.id): timer for timer in timers}
        self._by_agent = {agent_key(timer): timer for timer in timers if timer.agent is not None}

    def timer(self, timer_id: bytes) -> CaseTimer:
        """Return a timer by its identifier."""
        return self._by_id[timer_id]

    def answer(self, agent: bytes, actor: bytes, payload: bytes) -> bytes | str:
        """Return an agent's answer to a payload, or the word for its failure."""
        told = tuple(msgspec.msgpack.decode(payload))
        timer = self._by_agent[agent, actor, told[0]]
        self.asked.append((timer, told))
        said = timer.agent or CaseAgent()
        return said.failure or msgspec.msgpack.encode(said.numbers or ())


def agent_key(timer: CaseTimer) -> tuple[bytes, bytes, int]:
    """Return the address of a timer's agent, an agent for each timer, with all by which a call tells the timer."""
    return _agent_of(timer) or DEFAULT_AGENT, bytes.fromhex(timer.actor), timer.due


def _agent_of(timer: CaseTimer) -> bytes | None:
    if timer.agent is None or timer.agent.is_default:
        return None
    return sha256(bytes.fromhex(timer.id)).digest()[:20]


def stage(given: SchedulerInput) -> tuple[BlockCase, Contents]:
    """Return the differential block of a case, and the oracle's tables before it."""
    case = _block_case(given)
    contents = chain_of(case)[0].contents
    if given.lane is not None:
        contents.gc_cursor.put(None, given.lane.cursor)
    if given.auction is not None:
        _write_auction(contents, given)
    if given.bias is not None:
        if given.bias.books is not None:
            books = bias_records.BiasBooks(*msgspec.structs.astuple(given.bias.books))
            contents.own(bias_records.BOOKS).put(None, books)
        for index, (slot, height) in enumerate(given.bias.slots):
            contents.own(bias_records.SLOT_ROW).put(index, (slot, height, 0))
        if given.bias.slots:
            contents.own(bias_records.SLOT_ROWS).put(None, (0, len(given.bias.slots)))
    return case, contents


def _block_case(given: SchedulerInput) -> BlockCase:
    moment = given.moment
    return BlockCase(
        genesis=_genesis(given),
        height=moment.height,
        parent_slot=moment.parent_slot,
        slot=moment.slot,
        basefees=(given.basefees.cycle, given.basefees.cell),
        timer_config=TimerConfig(**msgspec.structs.asdict(given.limits)),
        lane=_lane(given),
        queue=_queue(given),
        accounts=tuple((bytes.fromhex(address), units, 0) for address, units in sorted(given.balances.items())),
        timers=tuple(map(_timer, given.timers)),
    )


def _genesis(given: SchedulerInput) -> Genesis:
    owners = {} if given.lane is None else given.lane.owners
    queue = given.queue
    cycles, cells = (MAX_U63, MAX_U63) if queue is None else (queue.block_cycles, queue.block_cells)
    own = POLICIES[given.policy].config_type
    config = b"" if own is None else msgspec.msgpack.encode(own(**{name: _value(it) for name, it in given.own.items()}))
    return Genesis(
        chain_id="fixture",
        validators=(bytes.fromhex(given.proposer),),
        timebase=given.moment.timebase,
        slot_ms=given.moment.slot_ms,
        block_cycles=cycles,
        block_cells=cells,
        policies=(PolicyEntry(1, given.policy, config),),
        calendar=CalendarProfile() if given.epoch_length is None else CalendarProfile(epoch_length=given.epoch_length),
        actors=tuple(
            GenesisActor(bytes.fromhex(actor), "script-actor", bytes.fromhex(owner))
            for actor, owner in sorted(owners.items())
        ),
    )


def _value(stated: Any) -> Any:  # noqa: ANN401 - the value of a parameter
    """Return the value of a parameter, whose large numbers are decimal text."""
    if isinstance(stated, list | tuple):
        return tuple(map(_value, stated))
    return int(stated) if isinstance(stated, str) and stated.isdigit() else stated


def _timer(given: CaseTimer) -> StatedTimer:
    quote, entry = None, None
    if given.quote is not None:
        fees = given.quote.max_fee_per_cycle, given.quote.max_priority_fee_per_cycle
        quote = StatedQuote(*fees, _agent_of(given))
    if given.entry is not None:
        quote, entry = StatedQuote(given.entry.price, 0), _entry(given.entry)
    return StatedTimer(
        timer_id=bytes.fromhex(given.id),
        actor=bytes.fromhex(given.actor),
        due=given.due,
        payload=bytes.fromhex(given.id),
        handler=HANDLER,
        fee_payer=bytes.fromhex(given.payer),
        gas_limit=given.gas_limit,
        gas_limit_is_default=given.gas_limit_is_default,
        expires_at=MAX_U63 if given.expires_at is None else given.expires_at,
        quote=quote,
        bid=given.bid,
        entry=entry,
    )


def _entry(given: CaseEntry) -> StatedEntry:
    token = given.token
    if token is None:
        return StatedEntry(given.expiry_delta_ms)
    held = StatedToken(allows_rescheduling=True, expiration_ms=token.expiration_ms, number=token.authorization_number)
    return StatedEntry(given.expiry_delta_ms, held)


def _lane(given: SchedulerInput) -> StatedLane | None:
    if given.lane is None or given.lane.market is None:
        return None
    window = ((block.height, _subjects(block.fires)) for block in given.lane.window)
    return StatedLane(msgspec.structs.astuple(given.lane.market), tuple(window))


def _queue(given: SchedulerInput) -> StatedQueue | None:
    queue = given.queue
    if queue is None:
        return None
    return StatedQueue(
        status=STATUSES.index(queue.status),
        numbers=_subjects(queue.numbers),
        marks=tuple(StatedMark(bytes.fromhex(key)) for key in queue.marked),
        slots=queue.slots,
    )


def _subjects(counts: dict[str, int]) -> tuple[tuple[bytes, int], ...]:
    return tuple((bytes.fromhex(address), count) for address, count in sorted(counts.items()))


def _write_auction(contents: Contents, given: SchedulerInput) -> None:
    auction = given.auction
    assert auction is not None
    if auction.epoch is not None:
        books = auction_records.Books(auction.used_cycles, auction.epoch, len(auction.sums), auction.budget_cycles)
        contents.own(auction_records.BOOKS).put(None, books)
    for actor, weight in auction.weights.items():
        row = auction_records.Weight(weight.epoch, weight.millionths)
        contents.own(auction_records.WEIGHTS).put(bytes.fromhex(actor), row)
    for index, (actor, sums) in enumerate(sorted(auction.sums.items())):
        row_of_sums = auction_records.Tally(*msgspec.structs.astuple(sums))
        contents.own(auction_records.TALLIES).put(bytes.fromhex(actor), row_of_sums)
        contents.own(auction_records.ACTORS).put(index, bytes.fromhex(actor))
    contents.own(auction_records.CURSOR).put(None, auction.cursor)
