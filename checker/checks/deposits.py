"""The accounts of scheduled transactions: deposits, charges and keys, from states and receipts (F-4, F-6, F-7).

Which entries run is the oracle's to check. Here what left is taken as it is: what the deposit account holds after each
prologue and after each block has to be the sum over the entries with a body (invariant 12), what each run paid follows
from the prices of its block, and each key is that of a body or marked. The formulas are the checker's own.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from checker.tables import ACCOUNT, QUEUE_ENTRY, REMOVAL_SLOT, TIMER, read_amount, read_fields
from scheduler.aptos_records import AptosConfig
from scheduler.events import FailureCode, TimerFired, TransactionCancelled, TransactionFailed, TransactionScheduled
from validators.execution.receipts import TimerReceipt, TransactionReceipt

DEPOSIT_ACCOUNT: Final = bytes((ACCOUNT, *bytes(19), 0x0B)).ljust(32, b"\0")
"""The state's key of the account that holds the deposits."""


class Held(NamedTuple):
    """An entry with a body: its identifier, its greatest amount of gas, its greatest price."""

    timer_id: bytes
    gas: int
    price: int

    @property
    def units(self) -> int:
        """The deposit."""
        return self.gas * self.price


class QueueDeposits(Check):
    """The deposit account holds what queued entries have put down, and each run pays as its block's prices say."""

    name = "queue-deposits"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._held: dict[bytes, Held] = {}
        self._keys = 0
        self._marked = 0
        self._runs = 0
        self._returned = 0
        self._most = 0
        self._seen = False

    def not_asked(self) -> str:
        """Return a reason where the chain has no queue."""
        has_queue = any(entry.policy == "aptos" for entry in self.run.rules.policies)
        return "" if has_queue else "no policy of the chain is aptos"

    def settle(self, block: SettledBlock) -> None:
        """Check one block."""
        own = block.own
        if not isinstance(own, AptosConfig):
            return
        if not self._seen:
            self._seen = True
            self._take(block.before)
        self._judge_prologue(block, own)
        self._judge_charges(block, own)
        self._forget(block)
        self._take({key: value for key, value in block.changes.items() if value is not None})
        self._judge_end(block)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{self.tally.compared:,} sums held; {self._runs:,} runs paid what their blocks' prices say, "
            f"{self._returned:,} entries left with their whole deposit, at most {self._most:,} units were held",
            runs=self._runs,
            returned=self._returned,
            most_held=self._most,
        )

    def _judge_prologue(self, block: SettledBlock, own: AptosConfig) -> None:
        """Compare what the account held after the prologue with what was queued less what had left by then."""
        counts: Mapping[str, int] = next((entry.counts for entry in block.phases if entry.phase == "prologue"), {})
        self.require("deposits" in counts, block, "the prologue does not say what the deposit account holds")
        fired = counts.get("fired", 0)
        if fired and own.charge == "second_price":
            # Runs that pay at the end of the block say nothing that ends the prologue's events.
            return
        expected = self._after_exits(block, counts.get("removed", 0) + fired)
        found = counts.get("deposits", 0)
        what = "after the prologue {} units are deposited, {} are owed"
        self.require(found == expected, block, what, found, expected)

    def _after_exits(self, block: SettledBlock, exits: int) -> int:
        """Return what is owed once a number of entries has left, with what runs among them inserted and cancelled."""
        held = {timer_id: each.units for timer_id, each in self._held.items()}
        for receipt in block.receipts if exits else ():
            event = receipt.event if isinstance(receipt, TimerReceipt) else None
            if isinstance(event, TransactionScheduled):
                held[event.txn_id] = event.max_gas_amount * event.gas_unit_price
            elif isinstance(event, TransactionCancelled):
                held.pop(event.txn_id, None)
            elif isinstance(event, TimerFired | TransactionFailed) and is_exit(event):
                held.pop(event.timer_id, None)
                exits -= 1
            if not exits:
                break
        return sum(held.values())

    def _judge_charges(self, block: SettledBlock, own: AptosConfig) -> None:
        """Compare what each run burned with its gas at the price that the others of its block set."""
        exits = [receipt.event for receipt in block.receipts if isinstance(receipt, TimerReceipt)]
        fires = [event for event in exits if isinstance(event, TimerFired)]
        self._returned += sum(is_exit(event) for event in exits) - len(fires)
        users = [
            block.summary.cycle_basefee + receipt.tip // receipt.cycles
            for receipt in block.receipts
            if isinstance(receipt, TransactionReceipt)
        ]
        known = [self._held.get(fire.timer_id) for fire in fires]
        maxima = [0 if each is None else each.price for each in known]
        for place, (fire, entry) in enumerate(zip(fires, known, strict=True)):
            self.require(entry is not None, block, "entry {} ran and was not queued", fire.timer_id[:6].hex())
            if entry is None:
                continue
            others = [*users, *maxima[:place], *maxima[place + 1 :]]
            highest = max(others, default=own.min_price)
            price = entry.price if own.charge == "maximum" else min(entry.price, highest)
            cells = fire.used_cells * block.summary.cell_basefee
            gas = fire.used_cycles + (cells + block.summary.cycle_basefee - 1) // block.summary.cycle_basefee
            what = "entry {} burned {}, {} units of gas at a price of {} cost {}"
            named = fire.timer_id[:6].hex(), fire.burned, gas, price, gas * price
            self.require(fire.burned == gas * price, block, what, *named)
            self.require(gas <= entry.gas, block, "entry {} used {} units of gas of {}", named[0], gas, entry.gas)
            self._runs += 1

    def _judge_end(self, block: SettledBlock) -> None:
        held = read_amount(block.changes.get(DEPOSIT_ACCOUNT, block.before.get(DEPOSIT_ACCOUNT)))
        owed = sum(each.units for each in self._held.values())
        self._most = max(self._most, owed)
        self.require(held == owed, block, "{} units are deposited, the queued entries have put down {}", held, owed)
        expected = len(self._held) + self._marked
        what = "the queue has {} keys, {} bodies and {} marks"
        self.require(self._keys == expected, block, what, self._keys, len(self._held), self._marked)

    def _forget(self, block: SettledBlock) -> None:
        """Take out the entries that the block changed or deleted."""
        for key in block.changes:
            before = block.before.get(key)
            if before is not None and key[0] == TIMER:
                self._held.pop(_held_of(before).timer_id, None)
            self._keys -= before is not None and key[0] == QUEUE_ENTRY
            self._marked -= _marks(key, before)

    def _take(self, values: Mapping[bytes, bytes]) -> None:
        """Take in the entries that the block wrote."""
        for key, value in values.items():
            if key[0] == TIMER:
                entry = _held_of(value)
                self._held[entry.timer_id] = entry
            self._keys += key[0] == QUEUE_ENTRY
            self._marked += _marks(key, value)


def _held_of(value: bytes) -> Held:
    match read_fields(value):
        case [bytes() as timer_id, *_, int() as gas, bool(), int(), [int() as price, *_]]:
            return Held(timer_id, gas, price)
    return Held(value, 0, 0)


def _marks(key: bytes, value: bytes | None) -> int:
    """Return the number of keys that a removal slot marks."""
    if value is None or key[0] != REMOVAL_SLOT:
        return 0
    fields = read_fields(value)
    return len(fields[0]) if fields and isinstance(fields[0], list) else 0


def is_exit(event: msgspec.Struct | None) -> bool:
    """Say whether an event tells that an entry left, and no call brought it about."""
    if isinstance(event, TransactionFailed):
        return event.code is not FailureCode.FAILED
    return isinstance(event, TimerFired)
