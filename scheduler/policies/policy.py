"""A policy, and what it is within one block: how timers come in, in which order they go out, and who pays.

A policy has its rules in one file: its data in the state, the parameters that governance may change, the policies that
it can follow within a chain. It opens each block. All but the timer phase has CIP-5's default (docs/extend/policy.md).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeVar

import msgspec

from scheduler.bidding import GbaFailure
from scheduler.errors import InvalidInput, Unauthorized, UnknownTimer
from scheduler.escrow import Escrow
from scheduler.events import (
    AuthorizationRaised,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerExtended,
    TimerExtendedByGovernance,
    TransactionCancelled,
)
from scheduler.lifecycle import (
    Admission,
    ScheduleRequest,
    SchedulingContext,
    admit,
    cell_of_cancellation,
    cells_of_extension,
    move_expiry,
    owned_timer,
)
from scheduler.rules import CallRule, CoveragePoint
from scheduler.tables import AgentCall, Ledger, Runner, StateTable, StateTables, TimerTables
from scheduler.types import (
    MAX_U63,
    Basefees,
    BlockPhase,
    Exit,
    Moment,
    Parameters,
    PhaseResult,
    Ratio,
    Timebase,
    Timer,
    TimerConfig,
)
from scheduler.watch_records import WatchLimits
from scheduler.watches import Watches

ONCE: Final = (BlockPhase.TRANSACTIONS, BlockPhase.TIMERS, BlockPhase.END_OF_BLOCK)
"""The phases of a block whose timers come after its transactions (K-1)."""


class Payable(Protocol):
    """A transaction as a policy sees it, in units per cycle."""

    @property
    def max_fee_per_cycle(self) -> int:
        """The most that its sender pays for a cycle."""

    @property
    def priority_fee_per_cycle(self) -> int:
        """The most of that which is for the proposer."""

    @property
    def cycles_limit(self) -> int:
        """The most cycles that it may use."""

    @property
    def cells_limit(self) -> int:
        """The most cells that it may use."""


Item = TypeVar("Item", bound=Payable)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockContext:
    """All that a policy sees of a block, fixed at the block's start.

    Attributes:
        own: The policy's own parameters; None where it has none.
        activated_at: The first height of the policy on this chain.
        epoch_length: The length of an epoch of the calendar queue, in the timebase.
        state: The policy's own tables.
        carried: What the policy left to the children of the parent, beside the state, or derived from that.
        ask: Asks an agent, or says why there is no answer.
        owner_of: Returns the owner of an actor.
        escrow: The bids of this chain; None where no policy of it takes any.
        watches: The watches of this chain; None where no policy of it has state triggers.
        room: Returns the cycles and cells that the block has left, less what was booked so far.
    """

    moment: Moment
    config: TimerConfig
    basefees: Basefees
    timers: TimerTables
    ledger: Ledger
    run: Runner
    proposer: bytes = b""
    own: Parameters | None = None
    activated_at: int = 1
    epoch_length: int = 3_600
    state: StateTables | None = None
    carried: object | None = None
    ask: Callable[[AgentCall], bytes | GbaFailure] | None = None
    owner_of: Callable[[bytes], bytes] | None = None
    escrow: Escrow | None = None
    watches: Watches | None = None
    room: Callable[[], tuple[int, int]] = lambda: (MAX_U63, MAX_U63)


class PolicyInBlock:
    """A policy within one block, with the defaults of CIP-5 for all but the timer phase."""

    price: int = 0
    """Units that the lane asks for a cycle in this block, beside the basefee."""
    default_agent: bytes | None = None
    """The agent to name for a timer that has none of its own, where each timer has to name one."""
    shares_block: bool = False
    """Whether fires take their room from the block's limits, like transactions."""

    def __init__(self, block: BlockContext, context: SchedulingContext | None = None) -> None:
        self.block = block
        self.reached: list[CoveragePoint] = []
        """The coverage points of the block so far; whoever runs a call takes back those of one that reverts."""
        self.context = context or SchedulingContext(block.timers, block.moment, block.config)

    def admit(self, request: ScheduleRequest) -> Admission:
        """Check a timer that is to come in; nothing is written.

        Raises:
            Rejected: One of the named errors.
        """
        return admit(self.context, request)

    def cycles_to_admit(self, request: ScheduleRequest) -> int:
        """Return the cycles that a call is charged beside its price, before its timer is admitted."""
        del request
        return 0

    @property
    def cell_rate(self) -> Ratio | None:
        """The cycles that a cell takes of a fire's gas limit; None where cells have a limit of their own alone."""
        return None

    def check_watch(self, actor: bytes, keys: Sequence[bytes]) -> None:
        """Check the keys that a new timer is to watch; raises Rejected."""
        if self.block.watches is None:
            raise InvalidInput("watched", "the chain has no state triggers")
        self.block.watches.check(actor, keys)

    def check_call(self, sent: int, cycles: int) -> None:
        """Check a message of a fire that has sent so many before; raises Rejected."""

    def enter(self, admission: Admission) -> None:
        """Write a timer that was admitted, and take what it puts down."""
        self.block.timers.insert(admission.timer)
        if admission.watched:
            assert self.block.watches is not None, "the call's keys were checked"
            self.reached += self.block.watches.begin(admission.timer, admission.watched)

    def move_expiry(self, timer: Timer, new_expires_at: int) -> int:
        """Give a live timer another expiry, and return that; whose right it is has been checked. Raises Rejected."""
        return move_expiry(self.context, timer, new_expires_at)

    def may_cancel(self, timer: Timer, caller: bytes) -> None:
        """Refuse to let an owner cancel a timer; raises Rejected."""

    def depart(self, timer: Timer, exit_: Exit) -> None:
        """End what a timer that was removed still has: its watch, and what `leave` gives back."""
        if self.block.watches is not None:
            self.reached += self.block.watches.leave(timer, exit_)
        self.leave(timer, exit_)

    def leave(self, timer: Timer, exit_: Exit) -> None:
        """Give back what a timer holds, such as an escrow; called once for each, after it was removed and has paid."""
        del exit_
        self.release(timer)

    def release(self, timer: Timer) -> None:
        """Return a bid that is in escrow, also another policy's: at every exit, before a fire is charged."""
        if self.block.escrow is not None:
            self.block.escrow.give_back(timer)

    def merge(self, transactions: Iterable[Item]) -> Iterable[Item | PhaseResult]:
        """Return the block's transactions in the order in which they run.

        A policy that fires timers between them yields the result of each fire where it happens. The order must follow
        from the transactions alone. A leader merges candidates, of which some may turn out to be invalid, whereas a
        validator that checks the block merges the included transactions.
        """
        return transactions

    def before_transaction(self, item: Payable) -> Iterable[PhaseResult]:
        """Fire what goes ahead of a transaction that was found valid and is about to run; yield each result.

        It must stay valid: a fire here leaves the room that it may use.
        """
        del item
        return ()

    def after_transactions(self) -> Iterable[PhaseResult]:
        """Fire what goes behind the last transaction, in the same phase; yield each result."""
        return ()

    def begin(self) -> None:
        """Note that from now to the block's end timers that are due are on the phase's list (Q-28)."""
        self.context = replace(self.context, collected=True)

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Run the timer phase, which counts what still waits, or the prologue of a policy that has one."""
        raise NotImplementedError

    def trigger(self) -> PhaseResult:
        """Trigger the timers that watch what the block has changed, when nothing can change a value any more (K-41)."""
        now, is_paused = self.block.moment.now, self.block.config.execution_lane_paused
        return PhaseResult() if self.block.watches is None else self.block.watches.trigger(now, is_paused=is_paused)

    def close(self, used_cycles: int) -> PhaseResult | None:
        """Do what needs the block's totals, and fire nothing; `used_cycles` are all cycles of the block."""

    def carried(self) -> object | None:
        """Return what the children of the block start from, beside the state; it is not changed any more."""

    def counts(self) -> Mapping[str, int]:
        """Return what the prologue, now over, leaves to checks outside the state, counted in the tables."""
        return {}

    def extend(self, caller: bytes, timer_id: bytes, new_expires_at: int) -> TimerExtended:
        """Move a timer's expiry at its owner's wish; raises Rejected."""
        timer = owned_timer(self.context, caller, timer_id)
        return TimerExtended(timer_id, self._extend(timer, new_expires_at))

    def control(self, action: str, batch: int) -> Sequence[msgspec.Struct]:
        """Carry out an instruction of governance on the policy's service, and return its events; raises Rejected."""
        del action, batch
        raise InvalidInput("call", "the policy has no service")

    def cancel_all(self, caller: bytes, actor: bytes, owner: bytes | None) -> AuthorizationRaised:
        """Void all that an actor scheduled, at its owner's wish; raises Rejected."""
        del actor
        if caller != owner:
            raise Unauthorized(caller, "does not own the actor")
        raise InvalidInput("call", "there are no authorization numbers")

    def cancel(self, caller: bytes, timer_id: bytes) -> TimerCancelled | TransactionCancelled:
        """Remove a timer at its owner's wish; raises Rejected."""
        timer = owned_timer(self.context, caller, timer_id)
        self.may_cancel(timer, caller)
        self.reached.append(cell_of_cancellation(self.context, timer))
        self._remove(timer, Exit.BY_OWNER)
        return TimerCancelled(timer_id, caller)

    def extend_by_governance(self, timer_id: bytes, new_expires_at: int) -> TimerExtendedByGovernance:
        """Move the expiry of a timer of any owner, under the same rules as for its owner; raises Rejected."""
        timer = self.block.timers.timer(timer_id)
        if timer is None:
            raise UnknownTimer(timer_id)
        expires_at = self._extend(timer, new_expires_at)
        self.reached.append(CallRule.EXTENDED_BY_GOVERNANCE)
        return TimerExtendedByGovernance(timer_id, expires_at)

    def cancel_by_governance(self, timer_id: bytes) -> TimerCancelledByGovernance:
        """Remove a timer of any owner; when it is gone already nothing happens, and the event says so."""
        timer = self.block.timers.timer(timer_id)
        if timer is None:
            self.reached.append(CallRule.GOVERNANCE_CANCELLED_GONE)
        else:
            is_deferred = timer.due <= self.block.moment.parent_now
            cell = CallRule.GOVERNANCE_CANCELLED_DEFERRED if is_deferred else CallRule.GOVERNANCE_CANCELLED
            self.reached.append(cell)
            self._remove(timer, Exit.BY_GOVERNANCE)
        return TimerCancelledByGovernance(timer_id, was_live=timer is not None)

    def _extend(self, timer: Timer, new_expires_at: int) -> int:
        watches = self.block.watches
        if watches is not None and watches.is_watching(timer):
            raise InvalidInput("expires_at", "fixed while the timer watches")
        expires_at = self.move_expiry(timer, new_expires_at)
        self.reached += cells_of_extension(self.context, timer, asked=new_expires_at, given=expires_at)
        return expires_at

    def _remove(self, timer: Timer, exit_: Exit) -> None:
        self.block.timers.remove(timer)
        self.depart(timer, exit_)


