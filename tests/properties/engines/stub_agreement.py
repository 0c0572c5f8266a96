"""Engines agree on the names of blocks while links are cut, messages are lost and power fails.

A run has a few views in each half of its disturbed time, because most of it goes into blocks. Here a hundredth of that
is enough for as many: every entry of every journal is judged by the rules of `vote-rules`, every view by those of
`leaders`, and refusals, memory and finality as in a run. In two of three examples one validator has a twin, which signs
with the same key. An example in four is calm, and no view may be given up in it.
"""

from typing import Final

from checker.checks.observations import short
from checker.checks.planned import NOT_PLANNED
from checker.checks.rules.engine_rules import EngineRules
from network.types import MILLISECOND_US
from tests.properties.draws import Asked, Draw, Property
from tests.properties.engines.configs import CONFIGS
from tests.properties.engines.stub_chain import GENESIS
from tests.properties.engines.stub_node import StageWatch, StubNode
from tests.properties.engines.stub_stage import StubStage
from validators.consensus.interface import STALE, EngineMessage, Finality, HeaderFacts, Record, ReportActivity
from validators.consensus.kind import EngineKind
from validators.events import Entered

_SECOND_US: Final = 1_000 * MILLISECOND_US
_PHASES: Final = 10
_CALM_PHASES: Final = 3
_PHASE_US: Final = 600 * MILLISECOND_US
_CALM_US: Final = 40 * _SECOND_US
_CALM_EVERY: Final = 4
_FAULTS_MAX: Final = 3


def stub_agreement(kind: EngineKind, rules: EngineRules) -> Property:
    """Return the property of engines of one kind."""

    def check_bare_agreement(draw: Draw) -> Asked:
        validators = 4 + draw(2)
        is_calm = draw(_CALM_EVERY) == 0
        twin = None if is_calm or draw(3) == 0 else draw(validators)
        judge = _Judge(kind, rules, validators, twin=twin, is_calm=is_calm)
        configs = CONFIGS[kind.name]
        config = configs[draw(len(configs))]
        numbers = [*range(validators), *([] if twin is None else [twin])]
        twins = _Twins(draw)
        stage = judge.stage = twins.stage = StubStage(
            kind, config, numbers=numbers, draw=draw, watch_of=lambda number: twins if number == twin else judge
        )
        stage.start()
        for _ in range(_CALM_PHASES if is_calm else _PHASES):
            if not is_calm:
                _disturb(stage, twin, draw)
            stage.run_until(stage.now_us + _PHASE_US)
            judge.look_at_memory()
        _calm(stage)
        goal = 1 + max(stage.chain.height_of(node.final) for node in judge.honest())
        stage.run_until(stage.now_us + _CALM_US, lambda: judge.is_final(goal))
        judge.look_at_memory()
        if not judge.is_final(goal):
            judge.fault(f"finality has not come back: no block of height {goal} within {_CALM_US // _SECOND_US} s")
        yield from ((f"engines that agree on names alone, {fault}", False) for fault in judge.faults[:_FAULTS_MAX])
        yield "engines that agree on names alone do nothing", judge.compared > 0

    return check_bare_agreement


def _disturb(stage: StubStage, twin: int | None, draw: Draw) -> None:
    """Draw what is wrong in one phase: cuts, losses, power that fails; little of it in some, and all in others."""
    stage.loss_percent = (0, 0, 5, 20)[draw(4)]
    stage.crash_every = (0, 0, 40, 12)[draw(4)]
    stage.slow_every = (0, 16)[draw(2)]
    stage.cut = dict.fromkeys(_draw_cut(len(stage.nodes), twin, draw))
    if draw(6) == 0:
        node = stage.nodes[draw(len(stage.nodes))]
        stage.crash(node)
        stage.post(draw(_PHASE_US), lambda: stage.restart(node))


def _draw_cut(count: int, twin: int | None, draw: Draw) -> list[tuple[int, int]]:
    """Return links over which nothing comes, by places; the second one of a key stands in the last place."""
    places = range(count)
    lone, bound = draw(count), 1 + draw(count - 1)
    others = [place for place in places if place != lone]
    halves = [draw(2) for _ in places]
    match draw(10):
        case 0:
            return [(lone, other) for other in others]
        case 1:
            return [(other, lone) for other in others]
        case 2:
            return [(one, other) for one in places for other in places if (one < bound) != (other < bound)]
        case 3:
            return [(draw(count), draw(count)) for _ in places]
        case 4 | 5 | 6 if twin is not None:
            # One of a key talks to one half and one to the other, and the halves to each other.
            deaf = [((twin, count - 1)[halves[place]], place) for place in places if place not in {twin, count - 1}]
            return [*deaf, *((place, one) for one, place in deaf)]
    return []


def _calm(stage: StubStage) -> None:
    stage.loss_percent = stage.crash_every = stage.slow_every = 0
    stage.cut = {}


class _Twins(StageWatch):
    """Two of one key: every third block of theirs is one that nobody finds valid."""

    def __init__(self, draw: Draw) -> None:
        self.stage: StubStage
        self._draw = draw

    def built(self, _node: StubNode, facts: HeaderFacts) -> None:
        """Spoil a block, or not."""
        if self._draw(3) == 0:
            self.stage.chain.bad[facts.digest] = None


