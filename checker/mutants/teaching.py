"""The teaching mutants: one for each family of checks, and one for each kind of explanation.

They are in every installation, and scenarios that fail on purpose run some of them. Many more are a plug-in of the
repository (tools/mutation).
"""

import time
from typing import Any, Final

import msgspec

from checker.mutants.mutant import burning_for, mutant, reordered, settle_with
from network.bus import Bus
from scheduler import tally
from scheduler.policies import fifo
from scheduler.types import TimerConfig
from validators import application
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.longest_chain.engine import LongestChain
from validators.consensus.simplex import certificates, screening, views
from validators.consensus.simplex import engine as simplex
from validators.execution import run as block_run
from validators.execution import transactions
from validators.mempool.pool import Mempool
from validators.state import store
from validators.state.draft import Draft
from validators.storage import Barrier
from validators.storage.files import FinalizedLog

CRASH: Final = 'faults={down={kind="crash", validator=0, at_ms=9_300, restart_ms=11_400}}'
"""One validator is away for a while."""


@mutant(
    (fifo, "classify"),
    area="scheduler",
    kills=("equal-roots",),
    cause="clean-up",
    shows="TimerExpired",
    is_of_timer=True,
)
def expiry_a_slot_late(classify: Any) -> Any:
    """A timer lives one slot longer than its time to live."""
    return lambda waiting, *, now, **rest: classify(waiting, now=now - 1, **rest)


@mutant(
    (TimerConfig, "gc_budget"),
    area="scheduler",
    kills=("storm-accounting",),
    cause="clean-up",
    on_all=True,
    shows="TimerExpired|TimerCancelledInsufficientFunds",
    is_of_timer=True,
)
def gc_budget_one_less(gc_budget: Any) -> Any:
    """Each block removes one dead timer less than its budget allows."""
    return property(lambda config: max(gc_budget.fget(config) - 1, 0))


@mutant(
    (fifo, "classify"),
    area="scheduler",
    kills=("timer-delivery",),
    cause="order",
    on_all=True,
    shows="TimerFired",
    is_of_timer=True,
)
def tie_break_by_identifier(classify: Any) -> Any:
    """Timers of one height fire by identifier and not as they were scheduled."""
    return reordered(classify, lambda timers: sorted(timers, key=lambda timer: (timer.due, timer.timer_id)))


@mutant(
    (fifo, "classify"), area="scheduler", kills=("equal-roots",), cause="order", shows="TimerFired", is_of_timer=True
)
def order_of_a_set(classify: Any) -> Any:
    """Timers fire in the order of a hash set."""

    def through_a_set(timers: Any) -> Any:
        by_id = {timer.timer_id: timer for timer in timers}
        # The order of a set of bytes is another one in every process.
        return [by_id[timer_id] for timer_id in set(by_id)]

    return reordered(classify, through_a_set)