class Carry(NamedTuple):
    """The timers that the policy before left pending stay; `how` says in a sentence how they are read."""

    how: str


class Refusal(NamedTuple):
    """A policy cannot be activated after another one."""

    reason: str


@dataclass(frozen=True, slots=True)
class Guarantees:
    """The properties of a policy's blocks, beyond those of all blocks, that checks hold it to.

    Attributes:
        in_order: Fires follow the waiting order, by due height and sequence.
        clears_dead: Dead timers count as dead, and are removed as far as the GC budget reaches.
        dead_per_block: The dead timers that a block removes by a bound of the policy's own; None without one.
        fills_lane: A live timer waits for the lane only where its gas limit does not fit into the rest of it.
        caps_by_limit: A timer waits as over the cap only where its gas limit exceeds the lane, or the next value.
        attempt_cycles_max: The greatest gas limit with which a timer is attempted, beside the lane's; None without one.
        overshoots: The last fire of a block may go over the lane's budget, by less than its own use.
        timers_first: The timer phase comes before the transactions, which may cancel what it left waiting.
        shares_block: Fires and transactions together keep within the block's limits.
        has_gc_lane: What is removed counts for the GC lane, and keeps within its budget.
        returns_ids: An identifier may be scheduled again once its timer has left.
    """

    in_order: bool = False
    clears_dead: bool = False
    dead_per_block: int | None = None
    fills_lane: bool = False
    caps_by_limit: bool = False
    attempt_cycles_max: int | None = None
    overshoots: bool = False
    timers_first: bool = False
    shares_block: bool = False
    has_gc_lane: bool = True
    returns_ids: bool = False