class _Judge(StageWatch):
    """Judges what engines do, by the rules of their kind."""

    def __init__(
        self, kind: EngineKind, rules: EngineRules, validators: int, *, twin: int | None, is_calm: bool
    ) -> None:
        self.stage: StubStage
        self.faults: list[str] = []
        self.compared = 0
        self._kind = kind
        self._rules = rules
        self._validators = validators
        self._twin = twin
        self._is_calm = is_calm
        self._journals = [rules.journal(number) for number in range(validators)]
        self._relayed: dict[tuple[int, int], bytes] = {}
        self._final = GENESIS

    def honest(self) -> list[StubNode]:
        """Return the validators that have no twin."""
        return [node for node in self.stage.nodes if node.number != self._twin]

    def fault(self, what: str) -> None:
        """Note a fault."""
        self.faults.append(f"after {self.stage.now_us // MILLISECOND_US:,} ms {what}")

    def is_final(self, height: int) -> bool:
        """Return whether every validator has a final block as high as that."""
        return all(node.is_on and self.stage.chain.height_of(node.final) >= height for node in self.honest())

    def look_at_memory(self) -> None:
        """Compare what engines remember with what their journals lead to."""
        for node in self.honest():
            if not node.is_on or not node.view:
                continue
            derived = node.engine.derived(tuple(node.records), node.floor)
            for name in dict.fromkeys((*derived.kept, *derived.rebuilt)):
                if derived.kept.get(name) != derived.rebuilt.get(name):
                    kept, rebuilt = derived.kept.get(name), derived.rebuilt.get(name)
                    self.fault(
                        f"validator {node.number} keeps {name} as {kept!r}, and its journal leads to {rebuilt!r}"
                    )
            for size in derived.sizes:
                if size.found > size.bound:
                    self.fault(f"validator {node.number} keeps {size.found} {size.what}, {size.bound} at most")

    def appended(self, node: StubNode, record: Record) -> None:
        """Judge an entry by those before it."""
        self.compared += 1
        journal = self._journals[node.number]
        if found := journal.find_fault(record):
            said = self._rules.said_by(record)
            self.fault(f"validator {node.number} wrote a {said.kind} of view {said.view}: {found}")
        journal.take_in(record)

    def lost(self, node: StubNode) -> None:
        """Forget what was not durable: it never left."""
        journal = self._journals[node.number] = self._rules.journal(node.number)
        for record in node.history:
            journal.take_in(record)

    def booted(self, node: StubNode) -> None:
        """Compare the view that a journal leads to, and forget own blocks of views that it does not know."""
        view = node.engine.position.view
        known = [*node.records] if node.floor is None else [node.floor, *node.records]
        expected = self._rules.find_next_view(known)
        if view != expected:
            self.fault(f"validator {node.number} begins in view {view}; its journal leads to {expected}")
        # An empty journal knows of no view, the first one included.
        last_view = view if known else 0
        self._relayed = {
            key: digest for key, digest in self._relayed.items() if key[0] != node.number or key[1] <= last_view
        }

    def entered(self, node: StubNode, entered: Entered) -> None:
        """Compare the leader of a view."""
        expected = self._rules.leader_of(entered.view, self._validators, NOT_PLANNED)
        if entered.leader != expected:
            what = f"takes {entered.leader} for the leader of view {entered.view}, which is {expected}"
            self.fault(f"validator {node.number} {what}")

    def relayed(self, node: StubNode, facts: HeaderFacts) -> None:
        """Require one block a view, of its leader."""
        first = self._relayed.setdefault((node.number, facts.view), facts.digest)
        if first != facts.digest:
            self.fault(f"validator {node.number} proposed two blocks in view {facts.view}")
        if self._rules.leader_of(facts.view, self._validators, NOT_PLANNED) != node.number:
            self.fault(f"validator {node.number} proposed in view {facts.view}, which it does not lead")

    def sent(self, node: StubNode, message: EngineMessage) -> None:
        """Judge an answer by the journal of who gives it."""
        if found := self._rules.find_answer_fault(node.records, message):
            self.fault(f"validator {node.number} {found}")

    def refused(self, node: StubNode, sender: int, what: str, reason: str) -> None:
        """Require that nothing sound is refused but what comes late."""
        if reason != STALE and sender != self._twin:
            self.fault(f"validator {node.number} refused a {what} of validator {sender}: {reason}")

    def finalized(self, node: StubNode, finality: Finality) -> None:
        """Require one chain of final blocks."""
        self.compared += 1
        low, high = sorted((self._final, finality.digest), key=self.stage.chain.height_of)
        if low not in self.stage.chain.path_to(high):
            self.fault(f"validator {node.number} made {short(finality.digest)} final, beside {short(self._final)}")
        self._final = high
        scheme = self.stage.schemes[node.number]
        if not self._kind.verify_finality(scheme, finality, self._validators, self.stage.config):
            self.fault(f"validator {node.number} has no proof of the final block of view {finality.view}")

    def reported(self, node: StubNode, report: ReportActivity) -> None:
        """Require that nobody is convicted, and in calm that no view is given up."""
        if report.evidence and report.node != self._twin:
            self.fault(f"validator {node.number} holds {report.activity} against validator {report.node}")
        elif self._is_calm:
            self.fault(f"in calm, validator {node.number} reports {report.activity} in view {report.view}")
