"""The timer phase of a block by CIP-5: collect, classify, remove dead timers, fire, report.

The phases of other policies derive from it.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from checker.oracle import watches
from checker.oracle.calls import DEFAULT_HANDLER, MAX_HANDLER_BYTES, Call, Present
from checker.oracle.contents import Basefees, Contents, Timer
from checker.oracle.gas import Gas
from checker.oracle.programs import OK, Ending, RunHandler, run_call
from checker.oracle.records import MAX_INTEGER, Transaction
from checker.oracle.selection import Prices, fee_of, fill, max_cost_of
from checker.oracle.timer_tables import remove_timer

FIRED, DEFERRED, EXPIRED, INSOLVENT, SUMMARY = 1, 2, 3, 4, 6
"""Tags of the events that the phase makes."""

REASONS = (
    *("lane_full", "over_cap", "below_basefee", "funds", "agent_failed", "not_asked"),
    *("block_cap", "actor_cap", "ready_limit", "unavailable"),
)
"""Reasons why timers are held back, in the order of the summary."""

MAX_BRACKETS = 64
"""A payload with more opening brackets is not read as JSON."""


@dataclass
class TimerPhase:
    """A block's timer phase: its inputs, events and counts.

    `basefees` are the basefees of fires. `run_handler` runs handlers and agents.
    """

    contents: Contents
    present: Present
    parent_now: int
    basefees: Basefees
    proposer: bytes
    run_handler: RunHandler = run_call
    charged: dict[bytes, int] = field(default_factory=dict)
    """The units that were taken ahead for each fire."""
    events: list[list[object]] = field(default_factory=list)
    fired: int = 0
    expired: int = 0
    insolvent: int = 0
    overdue: int = 0
    lane_cycles: int = 0
    lane_cells: int = 0
    burned: int = 0
    tips: int = 0
    price: int = 0
    lane_burned: int = 0
    due: int = 0
    live_left: list[bytes] = field(default_factory=list)
    dead_left: list[bytes] = field(default_factory=list)
    funds: dict[bytes, int] = field(default_factory=dict)
    """The balance of each payer of a waiting timer when the phase began."""

    def prologue(self) -> None:
        """Run the policy's prologue, before transactions and timers."""

    def merge(self, transactions: Sequence[Transaction]) -> Iterable[int]:
        """Yield the numbers of the block's transactions in the order in which they run.

        A policy that fires between transactions fires before it yields the next number, with the block's room then.
        """
        return range(len(transactions))

    def before_transaction(self, transaction: Transaction) -> None:
        """Run the policy's part before a valid transaction."""

    def after_transactions(self) -> None:
        """Run the policy's part after the last transaction."""

    def run(self) -> None:
        """Collect, classify, remove dead timers, fire, report."""
        # Collected once: a handler of this phase that schedules or extends must not change the list.
        waiting = self._waiting()
        self.present.collected.update({timer.timer_id: timer for timer in waiting})
        # Before any fire: a payer's solvency is decided at the start of the phase. Each payer once: in a storm
        # thousands of timers wait for few payers.
        payers = dict.fromkeys([timer.fee_payer for timer in waiting])
        self.funds = {payer: self.contents.balance(payer) for payer in payers}
        self.due = len(waiting)
        self._prepare(waiting)
        live, reasons = self._clean_up_and_fire(waiting)
        self._report(live, reasons)

    def end_block(self) -> list[Timer]:
        """Trigger timers by the changes of the block, if the policy has state triggers; return these timers."""
        limits = self.present.admission.watch_limits
        if limits is None:
            return []
        timers, events = watches.trigger(self.contents, self.present.now, limits)
        self.events += events
        return timers

    @property
    def waiting_live(self) -> int:
        """The number of live timers that the phase left and that are still there."""
        return self._still_there(self.live_left)

    @property
    def waiting_dead(self) -> int:
        """The number of dead timers that the phase left and that are still there."""
        return self._still_there(self.dead_left)

    def _still_there(self, timer_ids: list[bytes]) -> int:
        return sum(map(self.contents.timers.rows.__contains__, timer_ids))

    def close(self, used_cycles: int) -> None:
        """Write values that depend on the block's totals; `used_cycles` are all cycles of the block."""

    def _waiting(self) -> list[Timer]:
        """Return the waiting timers."""
        now = self.present.now
        due = [timer for timer in self.contents.timers.rows.values() if timer.due <= now]
        # Sorted at each use, while the chain keeps an order: so they cannot share a mistake.
        return sorted(due, key=_place)

    def _prepare(self, waiting: list[Timer]) -> None:
        """Prepare the values by which timers are classified."""

    def _clean_up_and_fire(self, waiting: list[Timer]) -> tuple[list[Timer], dict[bytes, str]]:
        """Remove dead timers, fire timers that fit; return the live timers, and the reason for each held timer."""
        dead: list[Timer] = []
        live: list[Timer] = []
        for timer in waiting:
            (dead if self._is_dead(timer) else live).append(timer)
        reasons = {timer.timer_id: self._reason_to_hold(timer) for timer in live}
        self._remove_in_budget(dead)
        live = self._cancel_overdue(live)
        held = self._fill_lane([timer for timer in live if not reasons[timer.timer_id]])
        reasons.update({timer.timer_id: "lane_full" for timer in held})
        return live, reasons

    def _cancel_overdue(self, live: list[Timer]) -> list[Timer]:
        """Remove timers that were passed over too often, if the policy does so; return the remaining timers."""
        return live

    def _prices(self, _timer: Timer) -> Prices:
        """Return the prices that a fire of this timer pays."""
        return Prices(self.basefees.cycle, self.basefees.cell, 0, 0)

    def _reason_to_hold(self, timer: Timer) -> str:
        """Return the reason why a live timer may not compete, or an empty string."""
        return "over_cap" if timer.gas_limit > self.present.config.lane_timer_cycles else ""

    def _fill_lane(self, candidates: list[Timer]) -> list[Timer]:
        """Let candidates fire in order until a candidate does not fit; return it and all later candidates."""
        return fill(candidates, self._lane_cycles, self._attempt, misfit="stop")

    @property
    def _lane_cycles(self) -> int:
        """The lane's cycles for this block; with 0, of a paused lane, not even a timer without cost fires."""
        config = self.present.config
        return -1 if config.execution_lane_paused else config.lane_timer_cycles

    @property
    def gc_cycles(self) -> int:
        """The cycles that the GC lane used: each removal costs the same."""
        return self.removed * self.present.config.gc_cost_per_timer

    @property
    def removed(self) -> int:
        """The number of timers that the GC lane removed."""
        return self.expired + self.insolvent + self.overdue

    def _max_cost(self, timer: Timer) -> int:
        return max_cost_of(timer.gas_limit, self.present.config.max_cells_per_fire, self._prices(timer))

    def _is_dead(self, timer: Timer) -> bool:
        return self._is_expired(timer) or self._is_insolvent(timer)

    def _is_expired(self, timer: Timer) -> bool:
        return self.present.now > timer.expires_at

    def _is_insolvent(self, timer: Timer) -> bool:
        return self.contents.balance(timer.fee_payer) < self._max_cost(timer)

    @property
    def _gc_budget(self) -> int:
        """The number of timers that the GC lane may remove in this block."""
        config = self.present.config
        return 0 if config.gc_lane_paused else config.gc_cycles_per_block // config.gc_cost_per_timer

    def _remove_in_budget(self, dead: Sequence[Timer]) -> None:
        """Remove dead timers in order within the GC lane's budget, and leave the rest waiting."""
        reached = max(self._gc_budget - self.removed, 0)
        for timer in dead[:reached]:
            self._remove_dead(timer)
        # Without a call for each timer: after an outage thousands are left in every block.
        self.dead_left += [timer.timer_id for timer in dead[reached:]]

    def _remove_if_budget(self, timer: Timer) -> None:
        """Remove a dead timer, or leave it waiting if the GC lane's budget is used up."""
        self._remove_in_budget([timer])

    def _remove_dead(self, timer: Timer) -> None:
        # Before the timer leaves: the bid that then goes back to its payer does not count.
        balance = self.contents.balance(timer.fee_payer)
        remove_timer(self.contents, timer)
        if self._is_expired(timer):
            self.expired += 1
            self.events.append([EXPIRED, timer.timer_id, timer.expires_at, self.present.now])
        else:
            self.insolvent += 1
            required = min(self._max_cost(timer), MAX_INTEGER)
            # The balance that made it insolvent: the balance at the start, unless that was sufficient.
            at_start = self.funds[timer.fee_payer]
            available = at_start if at_start < required else balance
            self.events.append([INSOLVENT, timer.timer_id, timer.fee_payer, required, available])

    def _attempt(self, timer: Timer) -> int | None:
        """Fire a timer at its turn and return the cycles it used, None if it has become insolvent."""
        if not self._is_insolvent(timer):
            return self._fire(timer)
        self._remove_if_budget(timer)
        return None

    def _fire(self, timer: Timer) -> int:
        cost, prices = self._max_cost(timer), self._prices(timer)
        # Its escrow from another policy comes back first.
        remove_timer(self.contents, timer)
        self.contents.credit(timer.fee_payer, -cost)
        self.charged[timer.timer_id] = cost
        ending = self._call(timer, Gas(timer.gas_limit, self.present.config.max_cells_per_fire), timer.actor)
        fee = fee_of(ending.cycles, ending.cells, prices)
        self.contents.credit(self.proposer, fee.tip)
        self.contents.credit(timer.fee_payer, cost - fee.total)
        self.fired += 1
        self.burned += fee.burned
        self.tips += fee.tip
        self.lane_cycles += ending.cycles
        self.lane_cells += ending.cells
        self.events += ending.events
        is_ok = ending.status == OK
        about = [timer.timer_id, timer.actor, timer.due, is_ok]
        self.events.append([FIRED, *about, ending.cycles, ending.cells, fee.burned, fee.tip])
        return ending.cycles

    def _call(self, timer: Timer, gas: Gas, sender: bytes) -> Ending:
        """Run the handler of a timer within its gas."""
        handler, payload = handler_of(timer)
        call = Call(self.contents, self.present, gas, actor=timer.actor, sender=sender, nonce=0, is_fire=True)
        return self.run_handler(call, handler, payload)

    def _report(self, live: list[Timer], reasons: dict[bytes, str]) -> None:
        """Report each timer held back for the first time, in waiting order; then count all held timers."""
        held = [timer for timer in live if reasons[timer.timer_id]]
        self.live_left = [timer.timer_id for timer in held]
        for timer in held:
            if timer.due > self.parent_now:
                self.events.append([DEFERRED, timer.timer_id, reasons[timer.timer_id]])
        given = [reasons[timer.timer_id] for timer in held]
        counts = [[reason, given.count(reason)] for reason in REASONS if reason in given]
        if counts:
            self.events.append([SUMMARY, counts])