@mutant(
    (tally, "settle"),
    area="scheduler",
    kills=("supply",),
    cause="execution",
    on_all=True,
    shows="TimerFired.*account",
    is_of_timer=True,
)
def refund_rounded_down(settle: Any) -> Any:
    """The refund of a fire is cut to whole thousands."""

    def credit(ledger: Any, address: bytes, amount: int) -> None:
        ledger.credit(address, amount // 1_000 * 1_000)

    return settle_with(settle, credit=credit)


@mutant(
    (block_run, "run_transaction"), area="execution", kills=("oracle",), cause="execution", on_all=True, shows="account"
)
def tip_burned(run_transaction: Any) -> Any:
    """The proposer's tip is burned."""

    def run_without_tip(admitted: Any, *, ledger: Any, proposer: bytes, **rest: Any) -> Any:
        without = burning_for(proposer, ledger)
        return run_transaction(admitted, ledger=without, proposer=proposer, **rest)

    return run_without_tip


@mutant(
    (transactions, "_check_limits"),
    area="execution",
    kills=("budgets", "oracle"),
    cause="input",
    on_all=True,
    shows="is above the",
)
def block_limits_unchecked(_original: Any) -> Any:
    """Transactions are taken beyond the block's cycles and cells."""
    return lambda _transaction, _size, _room: None


@mutant((application, "ProposalContext"), area="execution", kills=("determinism",), cause="input", shows="header")
def wall_clock_in_a_block(context: Any) -> Any:
    """A leader adds what it reads from the wall clock to its block's timestamp."""

    def context_of_now(*, timestamp_ms: int, **rest: Any) -> Any:
        return context(timestamp_ms=timestamp_ms + time.time_ns() // 1_000 % 11, **rest)

    return context_of_now


@mutant((Draft, "_write_created"), area="state", kills=("equal-roots",), cause="order", shows="operation")
def created_keys_as_written(_original: Any) -> Any:
    """New keys enter the log in the order in which they were written."""

    def write_created(self: Any, made: Any) -> None:
        self.created = list(made)
        self.operations += made.values()
        self.written = self.displaced + self.created
        self.entries = {key: self.base.size + number for number, key in enumerate(self.written)}
        self.flags += b"\1" * len(self.written)

    return write_created


@mutant((store, "count_inactive_peaks"), area="state", kills=("equal-roots",), cause="hashing", shows="state database")
def inactive_peak_forgotten(count_inactive_peaks: Any) -> Any:
    """One inactive peak of the log's tree less is folded forward."""
    return lambda leaf_count, floor: max(count_inactive_peaks(leaf_count, floor) - 1, 0)


@mutant((simplex, "leader_of"), (views, "leader_of"), area="consensus", kills=("leaders",), on_all=True)
def leader_for_two_views(*_originals: Any) -> Any:
    """A leader has two views in a row before the next one has its turn."""

    def leader_of(view: int, validators: int) -> int:
        return view // 2 % validators

    return leader_of, leader_of


@mutant((simplex, "quorum_of"), (certificates, "quorum_of"), area="consensus", kills=("certificates",))
def certificate_below_quorum(*_originals: Any) -> Any:
    """One vote too few makes a certificate."""

    def quorum_of(validators: int) -> int:
        return validators - (validators - 1) // 3 - 1

    return quorum_of, quorum_of


@mutant((simplex, "arm_timers"), area="consensus", kills=("consensus", "finality-regained"), on_all=True)
def waits_for_ever(_original: Any) -> Any:
    """A view has no timeout."""
    return lambda _entered, _config: []


@mutant(
    (HotStuffConfig, "chain_length"), area="consensus", kills=("consensus",), needs=('consensus.engine="hotstuff"',)
)
def final_after_two_blocks(_original: Any) -> Any:
    """A validator of three-chain makes a block final when two of consecutive views stand, as two-chain does."""
    return property(lambda _self: 2)


@mutant(
    (LongestChain, "leader"), area="consensus", kills=("leaders",), needs=('consensus.engine="longest-chain"', CRASH)
)
def slots_led_by_the_next(leader: Any) -> Any:
    """A slot is led by the validator after its leader."""
    return lambda self, view: leader(self, view + 1)


@mutant((Barrier, "then"), area="storage", kills=("write-ahead",))
def acts_before_the_sync(then: Any) -> Any:
    """Votes leave and blocks are applied before what they rest on is durable."""

    def act_and_sync(self: Any, action: Any) -> None:
        action()
        then(self, lambda: None)

    return act_and_sync


@mutant((FinalizedLog, "append"), area="storage", kills=("live-values", "operation-log"))
def log_entry_cut(append: Any) -> Any:
    """The first operation of each block is missing in the log on the disk."""

    def append_the_rest(self: Any, entry: Any) -> None:
        append(self, msgspec.structs.replace(entry, operations=entry.operations[1:]))

    return append_the_rest


@mutant((Mempool, "candidates"), area="network", kills=("inclusion",), on_all=True)
def offers_not_all(candidates: Any) -> Any:
    """A mempool never offers a fourth of its transactions to a leader."""

    def some(self: Any) -> Any:
        return (each for each in candidates(self) if each.signature[0] % 4)

    return some


@mutant((screening, "verify_vote"), area="consensus", kills=("refusals", "consensus"))
def good_votes_refused(verify_vote: Any) -> Any:
    """A validator takes one in 16 votes for forged."""
    return lambda scheme, vote: vote.signature[0] % 16 != 0 and verify_vote(scheme, vote)


@mutant((Bus, "_arrive"), area="test-bed", kills=("audit",), on_all=True, is_of_run=True)
def bus_loses_silently(arrive: Any) -> Any:
    """One message of 20 on each link never arrives, and nothing is said of it."""

    def arrive_mostly(self: Any, wire: Any, ordinal: int, parcel: Any) -> None:
        if ordinal % 20 != 19:
            arrive(self, wire, ordinal, parcel)

    return arrive_mostly
