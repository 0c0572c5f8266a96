"""The answers in the calls of a run, by block, and the first block with two different answers."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, NamedTuple

from cluster.outside.answers import AnswerFields, Execution
from cluster.outside.blocks import ROOT_NAMES, canonical_event, receipts_of
from cluster.outside.conversation import InvalidPayload, read_outcome
from cluster.outside.frames import FrameError, Framing
from cluster.outside.hosting.calls import NO_ANSWER, CallStep, read_content

GENESIS: Final = b"genesis"
"""The id of genesis, which has none when it is made."""

ID_BYTES: Final = 32


class ToldOutcome(NamedTuple):
    """The outcome of a block in an answer; an answer about a kept block has the root alone."""

    root: bytes = b""
    events: tuple[Mapping[str, Any], ...] = ()
    receipts: tuple[bytes, ...] | None = None
    invalid: str = ""

    def equals(self, other: "ToldOutcome") -> bool:
        """Return whether two outcomes agree as far as both are known."""
        is_same = (self.root, self.invalid) == (other.root, other.invalid)
        return is_same and (None in (self.receipts, other.receipts) or self.receipts == other.receipts)

    @property
    def encoded(self) -> tuple[bytes, ...]:
        """The events in their only encoding."""
        return tuple(map(canonical_event, self.events))


class GivenAnswer(NamedTuple):
    """An answer about a block.

    Attributes:
        node: The replica.
        at: The place of the request among the steps of the replica.
        call: The call.
        outcome: The outcome.
        adopted: The place of the request that tells the id of a proposed block, or `at`.
    """

    node: int
    at: int
    call: str
    outcome: ToldOutcome
    adopted: int


class AskedBlock(NamedTuple):
    """A block in the form of an `execute` request of any framing: digests and transactions are bytes."""

    id: bytes
    parent: bytes
    header: Mapping[str, Any]
    payload: Sequence[bytes]

    @property
    def height(self) -> int:
        """The height of the block."""
        return int(self.header["height"])


@dataclass(slots=True)
class ReadCalls:
    """The calls of a run by what they say.

    Attributes:
        contents: Requests and answers by their places.
        framings: By build, the form of the frames.
        steps: By replica, the steps.
        answers: By block, the answers in the order of replicas and steps.
        blocks: By id, the blocks.
        genesis: The id of genesis; empty until it was told.
        final: The finalized blocks.
    """

    contents: Sequence[bytes]
    framings: Mapping[str, Framing]
    steps: Mapping[int, Sequence[CallStep]]
    answers: dict[bytes, list[GivenAnswer]] = field(default_factory=dict)
    blocks: dict[bytes, AskedBlock] = field(default_factory=dict)
    genesis: bytes = b""
    final: dict[bytes, None] = field(default_factory=dict)
    _builds: dict[tuple[int, int], str] = field(default_factory=dict)
    _framing_of: dict[int, Framing] = field(default_factory=dict)
    """By place of a content, the form of its frame."""

    def __post_init__(self) -> None:
        for node, steps in self.steps.items():
            for step in steps:
                if step.what == "begin":
                    self._builds[node, step.process] = step.build
                elif step.what == "call":
                    framing = self.framings[self._builds[node, step.process]]
                    self._framing_of[step.request] = self._framing_of[step.answer] = framing

    def build_of(self, answer: GivenAnswer) -> str:
        """Return the build that gave an answer."""
        return self._builds[answer.node, self.steps[answer.node][answer.at].process]

    def read(self, left_out: Collection[int] = ()) -> "ReadCalls":
        """Read the calls of all replicas except some; return this object."""
        # Replicas first: the processes beside the run have negative numbers.
        for node in sorted(self.steps, key=lambda node: (node < 0, abs(node))):
            if node not in left_out:
                self._read(node)
        return self

    def height_of(self, id_: bytes) -> int:
        """Return the height of a block; 0 for genesis, -1 for an unknown block."""
        if id_ in (GENESIS, self.genesis):
            return 0
        return self.blocks[id_].height if id_ in self.blocks else -1

    def path_to(self, id_: bytes) -> list[AskedBlock]:
        """Return the known blocks from above genesis up to a block."""
        path: list[AskedBlock] = []
        while id_ in self.blocks:
            path.append(self.blocks[id_])
            id_ = path[-1].parent
        return path[::-1]

    def request(self, step: CallStep) -> dict[str, Any]:
        """Return the request of a step."""
        return read_content(self._framing_of[step.request], self.contents[step.request])

    def reply(self, step: CallStep) -> dict[str, Any]:
        """Return the answer of a step."""
        return read_content(self._framing_of[step.answer], self.contents[step.answer])

    def id_in(self, request: Mapping[str, Any], name: str = "id") -> bytes:
        """Return an id in a request; empty if it has none."""
        return as_bytes(request[name]) if name in request else b""

    def outcome_in(self, call: str, encoded: bytes, framing: Framing) -> ToldOutcome | None:
        """Return the outcome in an answer; None if it has none."""
        answer = AnswerFields(read_content(framing, encoded), framing)
        if call in {"restore", "hello"}:
            return ToldOutcome(answer.byte_string("root", ID_BYTES)) if answer.has("root") else None
        outcome = read_outcome(answer)
        if isinstance(outcome, InvalidPayload):
            return ToldOutcome(invalid=outcome.reason, receipts=())
        assert isinstance(outcome, Execution)
        return ToldOutcome(outcome.root, outcome.events, receipts_of(outcome))

    def _read(self, node: int) -> None:
        proposed: dict[int, tuple[int, CallStep]] = {}
        for at, step in enumerate(self.steps[node]):
            if step.what != "call" or step.answer == NO_ANSWER:
                continue
            call = step.names[0]
            if call in {"propose", "genesis"}:
                proposed[step.process] = at, step
            if call == "genesis":
                self._add(GENESIS, step, GivenAnswer(node, at, call, ToldOutcome(), at))
            elif call in {"execute", "restore", "hello"}:
                self._read_answer(node, at, step)
            elif call == "adopted" and step.process in proposed:
                self._adopt(node, at, self.request(step), proposed.pop(step.process))
            elif call == "finalize":
                self.final[self.id_in(self.request(step))] = None

    def _read_answer(self, node: int, at: int, step: CallStep) -> None:
        call, request = step.names[0], self.request(step)
        if call == "execute":
            id_, parent = self.id_in(request), self.id_in(request, "parent")
            self.blocks.setdefault(id_, _block_of(id_, parent, request["header"], request["payload"]))
        elif call == "hello":
            request = self.reply(step)
            if not request.get("height"):
                return
        with suppress(FrameError):
            self._add(self.id_in(request), step, GivenAnswer(node, at, call, ToldOutcome(), at))

    def _adopt(self, node: int, at: int, request: Mapping[str, Any], proposed: tuple[int, CallStep]) -> None:
        """Note the id of the block that was proposed, or of genesis."""
        made_at, made = proposed
        id_ = self.id_in(request)
        if request["header"]["height"] == 0:
            self.genesis = self.genesis or id_
            mine = self.answers[GENESIS]
            mine[-1] = mine[-1]._replace(adopted=at)
            return
        parent, payload = self.id_in(self.request(made), "parent"), self.reply(made)["payload"]
        self.blocks.setdefault(id_, _block_of(id_, parent, request["header"], payload))
        self._add(id_, made, GivenAnswer(node, made_at, made.names[0], ToldOutcome(), at))

    def _add(self, id_: bytes, step: CallStep, answer: GivenAnswer) -> None:
        """Add an answer with the outcome that a step has, if it has one."""
        try:
            outcome = self.outcome_in(answer.call, self.contents[step.answer], self._framing_of[step.answer])
        except FrameError:
            # Its process was lost over the answer, which says nothing of the block.
            return
        if outcome is not None:
            self.answers.setdefault(id_, []).append(answer._replace(outcome=outcome))


def as_bytes(value: object) -> bytes:
    """Return the bytes of a value in a recorded frame: hexadecimal text in JSON."""
    assert isinstance(value, bytes | str), "the frame was read before"
    return bytes.fromhex(value) if isinstance(value, str) else value


def header_in_bytes(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return a header whose digests are bytes, for a frame of any form."""
    return {name: as_bytes(value) if name in _DIGESTS else value for name, value in header.items()}