_place = attrgetter("due", "sequence")


def handler_of(timer: Timer) -> tuple[str, bytes]:
    """Return the handler and the payload that a timer's fire delivers."""
    named = read_convention(timer.payload) if timer.handler == DEFAULT_HANDLER else None
    return named or (timer.handler, timer.payload)


def read_convention(payload: bytes) -> tuple[str, bytes] | None:
    """Return the handler and the inner payload that a payload names, or None."""
    if b"{" not in payload or payload.count(b"{") + payload.count(b"[") > MAX_BRACKETS:
        return None
    try:
        names = _read_json_object(payload.decode("utf-8"))
        handler, text = names["_handler"], names["_payload"]
        inner = base64.b64decode(text.encode("ascii"), validate=True)
    except (ValueError, KeyError):
        return None
    is_canonical = base64.b64encode(inner).decode() == text
    return (handler, inner) if len(handler.encode()) <= MAX_HANDLER_BYTES and is_canonical else None


def _read_json_object(text: str) -> dict[str, str]:
    """Return the handler and payload members; raises ValueError if the text is not an object with two strings."""
    if not text.lstrip(" \t\r\n").startswith("{"):
        raise ValueError(text)
    # Python refuses very long numbers, so the unused numbers are replaced by lengths. An object is a list of pairs.
    pairs = json.loads(text, object_pairs_hook=list, parse_int=len, parse_float=len, parse_constant=_refuse_constant)
    # Half a surrogate pair can be read but not written.
    json.dumps(pairs, ensure_ascii=False).encode()
    named = [(name, value) for name, value in pairs if name in ("_handler", "_payload")]
    if not all(isinstance(value, str) for _, value in named):
        raise ValueError(text)
    return dict(named)


def _refuse_constant(name: str) -> object:
    # Python reads NaN and Infinity, which JSON does not have.
    raise ValueError(name)
