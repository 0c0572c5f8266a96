"""The monitor of a run: hands what happens to the checks while it goes on, and keeps the chain for the record."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from checker.checks.context import RunContext
from checker.checks.suite import Suite
from checker.coverage.collector import RuleCoverage
from checker.coverage.situations import Situations
from checker.families import FAMILY_OF
from checker.observations import AppliedBlock
from checker.record.branches import ExecutedBlocks
from checker.record.final_blocks import FinalBlock, FinalChain, final_block
from checker.record.streams import BranchRecord, OldestWait
from cluster.outside.blocks import OutsideBlock
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import AppliedResult
from cluster.runtime.machines import MachineSlot
from cluster.scenario.plugins import checks_with
from cluster.timers.waits import OldestWaits
from cluster.verdict.facts import context_of, situations_of
from cluster.verdict.scripts import ScriptArrival
from cluster.workloads.effects import WorkloadEffects
from validators.execution import Executed, ExecutionLayer
from validators.execution.blocks import encode_block


@dataclass(slots=True)
class Monitor:
    """The checks of a run, with further data for its record and its figures.

    Attributes:
        context: The checks' facts about the run, with the final chain.
        suite: The checks.
        is_reopened: Whether the run goes on from a data directory that another process has filled.
        has_audits: Whether a replica's structures are audited after each reorganization, and not only at the end.
        roots: Node, height, digest and root of each block that an honest replica applied.
        last: The last block of each replica.
        exits: Of each honest replica how many timers fired, expired and were insolvent.
        oldest: Follows the timers that wait.
        effects: Counts what each workload does in final blocks.
        script: Whether the run's script, if it has one, has arrived.
        waits: Of each final block the oldest waits of its timers, by class of tip.
        executed: The executed blocks, final or not, that were not written yet.
        keep: Where they go as soon as one more is final; they are not held in memory.
        on_final: Gets each final block as soon as one replica has applied it.
        on_settled: Gets a height once all honest replicas have applied it.
        rules: Counts the coverage points of the rules that the run reaches.
        situations: Collects the situations of replicas that follow each other.
    """

    context: RunContext
    suite: Suite
    rules: RuleCoverage
    situations: Situations
    oldest: OldestWaits
    effects: WorkloadEffects
    script: ScriptArrival
    is_reopened: bool = False
    has_audits: bool = False
    roots: list[tuple[int, int, bytes, bytes]] = field(default_factory=list)
    waits: list[tuple[OldestWait, ...]] = field(default_factory=list)
    last: dict[int, AppliedResult] = field(default_factory=dict)
    exits: dict[int, list[int]] = field(default_factory=dict)
    executed: ExecutedBlocks = field(default_factory=ExecutedBlocks)
    keep: list[Callable[[BranchRecord], object]] = field(default_factory=list)
    on_final: Callable[[FinalBlock], object] = field(default=lambda _final: None)
    on_settled: Callable[[int], object] = field(default=lambda _height: None)
    reached: Counter[int] = field(default_factory=Counter)

    @property
    def chain(self) -> FinalChain:
        """The final blocks so far, as the first honest replica executed each of them."""
        return self.context.chain

    def is_honest(self, node: int) -> bool:
        """Return whether a replica is judged."""
        return node in self.context.honest

    def keep_executed(self) -> None:
        """Hand on the blocks that were executed since the last time."""
        for record in self.executed.take():
            for keep in self.keep:
                keep(record)

    def applied(self, node: int, executed: AppliedResult) -> None:
        """See a block that a replica applied."""
        header, root = executed.header, executed.root
        self.keep_executed()
        if not self.is_honest(node):
            self.last[node] = executed
            return
        applied = _as_applied(node, executed)
        self.suite.applied(applied)
        if header.height == len(self.chain) + 1:
            final = final_block(executed, applied.block)
            self.chain.append(final)
            self.on_final(final)
            self.waits.append(self._follow(executed))
            self.situations.finalize(executed.summary.waiting_live, executed.summary.waiting_dead)
        self.roots.append((node, header.height, executed.digest, root))
        if node in self.last and header.height <= self.last[node].header.height:
            # Applied before, by an earlier life whose disk has lost it.
            return
        self._settle(self.last[node].header.height if node in self.last else 0, header.height)
        self.last[node] = executed
        counts = self.exits.setdefault(node, [0, 0, 0])
        summary = executed.summary
        for index, count in enumerate((summary.fired, summary.expired, summary.insolvent)):
            counts[index] += count

    def _settle(self, before: int, height: int) -> None:
        """Note that an honest replica has finalized all heights above `before` up to one."""
        for each in range(before + 1, height + 1):
            self.reached[each] += 1
            if self.reached[each] == len(self.context.honest):
                del self.reached[each]
                self.on_settled(each)

    def _follow(self, executed: AppliedResult) -> tuple[OldestWait, ...]:
        """Follow the chain by one block; return the oldest waits after it, which an application does not tell."""
        if not isinstance(executed, Executed):
            payload = (sha256(each).digest() for each in executed.block.transactions)
            self.effects.include(dict.fromkeys((*payload, *executed.included)))
            return ()
        self.effects.add(executed)
        self.script.add(executed)
        self.rules.finalize(executed)
        header = executed.header
        return self.oldest.follow(executed, header.slot if self.context.rules.timebase == "slot" else header.height)

    def reorganized(self, slot: MachineSlot, layer: ExecutionLayer) -> None:
        """See a replica that has just dropped blocks or taken them back."""
        # An audit hashes the whole log again and is asked for; to rebuild what stands beside the state is 1 % of a run.
        if self.has_audits and layer.tables is not None:
            self.suite.reorganized(slot.node, layer.applied, layer.tables.audit())
        if slot.validator is not None and slot.validator.is_serving:
            self.suite.rederived(slot.node, slot.validator.derived(slot.disk.written(), len(self.context.disks)))


CALLS_NEEDED: Final = ("consensus", "durability")
"""The families that read the recorded calls of consensus engines."""


def make_monitor(cluster: Cluster, family: str = "") -> Monitor:
    """Return the monitor of a cluster that has not run yet, which knows what earlier processes watched.

    With the name of a family only its checks judge the run.
    """
    context = context_of(cluster)
    checks = checks_with(cluster.scenario.plugins, cluster.scenario.oracle)
    if family:
        checks = tuple(check for check in checks if FAMILY_OF.get(check.name, check.name) == family)
        if family not in CALLS_NEEDED:
            cluster.engine_calls = {}
    rules = RuleCoverage(
        timebase=context.rules.timebase,
        engine=context.engine,
        policies=context.rules.policies,
        has_application=cluster.applications is not None,
    )
    situations = situations_of(cluster.scenario)
    script = ScriptArrival(cluster)
    watchers = (*rules.handlers, situations.handlers, script.handlers)
    suite = Suite(context, checks, watchers)
    data = cluster.data
    for event in () if data is None else data.history():
        suite.observe_earlier(event)
    oldest = OldestWaits(context.genesis_values)
    effects = WorkloadEffects(cluster.scenario, cluster.submissions)
    return Monitor(
        context,
        suite,
        rules,
        situations,
        oldest,
        effects,
        script,
        is_reopened=context.is_reopened,
        has_audits=cluster.scenario.run.audit_reorgs,
    )


def _as_applied(node: int, executed: AppliedResult) -> AppliedBlock:
    header = executed.header
    return AppliedBlock(
        node=node,
        height=header.height,
        view=header.view,
        digest=executed.digest,
        root=executed.root,
        block=encode_block(executed.block),
        changes=executed.changes,
        receipts=executed.receipts,
        summary=executed.summary,
        phases=executed.phases,
        told=executed.events if isinstance(executed, OutsideBlock) else (),
        included=executed.included if isinstance(executed, OutsideBlock) else (),
    )
