"""All checks over one run: the catalogue, and the object that the run feeds.

The suite sorts what it is fed. Events go to the checks that asked for their kind, and nothing is decoded for others:
most of a run's events are sends and deliveries, which no check reads. Blocks go to every check that compares
validators; the first application of a height goes, with the state before it, to the checks that need each height once.
Only honest validators are judged.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, final

from checker.checks.accounting import StormAccounting
from checker.checks.agreement import Agreement, EqualRoots, WriteSets
from checker.checks.block_times import BlockTimes
from checker.checks.budgets import Budgets
from checker.checks.lane import LaneBooks
from checker.checks.liveness import FinalityRegained, judge_faults
from checker.checks.messages import MessageDelivery
from checker.checks.observations import NO_DISK_FAULTS, AppliedBlock, ChainRules, DiskFaults, FaultOutcome, ReadBack
from checker.checks.phases import PhaseLedger
from checker.checks.proofs import Proofs
from checker.checks.readback import LiveValues, judge_cold_replay
from checker.checks.structures import Structures
from checker.checks.supply import Supply
from checker.checks.timers import TimerDelivery, TimerFigures
from checker.checks.votes import Certificates, NoDoubleVote
from checker.mirror import BlockCheck, Mirror, SettledBlock
from checker.record.cold_replay import ColdReplay
from checker.results import CheckResult, ExitClass
from network.events import Event
from network.types import SUPERVISOR
from scheduler import FifoFree
from validators.execution.blocks import Header, decode_block
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import TimerReceipt, TransactionReceipt, decode_receipt
from validators.state import StateAudit


class CatalogueEntry(NamedTuple):
    """A check: its name, what its failure means, and what it demands in one sentence."""

    name: str
    exit_class: ExitClass
    description: str


CATALOGUE: Final = (
    CatalogueEntry(
        "agreement",
        "safety",
        "At most one block is final at each height, each linked to the one below, and no validator goes back.",
    ),
    CatalogueEntry(
        "equal-roots", "safety", "Equal blocks lead to equal state roots on every validator and every road."
    ),
    CatalogueEntry(
        "write-sets", "safety", "All validators apply the same writes and receipts at a height, to the byte."
    ),
    CatalogueEntry("no-double-vote", "safety", "No honest validator ever sends two votes that contradict each other."),
    CatalogueEntry(
        "certificates",
        "safety",
        "Certificates have a quorum of real signers, contradict no other, and cover every skipped view.",
    ),
    CatalogueEntry(
        "block-times",
        "safety",
        "Each block is later than its parent, in its timestamp's slot, and not far ahead of the clocks of its voters.",
    ),
    CatalogueEntry("budgets", "safety", "No block spends more than its limits and the budgets of the two timer lanes."),
    CatalogueEntry(
        "timer-delivery", "safety", "Each timer is scheduled once, never fires early, and leaves by exactly one exit."
    ),
    CatalogueEntry(
        "phases",
        "safety",
        "Each phase of a block accounts for all that it found: done, or left with a reason.",
    ),
    CatalogueEntry(
        "storm-accounting",
        "safety",
        "Each block's clean-up is what its budget predicts, and live timers wait for the execution lane alone.",
    ),
    CatalogueEntry(
        "lane-books",
        "safety",
        "The timer lane's basefee, burns, tips and fairness sums follow from what fired.",
    ),
    CatalogueEntry(
        "message-delivery",
        "safety",
        "Messages are delivered in the order in which they were sent, once, after the timers, within their budget.",
    ),
    CatalogueEntry("supply", "safety", "After every block balances and burned units add up to the supply of genesis."),
    CatalogueEntry(
        "live-values",
        "safety",
        "At the end each validator's values in memory are those of its log on disk and of the cold replay.",
    ),
    CatalogueEntry(
        "operation-log",
        "safety",
        "At the end each validator's operations in memory give its final header's root and are those on its disk.",
    ),
    CatalogueEntry(
        "bitmap",
        "safety",
        "At the end each validator's activity bitmap and grafted tree are those that its operations lead to.",
    ),
    CatalogueEntry(
        "indexes",
        "safety",
        "At the end each validator's locations, flags, tree, heights and waiting timers are those of its operations.",
    ),
    CatalogueEntry(
        "proofs",
        "safety",
        "At the end each validator can prove what its final header's root covers, and nothing falsified passes.",
    ),
    CatalogueEntry(
        "cold-replay",
        "safety",
        "A fresh process comes from genesis and the final blocks alone to the same root at every height.",
    ),
    CatalogueEntry(
        "finality-regained",
        "liveness",
        "After the last fault every live validator finalizes a new block within a stated number of views.",
    ),
    CatalogueEntry(
        "faults-effective",
        "inconclusive",
        "Every fault that is required, or enabled and may not be idle, touched the run.",
    ),
)
"""Every check of this suite, in the order of its results."""

OTHER_CHECKS: Final = (
    "leaders",
    "inclusion",
    "oracle",
    "write-ahead",
    "vote-rules",
    "storm",
    "reorg",
    "promised-limits",
)
"""Checks of a run that can fail and do not stand in this suite's catalogue."""

