"""The scheduler's tables, ledger and world over plain dicts, for tests of the rules without a state."""

from collections.abc import Callable, Sequence

import msgspec

from scheduler import (
    ZERO_ORIGIN,
    Admission,
    Basefees,
    BlockContext,
    BlockPhase,
    Fifo,
    InvalidInput,
    Moment,
    PhaseResult,
    PolicyInBlock,
    RunOutcome,
    ScheduleRequest,
    SchedulingContext,
    Timer,
    TimerCancelled,
    TimerConfig,
    TimerExtended,
    admit,
)
from scheduler.tables import Runner
from validators.actors import Actor, Frame, MessageSent, Meter, SendRequest, Status, call_handler


class DictTables:
    """Timers in a dict, collected by sorting all of them."""

    def __init__(self) -> None:
        self.timers: dict[bytes, Timer] = {}
        self.tails: dict[int, int] = {}
        self.ever: dict[bytes, int] = {}
        self.pool = None

    def timer(self, timer_id: bytes) -> Timer | None:
        return self.timers.get(timer_id)

    def next_sequence(self, due: int) -> int:
        return self.tails.get(due, 0)

    def insert(self, timer: Timer) -> None:
        self.tails[timer.due] = timer.sequence + 1
        self.ever[timer.actor] = self.ever.get(timer.actor, 0) + 1
        self.timers[timer.timer_id] = timer

    def replace(self, timer: Timer) -> None:
        self.timers[timer.timer_id] = timer

    def remove(self, timer: Timer) -> None:
        del self.timers[timer.timer_id]

    def bring_forward(self, timers: Sequence[Timer], due: int) -> list[Timer]:
        moved = []
        for timer in timers:
            moved.append(msgspec.structs.replace(timer, due=due, sequence=self.next_sequence(due)))
            self.tails[due] = moved[-1].sequence + 1
            self.timers[timer.timer_id] = moved[-1]
            self.pool.add(moved[-1])
        return moved

    def live_timers(self, actor: bytes) -> int:
        return sum(timer.actor == actor for timer in self.timers.values())

    def scheduled_timers(self, actor: bytes) -> int:
        return self.ever.get(actor, 0)

    def collect(self, upto: int) -> Sequence[Timer]:
        due = [timer for timer in self.timers.values() if timer.due <= upto]
        return sorted(due, key=lambda timer: (timer.due, timer.sequence))

    def collect_pool(self, upto: int, rules):
        """Return a pool that is made anew in every block."""
        pool = self.pool = rules.open_pool()
        for timer in self.collect(upto):
            pool.add(timer)
        return pool


class DictLedger:
    """Balances in a dict; refuses to go below zero."""

    def __init__(self, balances: dict[bytes, int] | None = None) -> None:
        self.balances = dict(balances or {})
        self.burned = 0

    def balance(self, address: bytes) -> int:
        return self.balances.get(address, 0)

    def charge(self, address: bytes, amount: int) -> None:
        assert 0 <= amount <= self.balance(address)
        self.balances[address] = self.balance(address) - amount

    def credit(self, address: bytes, amount: int) -> None:
        assert amount >= 0
        self.balances[address] = self.balance(address) + amount

    def burn(self, amount: int) -> None:
        assert amount >= 0
        self.burned += amount


