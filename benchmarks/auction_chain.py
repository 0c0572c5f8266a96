"""The tables of a chain in the GBA auction over dicts: the least that its timer phase can be measured over."""

from collections.abc import Sequence

import msgspec

from benchmarks.dict_chain import ACTORS, RICH, actor_of, timer_of, use_some
from scheduler import AgentCall, Basefees, BlockContext, BlockPhase, Moment, PhaseResult, Quote, Timer, TimerConfig
from scheduler.gba_records import AuctionConfig
from scheduler.policies.gba_auction import GbaAuction
from scheduler.tables import Record, StateTable

AGENT = b"\x01" * 20
"""The agent of every timer of this benchmark."""


class AuctionChain:
    """TimerTables, StateTables and Ledger; the waiting set is a list that loses what left, as the chain keeps it."""

    def __init__(self, waiting: int) -> None:
        quote = Quote(None, None, AGENT)
        self._listed = [msgspec.structs.replace(timer_of(number), quote=quote) for number in range(waiting)]
        self._gone: dict[bytes, Timer] = {}
        self._balances = {actor_of(number): RICH for number in range(ACTORS)}
        self._records: dict[bytes, bytes] = {}

    def get(self, table: StateTable[Record], key: bytes) -> Record | None:
        """Return a record."""
        encoded = self._records.get(key)
        return None if encoded is None else msgspec.msgpack.decode(encoded, type=table.record)

    def set(self, key: bytes, record: object) -> None:
        """Put a record; None deletes."""
        self._records.pop(key, None)
        if record is not None:
            self._records[key] = msgspec.msgpack.encode(record)

    def collect(self, _upto: int) -> Sequence[Timer]:
        """Return all timers: all of them are due since the first block."""
        if self._gone:
            self._listed = [timer for timer in self._listed if timer.timer_id not in self._gone]
            self._gone = {}
        return self._listed

    def remove(self, timer: Timer) -> None:
        """Forget a timer."""
        self._gone[timer.timer_id] = timer

    def balance(self, address: bytes) -> int:
        """Return a balance."""
        return self._balances.get(address, 0)

    def charge(self, address: bytes, amount: int) -> None:
        """Take units."""
        self._balances[address] -= amount

    def credit(self, address: bytes, amount: int) -> None:
        """Give units."""
        self._balances[address] = self.balance(address) + amount

    def burn(self, _amount: int) -> None:
        """Do nothing: burned units are not added up here."""

    def run_block(self, height: int) -> PhaseResult:
        """Run the timer phase of a block; every basefee has moved since the last one."""
        block = BlockContext(
            moment=Moment(height, height, height - 1, "height"),
            config=TimerConfig(),
            basefees=Basefees(1_000 + height % 7, 900 + height % 5),
            timers=self,  # type: ignore[arg-type] # what a timer phase uses of them
            ledger=self,
            run=use_some,
            own=AuctionConfig(),
            state=self,
            ask=bid,
        )
        opened = GbaAuction().open(block)
        opened.begin()
        result = opened.run(BlockPhase.TIMERS)
        opened.close(result.lane_cycles)
        return result


def bid(call: AgentCall) -> bytes:
    """Answer as an agent whose tip follows from the actor."""
    return msgspec.msgpack.encode([3_000, int.from_bytes(call.actor, "big") % 500, 0, 0])
