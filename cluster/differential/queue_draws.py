"""Draws of the queue of `aptos`: entries beside transactions at other prices, deposits, marks, and a narrow block."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from checker.oracle.contents import Contents
from checker.oracle.policies import POLICY_ORACLES
from checker.oracle.queue_records import QueueConfig, key_of, queue_config_of
from cluster.differential.cases import (
    BlockCase,
    StatedEntry,
    StatedMark,
    StatedQueue,
    StatedQuote,
    StatedTimer,
    StatedToken,
)
from cluster.differential.draws import Draw, draw_digest
from cluster.workloads.boundary.scripts import script_of
from scheduler import MAX_U63

ENTRIES: Final = 12
MARKS: Final = 4
OVERDUE_MAX: Final = 6
GAS: Final = (100, 450, 1_000, 2_000, 5_000, 9_000, 20_000)
ROOMS: Final = (12_000, 24_000, 48_000)
"""Cycles of a narrow block: a few entries fill it."""

CELLS: Final = (3_000, 20_000)
RICH: Final = 10**12
READINGS: Final[Mapping[str, Sequence[Any]]] = {
    "position": ("price", "price", "before"),
    "charge": ("second_price", "maximum"),
    "expiry": ("own_limit", "counted", "at_run"),
    "expiry_by": ("time", "time", "blocks"),
    "expiry_blocks": (0, 1, 2, 100),
    "ready_order": ("key", "price"),
    "time_unit_ms": (1, 100),
    "ready_limit": (2, 5, 100),
    "expire_limit": (1, 200),
    "expiry_ms": (0, 1_000, 3_000, 10_000),
    "cancel_lead_ms": (0, 1_000),
    "authorization": ("none", "token"),
    "token_reschedules": (True, False),
    "base_gas": (0, 100),
    "removal_slots": (1, 100),
    "shutdown_batch": (2, 200),
}
"""Limits and readings of the queue, and values of each."""


class QueueDraw:
    """The queue of a differential block.

    Args:
        case: The block, without entries.
        contents: The oracle's tables at genesis.
        actors: Script actors whose storage is empty.
        scripts: The scripts that entries may carry.
        draw: The draws.
    """

    def __init__(
        self, case: BlockCase, contents: Contents, actors: Sequence[bytes], *, scripts: Sequence[bytes], draw: Draw
    ) -> None:
        self._case = case
        self._actors = actors
        self._scripts = scripts
        self._draw = draw
        self._slot_ms = case.genesis.slot_ms
        self._block_ms = case.slot * self._slot_ms
        table = POLICY_ORACLES["aptos"].config_table(contents)
        assert table is not None, "the queue has parameters"
        self._config = self._readings(table.rows[None])

    def _one_of(self, *values: int) -> int:
        return values[self._draw(len(values))]

    def case(self) -> BlockCase:
        """Return the case with its queue, and each actor with funds."""
        draw, case = self._draw, self._case
        genesis = case.genesis
        if draw(2):
            genesis = msgspec.structs.replace(genesis, block_cycles=self._one_of(*ROOMS))
        if draw(4) == 0:
            genesis = msgspec.structs.replace(genesis, block_cells=self._one_of(*CELLS))
        numbers = {actor: self._one_of(0, 1, 1, 2, 2, 3) for actor in self._actors}
        timers = tuple(self._entry(numbers) for _ in range(ENTRIES))
        marks = tuple(self._mark() for _ in range(draw(MARKS)))
        queue = StatedQueue(
            status=self._one_of(0, 0, 0, 0, 0, 0, 0, 1, 2),
            numbers=tuple((actor, number) for actor, number in numbers.items() if number),
            marks=marks,
            slots=self._slots(),
        )
        return msgspec.structs.replace(
            case,
            genesis=genesis,
            own_config=list(self._config),
            timers=timers,
            queue=queue,
            accounts=tuple((actor, self._one_of(0, 1, 900, RICH), 0) for actor in self._actors),
            scheduled=tuple((actor, draw(3)) for actor in self._actors),
        )

    def _readings(self, config: QueueConfig) -> QueueConfig:
        """Return readings, half of them from genesis; of two that exclude each other the first stays."""
        draw = self._draw
        for field, values in READINGS.items():
            if draw(2):
                changed = config._replace(**{field: values[draw(len(values))]})
                config = changed if queue_config_of(list(changed)) is not None else config
        return config

    def _entry(self, numbers: Mapping[bytes, int]) -> StatedTimer:
        draw, case, config = self._draw, self._case, self._config
        # Some are not due yet: they can be cancelled, and a shutdown removes them.
        latest = min(case.now + 2 * (draw(6) == 0), case.parent_now + case.genesis.calendar.ring_size - 1)
        due = max(latest - draw(OVERDUE_MAX), 1)
        actor = self._actors[draw(len(self._actors))]
        # A run that may not have a gas of its own: governance has raised what each run costs.
        gas = max(self._one_of(*GAS), config.base_gas * (draw(12) > 0))
        delta_ms = self._delta_ms(due)
        return StatedTimer(
            timer_id=draw_digest(draw),
            actor=actor,
            due=due,
            payload=self._payload(),
            fee_payer=actor,
            gas_limit=min(gas, case.timer_config.max_cycles_per_fire),
            gas_limit_is_default=draw(5) == 0,
            expires_at=(due * self._slot_ms + delta_ms) // self._slot_ms if delta_ms else MAX_U63,
            quote=StatedQuote(self._price(), 0),
            entry=StatedEntry(delta_ms, self._token(due, numbers[actor]), draw(4) > 0),
        )

    def _price(self) -> int:
        """Return one of a few prices, so that entries and transactions meet at the same price."""
        cycle, least = self._case.basefees[0], self._config.min_price
        return max(least, self._one_of(least, cycle - 1, cycle, cycle + 1, cycle + 40, cycle + 300, 2 * cycle))

    def _delta_ms(self, due: int) -> int:
        if self._config.expiry != "at_run":
            return 0
        age_ms = max(self._block_ms - due * self._slot_ms, 0)
        return max(self._one_of(0, age_ms - 1, age_ms, age_ms + 1, 10 * self._slot_ms), 0)

    def _token(self, due: int, number: int) -> StatedToken | None:
        """Return a token; without tokens an entry may have an old token, with tokens it may have none."""
        # An actor that has ever inserted with a token has a number, and no token is ahead of it.
        if not number or (self._config.authorization != "token" and self._draw(6)):
            return None
        block_ms = self._block_ms
        until_ms = self._one_of(block_ms - 1, block_ms, block_ms + 1, due * self._slot_ms, MAX_U63, MAX_U63, MAX_U63)
        stated = self._one_of(number, number, number, number, number, max(number - 1, 1))
        return StatedToken(self._draw(3) > 0, until_ms, stated)

    def _payload(self) -> bytes:
        """Return an empty payload, a script, or a script that pays an actor."""
        payee, amount = self._actors[self._draw(len(self._actors))], self._one_of(1, 900, RICH // 100)
        paying = script_of(("pay", payee, amount))
        return (b"", self._scripts[self._draw(len(self._scripts))], paying)[self._draw(3)]

    def _mark(self) -> StatedMark:
        due_ms = max(self._case.parent_slot - self._draw(3), 1) * self._slot_ms
        return StatedMark(key_of(due_ms, self._price(), draw_digest(self._draw)))

    def _slots(self) -> tuple[tuple[int, int], ...]:
        """Return the slots that blocks of the chain served last, each with the height of its first block."""
        if self._config.expiry_by != "blocks":
            return ()
        draw, rows = self._draw, list[tuple[int, int]]()
        slot, height = self._case.parent_slot, self._case.height - 1
        while slot > 0 and height > 0 and len(rows) <= OVERDUE_MAX:
            rows.append((slot, height))
            slot -= 1 + draw(2)
            height -= 1 + draw(2)
        return tuple(reversed(rows))