class Policy:
    """One way to deliver timers; genesis names it. A policy says what differs from these defaults."""

    name: ClassVar[str]
    has_ttl: ClassVar[bool]
    """Whether a timer can expire."""
    has_budget: ClassVar[bool]
    """Whether the fires of a block share a budget of cycles."""
    default_agent: ClassVar[bytes | None] = None
    """The address at which genesis has an agent that bids the default values, where the policy asks one."""
    timebases: ClassVar[tuple[Timebase, ...]] = ("slot", "height")
    """The timebases of chains that can have the policy."""
    escrow: ClassVar[bytes | None] = None
    """The address that holds what timers put down, reserved in chains that name the policy; None without one."""
    refuses_successors: ClassVar[str] = ""
    """Why no policy can be activated after this one; empty where others decide that."""
    refuses_predecessors: ClassVar[str] = ""
    """Why this one can be activated after none, with `{}` for its name; empty where that depends on it."""
    default_config: ClassVar[TimerConfig] = TimerConfig()
    """The configuration of a chain that states none."""
    config_type: ClassVar[type[Parameters] | None] = None
    """The parameters of the policy's own, beside the timers'; governance changes them by their keys."""
    config_table: ClassVar[StateTable[Any] | None] = None
    """Where the state holds these."""
    option_table: ClassVar[StateTable[Any] | None] = None
    """Where it holds further parameters, by which genesis switches something on."""
    tables: ClassVar[tuple[StateTable[Any], ...]] = ()
    """The policy's other tables."""

    def carry(self, previous: "Policy") -> Carry | Refusal:
        """Say what becomes of pending timers where this policy is activated after another one."""
        if self.refuses_predecessors:
            return Refusal(self.refuses_predecessors.format(previous.name))
        if previous.refuses_successors:
            return Refusal(previous.refuses_successors)
        return Refusal(f"no rule says what becomes of the timers that {previous.name} leaves pending")

    def derive(self, state: StateTables, height: int) -> object | None:
        """Return from the state alone what the block before `height` carried; None where nothing is."""
        del state, height
        return None

    def watch_limits(self, own: Parameters | None, state: StateTables) -> WatchLimits | None:
        """Return the limits of state triggers in a block; None where the policy has none."""
        del own, state
        return None

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return what holds in a block with these parameters."""
        del own
        return Guarantees()

    def phases(self, own: Parameters | None) -> tuple[BlockPhase, ...]:
        """Return the steps of a block in order; each but the prologue is among them once."""
        del own
        return ONCE

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        raise NotImplementedError


POLICY_ATTRIBUTES: Final = (
    *Policy.__annotations__,
    *("carry", "derive", "watch_limits", "guarantees", "phases", "open"),
)
"""All that a policy has to have, by name."""
