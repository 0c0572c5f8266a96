"""The engine `chain` of studies: one execution engine builds a chain block by block, without a network.

Bidders see the chain as it grows and send what their group orders. Workloads of the scenario are submitted at their
times. Nothing is signed or verified: this process is the only client, and a signature decides nothing here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import msgspec

from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.studies.bidders import BidderGroup, bid_of
from cluster.studies.figures import TimerStory, TrialLog
from cluster.studies.study import Study
from cluster.studies.watching import BlockWatcher
from cluster.workloads.planned import transactions_of
from cluster.workloads.submission import CALL_CELLS, FEE_MAX, FUNDS
from network.chance import Chance, Draws, below
from scheduler import POLICIES, FeeParams, keccak256
from validators.actors import PROGRAMS, Actor, FeeTerms
from validators.actors.agents import decode_context
from validators.execution import Genesis, GenesisAccount, GenesisActor, ProposalContext
from validators.execution.blocks import (
    ExecuteActor,
    Transaction,
    address_of,
    decode_transaction,
    encode_transaction,
)
from validators.settings import make_engine

AGENT_PROGRAM: Final = "study-agent"
NO_SIGNATURE: Final = bytes(64)
HANDLER_CYCLES: Final = 300
"""The cycles of a fire beside the cycles of its script."""
ORDER_CYCLES: Final = 10_000
"""Cycles that a transaction may use for each timer that it schedules, and twice as many for itself."""
STEPS_MAX: Final = 60
"""The most timers that one transaction schedules."""
TOPPED_MAX: Final = 10
"""The most doublings of a worth."""


class StudyAgent(Actor):
    """Bids for a timer the tip that its actor stored for the timer's due height."""

    handlers: ClassVar[tuple[str, ...]] = ("get_gas_bid",)

    def get_gas_bid(self, payload: bytes) -> bytes:
        """Return the fees of TxFeeParams: a fee that covers the price and the tip."""
        context = decode_context(payload)
        stored = self.host.get(_tip_key(context.trigger_block_height), self.host.sender)
        tip = int.from_bytes(stored or b"", "big")
        fee = context.basefee_lane_timer + tip
        return msgspec.msgpack.encode(FeeParams(fee, tip, context.basefee_cell, 0))


def _tip_key(due: int) -> bytes:
    return b"tip" + due.to_bytes(8, "big")


@dataclass(slots=True)
class GroupTask:
    """A piece of work of a group: done once one of its timers has fired.

    `due` and `next_try` are in the chain's timebase, so that a client finds after an outage what it missed. `next_try`
    is 0 for never, and -1 once the task is done.
    """

    group: str
    worth: int
    due: int
    tries: int = 0
    next_try: int = 0


@dataclass(slots=True)
class TimerOrder:
    """A timer that an actor is asked to schedule, and its story."""

    story: TimerStory
    due: int
    step: list[Any]


@dataclass(slots=True)
class _Actor:
    """An actor of a group, its owner, and the account that calls it."""

    address: bytes
    owner: bytes
    caller: bytes
    key: bytes
    nonce: int = 0


@dataclass(slots=True)
class _Group:
    """A group at work: its actors, its draws, and the tasks that wait to be scheduled again."""

    name: str
    rules: BidderGroup
    actors: list[_Actor]
    draws: Draws
    drawn: int = 0
    ordered: int = 0
    owed: int = 0
    """Timers ordered less those due by `per_block`, times its denominator."""
    tasks: list[int] = field(default_factory=list)
    """Numbers of tasks that may be tried again."""

    def draw(self, bound: int) -> int:
        """Return the next draw of the group, below a bound."""
        self.drawn += 1
        return below(self.draws.at(self.drawn - 1), bound)