class Bench:
    """A chain in height time that consists of nothing but the scheduler and, if wanted, programs."""

    default_agent: bytes | None = None

    def __init__(self, config: TimerConfig | None = None, *, cycle: int = 0, cell: int = 0) -> None:
        self.config = config or TimerConfig()
        self.basefees = Basefees(cycle, cell)
        self.tables = DictTables()
        self.ledger = DictLedger()
        self.storage: dict[tuple[bytes, bytes], bytes] = {}
        self.sent: list[SendRequest] = []
        self.moment = self.at(0)
        self.collected = False
        self.programs: dict[bytes, type[Actor]] = {}

    def at(self, height: int, parent: int | None = None) -> Moment:
        """Return a moment in slot time, so that a parent's present can be anything."""
        return Moment(height, height, height - 1 if parent is None else parent, "slot")

    @property
    def context(self) -> SchedulingContext:
        return SchedulingContext(self.tables, self.moment, self.config, self.collected)

    def block(self, run: Runner | None = None) -> BlockContext:
        """Return the present block."""
        return BlockContext(
            moment=self.moment,
            config=self.config,
            basefees=self.basefees,
            timers=self.tables,
            ledger=self.ledger,
            run=run or self.run_timer,
            proposer=b"\xee" * 20,
        )

    @property
    def policy(self) -> PolicyInBlock:
        """Return the policy for calls about timers."""
        return PolicyInBlock(self.block(), self.context)

    def admit(self, request: ScheduleRequest):
        """Admit a timer, write it, and return the events."""
        policy = self.policy
        admission = policy.admit(request)
        policy.enter(admission)
        return admission.events

    def schedule(self, actor: bytes, due: int, payload: bytes = b"", **options) -> bytes:
        """Schedule on behalf of an actor and return the timer's identifier."""
        request = ScheduleRequest(actor=actor, sender=actor, nonce=0, due=due, payload=payload, **options)
        return self.admit(request)[0].timer_id

    def run(
        self, height: int, run: Callable[[Timer], RunOutcome] | None = None, parent: int | None = None
    ) -> PhaseResult:
        """Run the timer phase of a block."""
        self.moment = self.at(height, parent)
        self.collected = True
        block = self.block(run or (lambda timer: RunOutcome(True, 0, 0, ())))
        result = Fifo().open(block).run(BlockPhase.TIMERS)
        self.collected = False
        return result

    def call(self, actor: bytes, handler: str, payload: bytes, *, gas_limit: int = 10**9) -> RunOutcome:
        """Call a handler of an actor's program over dicts; a revert's writes are not taken back."""
        frame = Frame(actor, actor, ZERO_ORIGIN, 0)
        meter = Meter(gas_limit, 10**9)
        result = call_handler(self.programs.get(actor), self, frame, meter, handler=handler, payload=payload)
        return RunOutcome(result.status is Status.OK, result.cycles, result.cells, result.events)

    def run_timer(self, timer: Timer) -> RunOutcome:
        """Run a timer's handler."""
        return self.call(timer.actor, timer.handler, timer.payload, gas_limit=timer.gas_limit)

    def storage_get(self, actor: bytes, key: bytes) -> bytes | None:
        return self.storage.get((actor, key))

    def storage_put(self, actor: bytes, key: bytes, value: bytes) -> None:
        self.storage[actor, key] = value

    def storage_delete(self, actor: bytes, key: bytes) -> None:
        self.storage.pop((actor, key), None)

    def balance(self, address: bytes) -> int:
        return self.ledger.balance(address)

    def move(self, source: bytes, target: bytes, amount: int) -> None:
        self.ledger.charge(source, amount)
        self.ledger.credit(target, amount)

    def owner(self, actor: bytes) -> bytes:
        return b"\x99" * 20

    def admit_timer(self, request: ScheduleRequest) -> Admission:
        return admit(self.context, request)

    def cycles_to_admit(self, request: ScheduleRequest) -> int:
        return 0

    def watched_keys(self, actor: bytes, watched) -> tuple[bytes, ...]:
        raise InvalidInput("watched", "the chain has no state triggers")

    def enter_timer(self, admission: Admission) -> None:
        self.tables.insert(admission.timer)

    def extend_timer(self, caller: bytes, timer_id: bytes, new_expires_at: int) -> TimerExtended:
        return self.policy.extend(caller, timer_id, new_expires_at)

    def cancel_timer(self, caller: bytes, timer_id: bytes) -> TimerCancelled:
        return self.policy.cancel(caller, timer_id)

    def refused(self, what: str, error: Exception) -> None:
        """Hear of a refusal."""

    def check_message(self, request: SendRequest) -> None:
        """Find everything that a program asks for in order."""

    def send(self, request: SendRequest) -> MessageSent:
        self.sent.append(request)
        return MessageSent(len(self.sent) - 1, request.frame.actor, request.actor, request.handler, request.cycles)
