"""The policy `fifo`: timers fire in insertion order, within a lane, while a second lane removes the dead ones.

Invariants: the two budgets are independent, and neither is exceeded. Within a block timers fire in the order (due,
sequence). Each timer that leaves does so with exactly one event. The waiting set is collected once, before anything
fires, so that no handler of this phase can change who is on the list.
"""

from collections.abc import Sequence
from typing import ClassVar

from scheduler.events import DeferralReason
from scheduler.lifecycle import is_expired
from scheduler.policies.policy import BlockContext, Carry, Guarantees, Policy, PolicyInBlock, Refusal
from scheduler.rules import PhaseRule
from scheduler.settlement import classify, max_cost
from scheduler.tally import Tally
from scheduler.types import BlockPhase, Parameters, PhaseResult, Timer


class Fifo(Policy):
    """First in, first out, with an execution lane and a GC lane (CIP-5 as revised)."""

    name: ClassVar[str] = "fifo"
    has_ttl: ClassVar[bool] = True
    has_budget: ClassVar[bool] = True

    def carry(self, previous: Policy) -> Carry | Refusal:
        """Take on timers without fees."""
        if previous.name == "fifo-free":
            return Carry("they keep their expiry, which never comes, and pay for a fire from now on")
        if previous.name == "eip1559":
            return Refusal("pending timers bid the most that they pay, and fifo would charge them without asking")
        if previous.name == "gba-auction":
            return Refusal("agents bid for pending timers, and fifo would charge their owners without asking")
        if previous.name == "bias-auction":
            return Carry("their bids go back as they leave, and a fire costs the basefee as before")
        return super().carry(previous)

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return what CIP-5 promises."""
        del own
        return Guarantees(in_order=True, clears_dead=True, fills_lane=True, caps_by_limit=True)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        return FifoInBlock(block)


class FifoInBlock(PolicyInBlock):
    """One block of the policy."""

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Run the timer phase: collect, classify, remove the dead, fire the live, report who waits."""
        assert phase is BlockPhase.TIMERS, phase
        block, tally = self.block, Tally.of(self)
        config, basefees, ledger = block.config, block.basefees, block.ledger
        # Once, before anything fires: what handlers schedule or cancel now cannot change who is on the list.
        waiting = block.timers.collect(block.moment.now)
        classes = classify(waiting, now=block.moment.now, config=config, basefees=basefees, ledger=ledger)
        # In waiting order, so that what the budget leaves is the same on every validator.
        dead = classes.dead[: config.gc_budget]
        # Before any is removed: its bid of an older policy goes back then, and did not count when it was judged.
        available = {timer.fee_payer: ledger.balance(timer.fee_payer) for timer in dead}
        for timer in dead:
            tally.destroy(timer, max_cost(timer, config, basefees), available[timer.fee_payer])
        attempted, unpaid = _fire(tally, classes.candidates)
        held = classes.candidates[attempted:]
        _report(tally, held, classes.over_cap)
        left = classes.dead[len(dead) :]
        insolvent = [timer for timer in left if not is_expired(timer, block.moment.now)] + unpaid
        live = len(held) + len(classes.over_cap)
        return tally.result(waiting_live=live, waiting_dead=len(left) + len(unpaid), insolvent_left=insolvent)


def _fire(tally: Tally, candidates: Sequence[Timer]) -> tuple[int, list[Timer]]:
    """Take candidates into the lane strictly in order; the first that does not fit blocks the rest (Q-30).

    Returns:
        How many had their attempt, and those of them that could neither pay nor be removed.
    """
    unpaid: list[Timer] = []
    config, attempted = tally.config, 0
    for timer in candidates:
        # By the limit and not the use, and the first that does not fit stops the rest: small timers never pass a large
        # one.
        if tally.lane_cycles + timer.gas_limit > config.lane_budget or config.execution_lane_paused:
            break
        attempted += 1
        if tally.lane_cycles + timer.gas_limit == config.lane_budget:
            tally.reached.append(PhaseRule.LIMIT_FITS_EXACTLY)
        required = max_cost(timer, config, tally.basefees)
        # Asked anew: an earlier fire of this block may have spent it.
        available = tally.ledger.balance(timer.fee_payer)
        if available >= required:
            tally.fire(timer, required, available=available)
        elif tally.can_remove:
            tally.reached.append(PhaseRule.INSOLVENT_AT_TURN)
            tally.destroy(timer, required, available)
        else:
            unpaid.append(timer)
    return attempted, unpaid


def _report(tally: Tally, held: Sequence[Timer], over_cap: Sequence[Timer]) -> None:
    first = newly_due(tally, held, DeferralReason.LANE_FULL)
    room = 0 if tally.config.execution_lane_paused else tally.config.lane_budget - tally.lane_cycles
    # The first of all does not fit; of the timers behind it, only the newly due are at hand here.
    if any(timer.gas_limit <= room for timer, _ in first):
        tally.reached.append(PhaseRule.FIRST_BLOCKS_REST)
    first += newly_due(tally, over_cap, DeferralReason.OVER_CAP)
    # Two lists, each latest first: events go into receipts in waiting order.
    first.sort(key=_place)
    counts = ((DeferralReason.LANE_FULL, len(held)), (DeferralReason.OVER_CAP, len(over_cap)))
    tally.report_deferred(first, counts)


def newly_due(tally: Tally, timers: Sequence[Timer], reason: DeferralReason) -> list[tuple[Timer, DeferralReason]]:
    """Return the timers that no earlier block attempted, latest first: a suffix, because the order is by due height."""
    found: list[tuple[Timer, DeferralReason]] = []
    for timer in reversed(timers):
        if timer.due <= tally.moment.parent_now:
            break
        found.append((timer, reason))
    return found


def _place(deferred: tuple[Timer, DeferralReason]) -> tuple[int, int]:
    return deferred[0].due, deferred[0].sequence
