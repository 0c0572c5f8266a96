"""The audit of a validator's journal, entry by entry: every vote must follow from the entries before it.

A journal holds votes, certificates and answers of certification in the order in which they came about, over all lives.
So each vote has before it all certificates that its validator held, and whether it was allowed follows from that
alone. Pruned entries are remembered here: none above the floor may go, and no vote may contradict a pruned one. A
vote that breaks a rule seldom harms alone: it takes others of the same kind. This check does not wait for them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import short
from checker.checks.rules.engine_rules import EngineRules, Proposed, Signed
from checker.checks.rules.registry import RULES
from checker.record.run_directory import read_branches
from checker.results import CheckResult
from network.events import Event, Handlers, read_event
from network.wire import Refused
from validators.consensus.interface import Finality, Record
from validators.consensus.registry import ENGINES
from validators.events import EvidenceReported, Reported


class Signatures:
    """The validators' signatures, each verified once; `public_keys` has 32 bytes for each validator, by index.

    A signer outside the validator set is a failure of the check `certificates`.
    """

    def __init__(self, public_keys: Sequence[bytes]) -> None:
        self._keys = tuple(VerifyKey(public_key) for public_key in public_keys)
        self._known: dict[tuple[int, bytes, bytes], bool] = {}

    def find_forged(self, signatures: Iterable[Signed]) -> int | None:
        """Return the signer of the first signature that is not that validator's."""
        return next((each.signer for each in signatures if not self._is_valid(*each)), None)

    def _is_valid(self, signer: int, signed: bytes, signature: bytes) -> bool:
        if signer >= len(self._keys):
            return True
        key = (signer, signed, signature)
        if key not in self._known:
            try:
                self._keys[signer].verify(signed, signature)
            except (BadSignatureError, ValueError):
                self._known[key] = False
            else:
                self._known[key] = True
        return self._known[key]


class JournalAudit:
    """One validator's journal, read from its beginning, and again whenever it is rewritten or reread.

    Entries read stay known: a vote against one that was pruned since is seen, and so is an entry that went too early.

    Args:
        node: The validator.
        engine: The rules of its consensus engine.
        signatures: Verifies the signatures of the entries.
        fail: Gets the validator, the view and the rule that an entry breaks.
        view_retention: Entries of this many views below the floor have to stay.
    """

    def __init__(
        self,
        node: int,
        engine: EngineRules,
        signatures: Signatures,
        fail: Callable[[int, int, str], None],
        *,
        view_retention: int,
    ) -> None:
        self._node = node
        self.engine: Final = engine
        self._view_of = ENGINES[engine.name].records.view_of
        self._rules = engine.journal(node)
        self._signatures = signatures
        self._fail = fail
        self.proposals: dict[Proposed, None] = {}
        """Proposals that its entries accept."""
        self.given_up_view = -1
        """The floor's view to which a start may go back: its disk may not show a pruning that a crash cut short."""
        self._view_retention = view_retention
        self._judged = 0
        self.forget()

    @property
    def checked(self) -> int:
        """The number of entries checked, each once."""
        return self._judged

    def forget(self) -> None:
        """Note the loss of the journal with all certificates; the validator's votes stay cast."""
        self._rules.forget()
        self._floor_view = 0
        self._unwatched = 0
        self._kept: list[Record] = []
        self._before: list[Record] = []
        self._expected: deque[Record] = deque()

    def begin_anew(self, floor: Finality | None = None, *, carried: int = 0) -> None:
        """Begin to read the journal again from its head and the entries left above its floor.

        Args:
            floor: The finality in its head, None in a journal that was never pruned.
            carried: Entries that the pruning left.
        """
        floor_view = 0 if floor is None else floor.view
        if self.given_up_view == floor_view < self._floor_view:
            # All that the pruning dropped is back, and what was appended after it has to be there as well.
            appended = [record for record in self._kept if record not in self._before]
            self._kept, self._floor_view = [*self._before, *appended], floor_view
        if floor is not None and not self._kept:
            # Written by a process that was not watched: the entries that led to the floor are gone.
            self._rules.begin_after(floor)
            self._unwatched = carried
        elif floor is not None and floor not in self._kept:
            self._fail_floor(floor.view, "a finality that it had not")
        if floor_view < self._floor_view:
            self._fail_floor(floor_view, f"below the one before, view {self._floor_view}")
        elif floor_view > self._floor_view and self._kept and not self._unwatched:
            self._judge_pruning(floor_view)
        if floor_view > self._floor_view:
            self._before = self._kept
        self._floor_view = floor_view
        lowest_view = floor_view - self._view_retention
        self._kept = [record for record in self._kept if self._view_of(record) >= lowest_view]
        self._expected = deque(self._kept)

    def read(self, records: Iterable[Record]) -> None:
        """Check the next entries, and take them in."""
        for record in records:
            if record in self._expected:
                self._recognize(record)
            else:
                self._add(record)

    def end_rereading(self) -> None:
        """Report the kept entries that the reread journal no longer has."""
        for lost in self._expected:
            self._lose(lost)
        self._expected.clear()

    def refuse(self, reason: str) -> None:
        """Report an entry that cannot be decoded."""
        self._fail(self._node, 0, f"validator {self._node} wrote what is neither vote nor certificate: {reason}")

    def refuse_head(self, reason: str) -> None:
        """Report a head that says something else than the entries behind it."""
        self._fail(self._node, self._floor_view, f"the head of validator {self._node}'s journal counts {reason}")

    def _recognize(self, record: Record) -> None:
        """Find an entry that was read before; known entries skipped on the way to it are lost."""
        while (expected := self._expected.popleft()) != record:
            self._lose(expected)

    def _lose(self, record: Record) -> None:
        kind, view, _ = self.engine.said_by(record)
        what = f"lost the {kind} of view {view} from its journal, whose floor is view {self._floor_view}"
        self._fail(self._node, view, f"validator {self._node} {what}")

    def _judge_pruning(self, floor_view: int) -> None:
        """Require that a pruning was worth it: the oldest entry was twice as far below the floor as entries stay."""
        oldest = self._view_of(self._kept[0])
        if oldest > floor_view - 2 * self._view_retention:
            self._fail_floor(floor_view, f"and was pruned although its oldest entry is of view {oldest}")

    def _fail_floor(self, view: int, what: str) -> None:
        self._fail(self._node, view, f"the journal of validator {self._node} has the floor view {view}, {what}")

    def _add(self, record: Record) -> None:
        self._judged += 1
        self._kept.append(record)
        proposal = self.engine.proposal_of(record)
        if proposal is not None:
            self.proposals[proposal] = None
        view = self._view_of(record)
        forger = self._signatures.find_forged(self.engine.signatures_of(record))
        if forger is not None:
            self._judge(record, f"{forger} has not signed that")
        is_watched = not self._unwatched or view > self._floor_view
        self._unwatched = max(self._unwatched - 1, 0)
        if is_watched:
            self._judge(record, self._rules.find_fault(record))
        self._rules.take_in(record)

    def _judge(self, record: Record, fault: str) -> None:
        if fault:
            kind, view, _ = self.engine.said_by(record)
            self._fail(self._node, view, f"validator {self._node} wrote a {kind} of view {view}: {fault}")