class ChainTrial:
    """A trial on the chain: one arm, one seed."""

    def __init__(self, study: Study, scenario: Scenario, seed: int) -> None:
        chance = Chance(seed)
        self._study = study
        self._chain = scenario.chain
        self._groups = [
            _Group(name, rules, _actors_of(scenario.chain_id, name, rules), chance.stream("study", name))
            for name, rules in study.bidders.items()
        ]
        self._agent = keccak256(f"stampede/{scenario.chain_id}/study-agent".encode())[-20:]
        self._genesis = self._genesis_of(scenario)
        self._engine = make_engine(self._genesis, lambda _: True, programs={**PROGRAMS, AGENT_PROGRAM: StudyAgent})
        self._planned = [*transactions_of(scenario)]
        self._planned.reverse()
        self._waiting: list[Transaction] = []
        self._tasks: list[GroupTask] = []
        self._height = 0
        self._watcher = BlockWatcher(log_of(study, scenario), scenario, study)

    def run(self) -> TrialLog:
        """Build every block of the trial, and return what it leaves."""
        for _ in range(self._study.blocks):
            self._height += 1
            self._build()
        return self._watcher.log

    def _now_of(self, height: int) -> int:
        """Return the present of a block in the chain's timebase."""
        return self._slot_of(height) if self._chain.timebase == "slot" else height

    def _slot_of(self, height: int) -> int:
        outage = self._study.outage
        return height + (outage.slots if outage.after_block and height > outage.after_block else 0)

    def _build(self) -> None:
        time_ms = self._slot_of(self._height) * self._chain.slot_ms
        while self._planned and self._planned[-1].at_us <= time_ms * 1_000:
            self._waiting.append(decode_transaction(self._planned.pop().encoded))
        orders: dict[bytes, list[TimerStory]] = {}
        own = [transaction for group in self._groups for transaction in self._order(group, orders)]
        context = ProposalContext(
            parent=self._engine.finalized_digest, view=self._height, proposer=0, timestamp_ms=time_ms
        )
        executed = self._engine.propose(context, [*self._waiting, *own])
        included = dict.fromkeys(executed.block.transactions)
        if any(encode_transaction(each) not in included for each in own):
            # Its sender's later transactions would all be invalid, and the group silent for the rest of the trial.
            reason = "raise chain.block_cycles or chain.block_cells, or lower the groups' per_block"
            raise ScenarioError("scenario", f"block {self._height} has no room for all orders; {reason}")
        self._waiting = [each for each in self._waiting if encode_transaction(each) not in included]
        self._engine.certify(executed.digest)
        self._engine.finalize(executed.digest)
        self._watcher.note(executed, orders)
        self._note_tasks()

    def _order(self, group: _Group, orders: dict[bytes, list[TimerStory]]) -> Iterator[Transaction]:
        """Yield the transactions of a group in this block; `orders` gets the timers by actor."""
        rules, outage = group.rules, self._study.outage
        if self._height < rules.first_block:
            return
        if outage.slots and outage.after_block < self._height <= outage.after_block + rules.resume_blocks:
            return
        count, (over, under) = 0, rules.per_block
        # After its last block a group goes on with the tasks that it has.
        if not rules.last_block or self._height <= rules.last_block:
            group.owed += over
            # Tasks that are tried again keep their heights: only new tasks come in bursts.
            count, group.owed = divmod(group.owed, under) if self._height % rules.every == 0 else (0, group.owed)
        by_actor: dict[int, list[TimerOrder]] = {}
        now = self._now_of(self._height)
        again = [number for number in group.tasks if 0 < self._tasks[number].next_try <= now]
        for number in [*again, *(self._new_task(group) for _ in range(count))]:
            by_actor.setdefault(group.ordered % len(group.actors), []).append(self._try(group, number))
            group.ordered += 1
        log = self._watcher.log
        log.orders[group.name] = log.orders.get(group.name, 0) + sum(map(len, by_actor.values()))
        for index, placed in by_actor.items():
            actor = group.actors[index]
            for first in range(0, len(placed), STEPS_MAX):
                yield self._call(actor, [order.step for order in placed[first : first + STEPS_MAX]], placed)
            if rules.sends == "timers":
                orders[actor.address] = [order.story for order in placed]
            else:
                self._watcher.note_call(group.name, now)
                log.done[group.name] = log.done.get(group.name, 0) + len(placed)

    def _new_task(self, group: _Group) -> int:
        rules = group.rules
        low, high = rules.worth
        worth = low + group.draw(high - low + 1)
        for _ in range(TOPPED_MAX if rules.tail == "doubling" else 0):
            if group.draw(2):
                break
            worth *= 2
        lead = rules.lead + (group.draw(rules.lead_max - rules.lead + 1) if rules.lead_max > rules.lead else 0)
        self._tasks.append(GroupTask(group.name, worth, self._now_of(self._height) + lead))
        log = self._watcher.log
        log.tasks[group.name] = log.tasks.get(group.name, 0) + 1
        number = len(self._tasks) - 1
        if rules.resubmit_after:
            group.tasks.append(number)
        return number

    def _try(self, group: _Group, number: int) -> TimerOrder:
        """Return the next timer of a task."""
        rules, task = group.rules, self._tasks[number]
        gas_limit = rules.gas_limit[group.draw(len(rules.gas_limit))]
        used = gas_limit * rules.used_percent[group.draw(len(rules.used_percent))] // 100
        now = self._now_of(self._height)
        due = max(task.due, now + 1)
        if rules.resubmit_after:
            task.next_try = due + (rules.resubmit_after << task.tries if rules.back_off else rules.resubmit_after)
        task.tries += 1
        worth = max(0, task.worth - rules.decay * (due - task.due))
        bid = bid_of(rules, worth, clearing=self._watcher.clearing, ordinal=group.ordered)
        story = TimerStory(
            group=group.name,
            actor=group.actors[group.ordered % len(group.actors)].address,
            due=due,
            gas_limit=gas_limit,
            cycles=max(0, used - HANDLER_CYCLES),
            worth=worth,
            decay=rules.decay,
            bid=bid,
            task=number,
        )
        return TimerOrder(story, due, self._step(rules, story, due - now))

    def _step(self, rules: BidderGroup, story: TimerStory, delay: int) -> list[Any]:
        compute = ["compute", story.cycles]
        if rules.sends == "calls":
            return compute
        payload = msgspec.msgpack.encode([[compute], 0])
        ttl = min(delay + rules.ttl, self._genesis.timer_config.max_ttl_blocks)
        return ["schedule", b"t", delay, payload, None, story.gas_limit, ttl, self._terms(rules, story)]

    def _terms(self, rules: BidderGroup, story: TimerStory) -> FeeTerms:
        """Return how the policy of the chain takes a bid."""
        policy, bid = POLICIES[self._chain.policy], story.bid
        if policy.default_agent is not None:
            return FeeTerms(gba=self._agent)
        if policy.escrow is not None and policy.name != "aptos":
            return FeeTerms(bid=None if bid is None else bid * story.gas_limit)
        if bid is None:
            return FeeTerms(max_fee_per_cycle=story.worth, priority_tier_hint=rules.tier)
        if policy.name == "aptos":
            return FeeTerms(max_fee_per_cycle=FEE_FLOOR + bid)
        if policy.name.startswith("eip1559"):
            # The worth covers the lane's price as well.
            return FeeTerms(max_fee_per_cycle=max(story.worth, bid), max_priority_fee_per_cycle=bid)
        return FeeTerms()

    def _call(self, actor: _Actor, steps: list[list[Any]], placed: Sequence[TimerOrder]) -> Transaction:
        """Return the transaction by which an actor's owner has it run steps; refusals are told and skipped."""
        if POLICIES[self._chain.policy].default_agent is not None:
            tips = {order.due: order.story.bid or 0 for order in placed}
            steps = [["put", _tip_key(due), tip.to_bytes(8, "big")] for due, tip in tips.items()] + steps
        payload = msgspec.msgpack.encode([steps, 1])
        computed = sum(step[1] for step in steps if step[0] == "compute")
        cells = 2 * len(payload) + CALL_CELLS * (1 + len(steps))
        transaction = Transaction(
            public_key=actor.key,
            nonce=actor.nonce,
            cycles_limit=ORDER_CYCLES * (2 + len(steps)) + computed,
            cells_limit=cells,
            max_fee_per_cycle=FEE_MAX,
            max_fee_per_cell=FEE_MAX,
            priority_fee_per_cycle=0,
            call=ExecuteActor(actor.address, "run", payload),
            signature=NO_SIGNATURE,
        )
        actor.nonce += 1
        return transaction

    def _note_tasks(self) -> None:
        """Remove finished tasks from the lists of tasks to try again."""
        log, done = self._watcher.log, self._watcher.take_done()
        for number in done:
            task = self._tasks[number]
            if task.next_try >= 0:
                log.done[task.group] = log.done.get(task.group, 0) + 1
            task.next_try = -1
        for group in self._groups if done else ():
            if group.tasks:
                group.tasks = [number for number in group.tasks if self._tasks[number].next_try >= 0]

    def _genesis_of(self, scenario: Scenario) -> Genesis:
        base = genesis_of(scenario, keys_of(scenario))
        accounts, actors = [*base.accounts], [*base.actors, GenesisActor(self._agent, AGENT_PROGRAM, bytes(20))]
        for group in self._groups:
            accounts += [GenesisAccount(actor.caller, FUNDS) for actor in group.actors]
            actors += [GenesisActor(actor.address, "script-actor", actor.owner, FUNDS) for actor in group.actors]
        return msgspec.structs.replace(base, accounts=tuple(accounts), actors=tuple(actors))


FEE_FLOOR: Final = 100
"""The lowest gas price of an entry under `aptos`, on top of which a bid comes."""


def log_of(study: Study, scenario: Scenario) -> TrialLog:
    """Return an empty log for a trial."""
    config, outage = scenario.chain.timers.config(), study.outage
    return TrialLog(
        lane=config.lane_timer_cycles,
        gc_budget=config.gc_cycles_per_block,
        warmup=study.warmup_blocks,
        resumed_at=outage.after_block + 1 if outage.after_block and outage.slots else 0,
        stale_blocks={name: rules.stale_blocks for name, rules in study.bidders.items()},
    )


def _actors_of(chain_id: str, name: str, rules: BidderGroup) -> list[_Actor]:
    """Return the actors of a group."""
    found: list[_Actor] = []
    for index in range(rules.actors):
        key = keccak256(f"stampede/{chain_id}/{name}/{index}".encode())
        address = keccak256(f"stampede/{chain_id}/{name}/actor/{index}".encode())[-20:]
        caller = address_of(key)
        # A script runs for any caller, so that owners decide nothing but under whom fires count.
        owner = found[0].caller if found and rules.deployer == "one" else caller
        found.append(_Actor(address, owner, caller, key))
    return found
