"""All checks of one run: events and blocks go to the checks that ask for them, and results come back.

Events go to the checks that asked for their type. Each is decoded once, and only if a check asked for it: most events
of a run are sends and deliveries. Blocks go to every check that compares validators. The first application of a height
goes, with the state before it, to the checks that need each height once. The checks cover honest replicas only,
and not replicas that an upgrade of the application has left behind.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Final

from checker.checks import CHECKS
from checker.checks.check import Check
from checker.checks.context import RunContext, RunEnd
from checker.checks.majority import hear_the_oracle
from checker.checks.mirror import HAS_LANE_BUDGET, Mirror, SettledBlock
from checker.observations import AppliedBlock
from checker.results import CheckResult
from network.events import Event, EventRouter, Handlers
from network.types import SUPERVISOR
from scheduler import POLICIES, LaneConfig
from validators.derived import Derived
from validators.execution.blocks import Block, Header, decode_block
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import TimerReceipt, TransactionReceipt, decode_receipt
from validators.state import StateAudit

KEPT_BLOCKS: Final = 64
"""Heights whose block is kept, so that a validator that applies the same bytes needs no second decoding."""


class Suite:
    """The checks of one run, fed in the order of its log.

    Args:
        run: The facts that the checks share.
        checks: Their classes, in the order of the results; checks that the run cannot ask are left out.
        watchers: Other handlers of the same events, which decide nothing.
    """

    def __init__(
        self, run: RunContext, checks: Iterable[type[Check]] = CHECKS, watchers: Iterable[Handlers] = ()
    ) -> None:
        self._run = run
        self._honest = dict.fromkeys(run.honest)
        listed = tuple(checks)
        self.not_asked: dict[str, str] = {check.name: reason for check in listed if (reason := check.why_left_out(run))}
        """By name of each check without a result, why the run does not ask it; known when the run is over."""
        self.not_judged: tuple[str, ...] = ()
        """Names of the checks whose results are left out because a failure ended the run early."""
        self._checks = [run.check(check) for check in listed if check.name not in self.not_asked]
        # The world comes first: the checks ask it about the event that they see.
        self._router = EventRouter(run.world.handlers, *(check.handlers for check in self._checks), *watchers)
        others = (check.handlers for check in self._checks if check.sees_everybody)
        self._others = EventRouter(run.world.handlers, *others)
        self._earlier = EventRouter(*(check.handlers for check in self._checks if check.sees_earlier_events))
        upgrades = run.world.upgrades
        self._upgrades = EventRouter(upgrades) if upgrades else None
        self._mirror = Mirror(run.genesis_values)
        run.state = self._mirror.values
        self._last_view = 0
        self._first: dict[int, tuple[bytes, Block]] = {}

    @property
    def height(self) -> int:
        """The greatest height whose block has been checked."""
        return self._mirror.height

    def observe(self, event: Event) -> None:
        """Pass one event of the run to the checks that ask for its type, in the order of the log."""
        if self._upgrades is not None:
            # Before all others: a replica is not judged by the event by which it falls behind.
            self._upgrades.route(event)
        if self._is_judged(event.node) or event.node == SUPERVISOR:
            self._router.route(event)
        else:
            self._others.route(event)

    def _is_judged(self, node: int) -> bool:
        return node in self._honest and node not in self._run.world.left_behind

    def observe_earlier(self, event: Event) -> None:
        """Pass on one event that an earlier process watched."""
        if event.node in self._honest or event.node == SUPERVISOR:
            self._earlier.route(event)

    def applied(self, block: AppliedBlock) -> None:
        """See a block that a validator finalized and applied, in the order of the log."""
        if not self._is_judged(block.node):
            return
        try:
            decoded = self._decode(block)
        except InvalidEncodingError as error:
            for check in self._checks:
                check.malformed(block, str(error))
            return
        for check in self._checks:
            check.applied(block, decoded.header)
        if block.height == self._mirror.height + 1:
            self._settle(block, decoded)

    def reorganized(self, node: int, header: Header, audit: StateAudit) -> None:
        """Pass on the audit of a validator after a reorganization, at the block where its database stands."""
        if self._is_judged(node):
            for check in self._checks:
                check.reorganized(node, header, audit)

    def rederived(self, node: int, parts: Sequence[Derived]) -> None:
        """Pass on what a validator derives after a reorganization."""
        if self._is_judged(node):
            for check in self._checks:
                check.rederived(node, parts)

    def finish(
        self, end: RunEnd, during: Callable[[Check], AbstractContextManager[None]] = lambda _check: nullcontext()
    ) -> list[CheckResult]:
        """Return the results of the checks that the run asks, in their order.

        Args:
            end: The end of the run; parts of replicas that are not checked are dropped.
            during: Makes a context around the end of each check, for progress and timing.
        """
        self._run.end = replace(
            end,
            readbacks=[readback for readback in end.readbacks if self._is_judged(readback.node)],
            derived={node: parts for node, parts in end.derived.items() if self._is_judged(node)},
            unreadable={node: reason for node, reason in end.unreadable.items() if self._is_judged(node)},
        )
        results: list[CheckResult] = []
        for check in self._checks:
            if reason := check.not_asked():
                self.not_asked[check.name] = reason
                continue
            with during(check):
                results.append(check.finish())
        if end.failure:
            results = self._without_consequences(results)
        return hear_the_oracle(results, [check.name for check in self._checks if check.compares_replicas])

    def _without_consequences(self, results: Sequence[CheckResult]) -> list[CheckResult]:
        """Leave out results that a run lacks because a failure ended it early: its goal, later faults and effects.

        Without a failed check that can fail in this run all results stay: otherwise the run would seem to pass.
        """
        if all(result.is_unreached or result.status == "passed" for result in results):
            return list(results)
        self.not_judged = tuple(result.name for result in results if result.is_unreached)
        return [result for result in results if not result.is_unreached]

    def _decode(self, block: AppliedBlock) -> Block:
        """Decode a block, or return the first validator's block where the bytes are the same."""
        first = self._first.get(block.height)
        if first is not None and first[0] == block.block:
            return first[1]
        decoded = decode_block(block.block)
        if first is None:
            self._first[block.height] = (block.block, decoded)
            self._first.pop(block.height - KEPT_BLOCKS, None)
        return decoded

    def _settle(self, block: AppliedBlock, decoded: Block) -> None:
        header, rules = decoded.header, self._run.rules
        policy = POLICIES[rules.policy(block.height)]()
        own = self._mirror.parameters(policy)
        settled = SettledBlock(
            header=header,
            digest=block.digest,
            root=block.root,
            transactions=decoded.transactions,
            length_bytes=len(block.block),
            parent_view=self._last_view,
            now=header.slot if rules.timebase == "slot" else header.height,
            receipts=_decode_receipts(block.receipts) if "receipts" in self._run.offers else (),
            changes=block.changes,
            before=self._mirror.values,
            config=self._mirror.config(),
            summary=block.summary,
            lane=own if isinstance(own, LaneConfig) else None,
            guarantees=policy.guarantees(own),
            has_lane_budget=HAS_LANE_BUDGET.get(policy.name, policy.has_budget),
            phases=block.phases,
            own=own,
            told=block.told,
            included=block.included,
        )
        for check in self._checks:
            check.settle(settled)
        self._mirror.take(block.changes)
        self._last_view = header.view


def _decode_receipts(encoded_receipts: Sequence[bytes]) -> tuple[TransactionReceipt | TimerReceipt, ...]:
    """Decode receipts; a malformed receipt is left out, and the counts of other checks show that it is missing."""
    receipts: list[TransactionReceipt | TimerReceipt] = []
    for encoded in encoded_receipts:
        try:
            receipts.append(decode_receipt(encoded))
        except InvalidEncodingError:
            continue
    return tuple(receipts)