_DIGESTS: Final = ("parent", *ROOT_NAMES)


def _block_of(id_: bytes, parent: bytes, header: Mapping[str, Any], payload: Sequence[object]) -> AskedBlock:
    return AskedBlock(id_, parent, header_in_bytes(header), tuple(map(as_bytes, payload)))


class AnswerGroup(NamedTuple):
    """Equal answers about a block: the first of each replica that gave it, and the outcome in most detail."""

    answers: list[GivenAnswer]

    @property
    def outcome(self) -> ToldOutcome:
        """The outcome; with events if one answer has them."""
        return next((each.outcome for each in self.answers if each.outcome.receipts is not None), self.first.outcome)

    @property
    def first(self) -> GivenAnswer:
        """The answer of the lowest replica."""
        return self.answers[0]

    @property
    def nodes(self) -> list[int]:
        """The replicas, and the processes beside the run."""
        return [node for node, _ in groupby(each.node for each in self.answers)]


def groups_of(answers: Sequence[GivenAnswer]) -> list[AnswerGroup]:
    """Return the groups of equal answers about a block, the largest first."""
    groups: list[AnswerGroup] = []
    for answer in answers:
        same = next((group for group in groups if group.first.outcome.equals(answer.outcome)), None)
        if same is None:
            groups.append(AnswerGroup([answer]))
        else:
            same.answers.append(answer)
    return sorted(groups, key=lambda group: (-len(group.nodes), group.first.node < 0, group.first.node, group.first.at))


def first_difference(calls: ReadCalls) -> tuple[bytes, list[AnswerGroup]] | None:
    """Return the lowest block with two answers, and its groups; of several, the block of the earliest view."""
    found = [(id_, groups) for id_, answers in calls.answers.items() if len(groups := groups_of(answers)) > 1]
    return min(found, key=lambda each: _place_of(calls, each[0]), default=None)


def _place_of(calls: ReadCalls, id_: bytes) -> tuple[int, int, bytes]:
    view = int(calls.blocks[id_].header["view"]) if id_ in calls.blocks else 0
    return calls.height_of(id_), view, id_