FALLIBLE: Final = (*(entry.name for entry in CATALOGUE if entry.exit_class != "inconclusive"), *OTHER_CHECKS)
"""Every check of a run that can fail: what a scenario may expect to."""

KEPT_BLOCKS: Final = 64
"""Heights whose block is kept, so that a validator that applies the same bytes needs no second decoding."""

_Receipts = tuple[TransactionReceipt | TimerReceipt, ...]
_Handler = Callable[[Event], None]


@final
class Suite:
    """The checks of one run.

    Args:
        genesis_values: The state before the first block, state key to encoded value.
        rules: What else is known before it.
        validators: How many validators there are.
        honest: Those that are judged.
        max_skew_ms: How far a block may be ahead of the clock of whoever notarizes it.
        requires: Names of faults that must take effect; an enabled one that may not be idle must as well.
        finality_views_max: Views within which finality must come back.
        disk_faults: Validators whose disks the plan touches.
        still_max_us: How long finality may stand still, None where the plan may stop it.
        retold_height: Up to here the chain was made by another process, and is read from its disks.
    """

    def __init__(
        self,
        *,
        genesis_values: Mapping[bytes, bytes],
        rules: ChainRules,
        validators: int,
        honest: Collection[int],
        max_skew_ms: int,
        requires: Sequence[str] = (),
        finality_views_max: int = 20,
        disk_faults: DiskFaults = NO_DISK_FAULTS,
        still_max_us: int | None = None,
        retold_height: int = 0,
    ) -> None:
        self._rules = rules
        self._honest = dict.fromkeys(sorted(honest))
        self._requires = tuple(requires)
        self._mirror = Mirror(genesis_values)
        self._roots = {0: rules.genesis_root}
        self._last_view = 0
        self._first: dict[int, tuple[bytes, Header]] = {}
        self._agreement = Agreement(rules, disk_faults, judged=len(self._honest))
        self._equal_roots = EqualRoots(rules)
        self._write_sets = WriteSets(honest)
        self._votes = NoDoubleVote(honest)
        self._certificates = Certificates(validators=validators, honest=honest, retold_height=retold_height)
        self._block_times = BlockTimes(rules, max_skew_ms=max_skew_ms, retold_height=retold_height)
        self._budgets = Budgets(rules)
        self._timers = TimerDelivery(rules, genesis_values)
        self._phases = PhaseLedger(self._timers)
        self._accounting = StormAccounting(self._timers)
        self._lane_books = LaneBooks(rules)
        self._messages = MessageDelivery(rules, genesis_values)
        self._supply = Supply(genesis_values)
        self._live_values = LiveValues(genesis_values, disk_faults)
        self._structures = Structures()
        self._proofs = Proofs()
        self._finality = FinalityRegained(
            validators=validators,
            honest=honest,
            views_max=finality_views_max,
            disk_faults=disk_faults,
            still_max_us=still_max_us,
        )
        # The ledger and the accounting read from the timers' check what it made of the same block.
        self._block_checks: tuple[BlockCheck, ...] = (
            self._certificates,
            self._budgets,
            self._timers,
            self._phases,
            self._accounting,
            self._lane_books,
            self._messages,
            self._supply,
        )
        self._handlers = self._subscribe()

    @property
    def honest(self) -> tuple[int, ...]:
        """Those that are judged, ascending."""
        return tuple(self._honest)

    @property
    def state(self) -> Mapping[bytes, bytes]:
        """The state after that block, state key to encoded value."""
        return self._mirror.values

    @property
    def height(self) -> int:
        """The greatest height whose block has been judged."""
        return self._mirror.height

    @property
    def figures(self) -> TimerFigures:
        """All timers of the chain so far, in counts."""
        return self._timers.figures()

    def observe(self, event: Event) -> None:
        """See one event of the run, in the order of the log."""
        handlers = self._handlers.get(event.kind)
        if handlers is not None and (event.node in self._honest or event.node == SUPERVISOR):
            for handle in handlers:
                handle(event)

    def applied(self, block: AppliedBlock) -> None:
        """See a block that a validator finalized and applied, in the order of the log."""
        if block.node not in self._honest:
            return
        try:
            header = self._header_of(block)
        except InvalidEncodingError as error:
            self._agreement.refuse(block, str(error))
            return
        self._agreement.applied(block, header)
        self._equal_roots.applied(block, header)
        self._write_sets.applied(block, header)
        if block.height == self._mirror.height + 1:
            self._settle(block, header)

    def reorganized(self, node: int, header: Header, audit: StateAudit) -> None:
        """See what became of a validator's structures in a reorganization, at the block where its database stands."""
        if node in self._honest:
            self._structures.reorganized(node, header.height, header.state_root, audit)

    def finish(
        self,
        *,
        run_reason: str,
        readbacks: Sequence[ReadBack],
        cold: ColdReplay | None,
        faults: Sequence[FaultOutcome] = (),
        unreadable: Mapping[int, str] = MappingProxyType({}),
    ) -> list[CheckResult]:
        """Make the checks of the end and return all results in the order of the catalogue.

        Args:
            run_reason: What ended the run: `stopped` is its own goal.
            readbacks: What each validator that still runs holds.
            cold: The cold replay, or None where none was made.
            faults: What each fault of the plan came to.
            unreadable: Validators whose memory could not be read, and why.
        """
        for node, reason in unreadable.items():
            if node in self._honest:
                self._live_values.refuse(node, reason)
        self._timers.finish(self._mirror.values)
        for readback in readbacks:
            if readback.node in self._honest:
                self._live_values.compare(readback, None if cold is None else cold.values.get(readback.height))
                self._structures.compare(readback)
                self._proofs.compare(readback)
        results = [
            self._agreement.result(),
            self._equal_roots.result(),
            self._write_sets.result(),
            self._votes.result(),
            self._certificates.result(),
            self._block_times.result(),
            self._budgets.result(),
            self._timers.result(),
            self._phases.result(),
            self._accounting.result(),
            self._lane_books.result(),
            self._messages.result(),
            self._supply.result(),
            self._live_values.result(),
            *self._structures.results(),
            self._proofs.result(),
            judge_cold_replay(cold, self._roots),
            self._finality.finish(run_reason),
        ]
        effective = judge_faults(self._requires, faults)
        return results if effective is None else [*results, effective]

    def _subscribe(self) -> dict[str, tuple[_Handler, ...]]:
        finality = self._finality
        return {
            "boot": (self._agreement.boot, self._equal_roots.boot, finality.boot),
            "vote": (self._votes.vote, self._certificates.vote, self._block_times.vote, finality.vote),
            "certificate": (self._certificates.certificate,),
            "uncertified": (self._certificates.uncertified,),
            "enter": (finality.entered, self._block_times.entered),
            "report": (self._votes.report,),
            "executed": (self._equal_roots.executed,),
            "finalized": (self._agreement.finalized, self._equal_roots.finalized, finality.finalized),
            "observer": (self._votes.observer, finality.observer),
            "damage": (self._agreement.damage,),
            "snapshot-joined": (self._agreement.snapshot_joined, self._equal_roots.snapshot_joined),
            "halted": (self._agreement.halted, finality.halted),
            "clock": (self._block_times.clock,),
            "crash": (finality.crash,),
            "restart": (finality.restart,),
            "healed": (finality.healed,),
        }

    def _header_of(self, block: AppliedBlock) -> Header:
        """Decode a block, or take the header from the first validator's where the bytes are the same."""
        first = self._first.get(block.height)
        if first is not None and first[0] == block.block:
            return first[1]
        decoded = decode_block(block.block)
        if first is None:
            self._first[block.height] = (block.block, decoded.header)
            self._first.pop(block.height - KEPT_BLOCKS, None)
        return decoded.header

    def _settle(self, block: AppliedBlock, header: Header) -> None:
        now = header.slot if self._rules.timebase == "slot" else header.height
        settled = SettledBlock(
            height=block.height,
            view=header.view,
            parent_view=self._last_view,
            now=now,
            receipts=_decode_receipts(block.receipts),
            changes=block.changes,
            before=self._mirror.values,
            config=self._mirror.config(),
            summary=block.summary,
            lane=self._mirror.lane_config() if self._rules.is_in_lane(block.height) else None,
            has_lane_budget=self._rules.policy(block.height) != FifoFree.name,
            phases=block.phases,
        )
        self._block_times.settle(header, block.digest)
        for check in self._block_checks:
            check.settle(settled)
        self._mirror.take(block.changes)
        self._roots[block.height] = block.root
        self._last_view = header.view


def _decode_receipts(encoded_receipts: Sequence[bytes]) -> _Receipts:
    """Decode receipts; one that is none is left out, and the counts of the other checks will miss it."""
    receipts: list[TransactionReceipt | TimerReceipt] = []
    for encoded in encoded_receipts:
        try:
            receipts.append(decode_receipt(encoded))
        except InvalidEncodingError:
            continue
    return tuple(receipts)
