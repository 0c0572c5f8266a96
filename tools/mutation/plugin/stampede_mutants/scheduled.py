"""Mutants of scheduled transactions: their deposits, their charge, and the keys of the queue."""

from functools import partial
from typing import Any, Final

import msgspec

from checker.mutants.mutant import mutant
from scheduler.aptos_calls import CallsInBlock
from scheduler.bias_waits import WaitClock
from scheduler.policies import aptos
from scheduler.policies.aptos import AptosInBlock

_CROWD: Final = 'kind="storm", actors=3, timers_per_actor=12, start_ms=1_500, first_slot=5, spread_slots=3'

IN_QUEUE: Final = (
    'chain.policy="aptos"',
    'chain.timebase="slot"',
    "chain.activation.height=1",
    "chain.lane={}",
    "chain.policy_parameters={ready_limit=6, expire_limit=3, expiry_ms=4_000}",
    "chain.timers={max_cells_per_fire=2_000}",
    # What a swarm seed draws besides may need another policy: a common payer, parameters of the lane.
    "workload={}",
    'workload.dear={kind="heartbeats", actors=3, gas_limit=5_000, max_fee=2_000, may_be_idle=true}',
    f"workload.crowd={{{_CROWD}, ttl_slots=20, gas_limit=3_000, max_fee=300, may_be_idle=true}}",
)
"""A queue with more due entries than a block takes, so that some run at each price and some expire."""

_queue_mutant = partial(mutant, area="scheduler", on_all=True, needs=IN_QUEUE, kills=("oracle",))


@_queue_mutant((aptos, "price_charged"), cause="execution", shows="TimerFired")
def own_price_charged(price_charged: Any) -> Any:
    """An entry pays a unit less than the highest price of the other transactions."""
    return lambda maximum, others, least: max(price_charged(maximum, others, least) - 1, 1)


@_queue_mutant((aptos, "gas_of"), cause="execution", shows="TimerFired")
def cells_of_entries_for_nothing(gas_of: Any) -> Any:
    """Cells that an entry writes are not charged as gas."""
    return lambda cycles, cells, *basefees: gas_of(cycles, 0 * cells, *basefees)


@_queue_mutant((aptos, "settle_deposit"), cause="execution", shows="TimerFired")
def gas_rounded_up(settle_deposit: Any) -> Any:
    """A run is charged a unit of gas more than it used, where its deposit has one left."""

    def settle(deposit: int, price: int, gas: int, storage_refund: int = 0) -> Any:
        return settle_deposit(deposit, price, gas + ((gas + 1) * price <= deposit), storage_refund)

    return settle


@_queue_mutant((CallsInBlock, "return_deposit"), cause="execution", shows="account")
def deposits_of_the_expired_stay(_return_deposit: Any) -> Any:
    """The deposit of an entry that is cancelled or expires stays in the account of the deposits."""
    return lambda _self, _timer, _units: None


@_queue_mutant((CallsInBlock, "remove_key"), cause="execution", shows="queue entry")
def keys_stay_in_the_queue(_remove_key: Any) -> Any:
    """An entry that has left stays in the queue's table of keys."""
    return lambda _self, _key: None


@_queue_mutant((AptosInBlock, "_mark"), cause="execution", shows="removal slot")
def runs_leave_no_mark(_mark: Any) -> Any:
    """An entry that has run is not marked, so that no prologue removes its key."""
    return lambda _self, _key, _txn_id: None


IN_SCRIPTS: Final = (
    *IN_QUEUE,
    # From the group on whose entries are small: one of a megabyte holds up what its sender sends next.
    'workload.odd={kind="boundary-cases", about="queue", first=1, count=5, start_ms=1_500, may_be_idle=true}',
)
"""The same queue, and scripts that name entries by parts of their keys and insert some without a signer."""

_call_mutant = partial(mutant, area="scheduler", on_all=True, needs=IN_SCRIPTS, kills=("oracle",), cause="execution")


@_call_mutant((CallsInBlock, "_timer_of"), shows="refused|transaction")
def any_key_of_an_identifier(timer_of: Any) -> Any:
    """An entry is cancelled by bytes that end with its identifier, whatever time and price stand before it."""

    def find(self: Any, key: bytes) -> Any:
        timer = self.block.timers.timer(key[-32:])
        return timer_of(self, key if timer is None else self.key_of(timer))

    return find


@_call_mutant((CallsInBlock, "run_within"), shows="TimerFired")
def sender_always_shown(run_within: Any) -> Any:
    """A handler sees the sender of an entry that was inserted without its signer."""
    return lambda self, timer, entry: run_within(self, timer, msgspec.structs.replace(entry, pass_signer=True))


IN_BLOCKS: Final = (
    *(setting for setting in IN_QUEUE if not setting.startswith("chain.policy_parameters")),
    'chain.policy_parameters={ready_limit=3, expiry_by="blocks", expiry_blocks=2}',
)
"""The same queue, whose entries expire after blocks."""


@mutant(
    (WaitClock, "last_slot_before"),
    area="scheduler",
    on_all=True,
    needs=IN_BLOCKS,
    kills=("oracle",),
    cause="order",
    shows="TransactionFailed|TimerFired",
)
def expiry_a_block_late(last_slot_before: Any) -> Any:
    """Blocks are counted from the one after the first that served the scheduled time."""
    return lambda self, height: last_slot_before(self, height - 1)