class VoteRules(Check):
    """Every entry of a journal follows from those before it, over all lives, and is signed by whom it names.

    The journals are read by `write-ahead`, as they become durable. Evidence that a validator reports is judged by its
    bytes alone: two votes that the accused has signed, of one view, and of kinds that exclude each other.
    """

    name = "vote-rules"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._signatures = Signatures(run.public_keys)
        self._audits: dict[int, JournalAudit] = {}
        self._faults: dict[tuple[int, str], None] = {}
        self._evidence = 0

    @property
    def handlers(self) -> Handlers:
        """Reports, of which some are evidence."""
        return {Reported: self.reported}

    def reported(self, event: Event, report: Reported) -> None:
        """Judge evidence, whoever is accused."""
        if report.activity not in RULES[self.run.engine].evidence:
            return
        pair = read_event(event, EvidenceReported)
        assert pair is not None, "the log has one kind for both reports"
        self._evidence += 1
        fault = self._find_evidence_fault(pair)
        if fault:
            what = f"{pair.activity} of validator {pair.signer} in view {pair.view}"
            self._fail(event.node, pair.view, f"validator {event.node} holds no evidence for {what}: {fault}")

    def audit(self, node: int) -> JournalAudit:
        """Return the audit of a validator's journal."""
        engine, view_retention = RULES[self.run.engine], self.run.view_retention
        audit = JournalAudit(node, engine, self._signatures, self._fail, view_retention=view_retention)
        return self._audits.setdefault(node, audit)

    def finish(self) -> CheckResult:
        """Return the result."""
        self.tally.compared = sum(audit.checked for audit in self._audits.values()) + self._evidence
        self._judge_parents()
        return self.tally.result(
            f"{self.tally.compared - self._evidence:,} votes and certificates in the journals, each allowed by those "
            f"before it{f'; {self._evidence:,} times evidence was sound' if self._evidence else ''}"
        )

    def _find_evidence_fault(self, pair: EvidenceReported) -> str:
        """Return why two votes do not convict their signer, or nothing."""
        rules = RULES[self.run.engine]
        try:
            found = [rules.read_vote(pair.first), rules.read_vote(pair.second)]
        except Refused as error:
            return f"it cannot be read: {error}"
        votes = [vote for vote in found if vote is not None]
        said = [rules.said_by(vote) for vote in votes]
        kinds = tuple(sorted(each.kind for each in said))
        if kinds != rules.evidence[pair.activity]:
            return f"it is of {len(votes)} votes: {', '.join(kinds)}"
        if any(each.view != pair.view for each in said):
            return f"they are of views {said[0].view} and {said[1].view}"
        signed = [each for vote in votes for each in rules.signatures_of(vote)]
        if any(each.signer != pair.signer for each in signed) or self._signatures.find_forged(signed) is not None:
            return "it has not signed both"
        return "they are the same vote" if signed[0].signed == signed[1].signed else ""

    def _judge_parents(self) -> None:
        """Require that a block stands on the block of the view that its proposal names."""
        record, rules = self.run.end.record, self.run.rules
        if record is None:
            return
        parents = {branch.digest: branch.parent for _, branch in read_branches(record)}
        accepted: dict[int, dict[bytes, None]] = {0: {rules.genesis_digest: None}}
        for audit in self._audits.values():
            for view, digest, _ in audit.proposals:
                accepted.setdefault(view, {})[digest] = None
        for node, audit in self._audits.items():
            for view, digest, parent_view in audit.proposals:
                # Of a block that nobody executed nothing is known, and of a view below what was watched neither.
                parent, named = parents.get(digest), accepted.get(parent_view)
                if parent is not None and named is not None and parent not in named:
                    self._fail(
                        node,
                        view,
                        f"validator {node} accepted the block {short(digest)} of view {view}, which stands on "
                        f"{short(parent)} and not on the block of view {parent_view} that its proposal names",
                    )

    def _fail(self, node: int, view: int, what: str) -> None:
        # A start reads the journal again.
        if (node, what) not in self._faults:
            self._faults[node, what] = None
            self.tally.fail(what, validator=node, view=view)
