"""The state of a differential block, written into the oracle's tables as a case states it."""

from collections import Counter
from typing import Final

import msgspec

from checker.oracle.auction_records import BOOKS, WEIGHTS, Books, Weight
from checker.oracle.bias_records import SLOT_ROW, SLOT_ROWS
from checker.oracle.blocks import OracleChain
from checker.oracle.contents import Account, Basefees, Bucket, Contents, Market, Quote, Timer, TimerCounts
from checker.oracle.escrow import lock
from checker.oracle.policies import POLICY_ORACLES
from checker.oracle.queue_records import (
    DEPOSITS,
    ENTRIES,
    NUMBERS,
    SLOTS,
    STATUS,
    QueueEntry,
    Token,
    deposit_of,
    key_of,
    price_of,
    slot_of,
)
from checker.oracle.records import Header, TimerConfig, read_genesis, sha256, write
from cluster.differential.cases import BlockCase, StatedEntry, StatedQueue, StatedTimer
from validators.execution import Genesis

KEY_ID_BYTES: Final = 32
"""The end of a queue key is the entry's identifier."""


class StoredValues(dict[bytes, bytes]):
    """Encoded records by state key, in place of a batch: read by key, written, and not hashed."""

    def write(self, key: bytes, value: bytes | None) -> None:
        """Store a value; None deletes."""
        if value is None:
            self.pop(key, None)
        else:
            self[key] = value


def chain_at_genesis(genesis: Genesis) -> OracleChain:
    """Return the oracle's chain at a genesis; raises MalformedError if the policy's parameters are invalid."""
    encoded = msgspec.msgpack.encode(genesis)
    return OracleChain(read_genesis(encoded), encoded)


def chain_of(case: BlockCase, at_genesis: OracleChain | None = None) -> tuple[OracleChain, Header]:
    """Return the oracle's chain at the parent of a case's block, and the header of the block without roots.

    Args:
        case: The case.
        at_genesis: The chain at a genesis that differs from the case's in a block's limits and in deployers alone; it
            stays as it is.
    """
    chain = chain_at_genesis(case.genesis) if at_genesis is None else at_genesis.fork()
    chain.genesis = chain.genesis._replace(
        block_cycles=case.genesis.block_cycles,
        block_cells=case.genesis.block_cells,
        system_deployers=list(case.genesis.system_deployers),
    )
    parent = _header(case, case.height - 1, case.parent_slot, bytes(32))
    header = _header(case, case.height, case.slot, sha256(write(parent)))
    chain.header = parent
    _write(chain.contents, case)
    chain.contents.settle()
    return chain, header


def _header(case: BlockCase, height: int, slot: int, parent: bytes) -> Header:
    nothing = bytes(32)
    return Header(1, height, 0, height + 1, parent, case.proposer, slot, slot * case.genesis.slot_ms, *[nothing] * 3)


def _write(contents: Contents, case: BlockCase) -> None:
    contents.basefees.put(None, Basefees(*case.basefees))
    contents.config.put(None, TimerConfig(*msgspec.structs.astuple(case.timer_config)))
    if case.own_config is not None:
        policy = POLICY_ORACLES[case.genesis.policies[-1].policy]
        table = policy.config_table(contents)
        assert table is not None, "a case with parameters has a policy that has some"
        table.put(None, policy.read_config(write(case.own_config)))
    _write_lane(contents, case)
    if case.auction is not None:
        contents.own(BOOKS).put(None, Books(*case.auction.books))
        for actor, *weight in case.auction.weights:
            contents.own(WEIGHTS).put(actor, Weight(*weight))
    timers = _write_timers(contents, case)
    for address, balance, nonce in case.accounts:
        contents.accounts.put(address, Account(balance, nonce))
    for timer, stated in zip(timers, case.timers, strict=True):
        if stated.bid:
            contents.credit(timer.fee_payer, stated.bid)
            lock(contents, timer, stated.bid)
    if case.queue is not None:
        _write_queue(contents, case, case.queue, timers)


def _write_lane(contents: Contents, case: BlockCase) -> None:
    """Write the lane's market and its window; a chain before the lane's first block has neither."""
    if case.lane is None:
        return
    contents.market.put(None, Market(*case.lane.market))
    recent: Counter[bytes] = Counter()
    for height, fires in case.lane.window:
        contents.fires.put(height, dict(fires) or None)
        recent.update(dict(fires))
    for subject, count in recent.items():
        contents.recent_fires.put(subject, count)


def _write_timers(contents: Contents, case: BlockCase) -> list[Timer]:
    tails: Counter[int] = Counter()
    live: Counter[bytes] = Counter()
    timers = []
    for stated in case.timers:
        timer = _timer(stated, tails[stated.due])
        tails[stated.due] += 1
        live[timer.actor] += 1
        contents.timers.put(timer.timer_id, timer)
        contents.bucket_entries.put((timer.due, timer.sequence), timer.timer_id)
        timers.append(timer)
    for due, tail in tails.items():
        contents.buckets.put(due, Bucket(tail, tail, queued=False))
    beyond = dict(case.scheduled)
    for actor, count in live.items():
        contents.counts.put(actor, TimerCounts(count, count + beyond.get(actor, 0)))
    return timers


def _timer(stated: StatedTimer, sequence: int) -> Timer:
    quote = None if stated.quote is None else Quote(*msgspec.structs.astuple(stated.quote))
    return Timer(
        timer_id=stated.timer_id,
        actor=stated.actor,
        due=stated.due,
        sequence=sequence,
        payload=stated.payload,
        handler=stated.handler,
        fee_payer=stated.fee_payer,
        gas_limit=stated.gas_limit,
        gas_limit_is_default=stated.gas_limit_is_default,
        expires_at=stated.expires_at,
        quote=quote,
    )


def _write_queue(contents: Contents, case: BlockCase, queue: StatedQueue, timers: list[Timer]) -> None:
    config = POLICY_ORACLES["aptos"].config_table(contents)
    assert config is not None, "the queue has a configuration"
    slots = config.rows[None].removal_slots
    for timer, stated in zip(timers, case.timers, strict=True):
        key = key_of(timer.due * case.genesis.slot_ms, price_of(timer), timer.timer_id)
        contents.own(ENTRIES).put(key, _entry(stated.entry or StatedEntry()))
        contents.credit(DEPOSITS, deposit_of(timer))
    contents.own(STATUS).put(None, queue.status or None)
    for actor, number in queue.numbers:
        contents.own(NUMBERS).put(actor, number)
    for mark in queue.marks:
        contents.own(ENTRIES).put(mark.key, _entry(mark.entry))
        slot = slot_of(mark.key[-KEY_ID_BYTES:], slots)
        contents.own(SLOTS).put(slot, (*(contents.own(SLOTS).get(slot) or ()), mark.key))
    for index, (slot, height) in enumerate(queue.slots):
        contents.own(SLOT_ROW).put(index, (slot, height, 0))
    if queue.slots:
        contents.own(SLOT_ROWS).put(None, (0, len(queue.slots)))


def _entry(stated: StatedEntry) -> QueueEntry:
    token = None if stated.token is None else Token(*msgspec.structs.astuple(stated.token))
    return QueueEntry(stated.expiry_delta_ms, token, stated.pass_signer)
