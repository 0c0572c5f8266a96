"""The requests of the protocol and their answers, read strictly: a wrong answer is named, and ends the process.

Rules: docs/application.md. A violation is a FrameError whose sentence has the found and the expected value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from cluster.outside.answers import AnswerFields, Execution
from cluster.outside.blocks import ChainStart, told_header
from cluster.outside.frames import FrameError, Framing, Value
from validators.execution.blocks import Header
from validators.messages import TRANSACTION_BYTES_MAX

PROTOCOL: Final = 1
"""The version of the protocol that this code speaks."""

FEATURES: Final = ("check", "forks", "early", "snapshot", "restore", "entries", "describe", "transactions")
"""All features that an application may have."""

PAYLOAD_BYTES_MAX: Final = 1024 * 1024
"""Most bytes of a payload, and of the transactions that are offered for it unless the first alone is longer."""

PIECE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Most bytes of a piece of a snapshot."""

PIECES_MAX: Final = 65_536
"""Most pieces of a snapshot."""

COST_US_MAX: Final = 60_000_000
"""Most virtual microseconds that an answer may state as its cost."""

ROOT_BYTES: Final = 32
"""The length of a state root."""

T = TypeVar("T")


class ApplicationCaller(Protocol):
    """Asks an application a single question; `ApplicationProcess.call`, or its record."""

    def __call__(self, name: str, fields: Mapping[str, Value]) -> dict[str, object]:
        """Return the answer; raises ApplicationLostError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBlock:
    """The last final block that an application kept: height, id and root."""

    height: int
    id: bytes
    root: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """The answer to `hello`.

    Attributes:
        name: The application's name.
        version: Its version.
        features: Its features, in the order of `FEATURES`.
        order: "fifo" where timers fire in the order of due and set, else "".
        dead_per_block: Dead timers that one block removes, None where it is not stated.
        live_per_block: Live timers that one block fires, None where it is not stated.
        kept: The last final block that it kept, None if it kept none.
    """

    name: str
    version: str
    features: tuple[str, ...]
    order: str = ""
    dead_per_block: int | None = None
    live_per_block: int | None = None
    kept: KeptBlock | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedPayload:
    """The outcome of `propose`: the payload, its execution, and the offered transactions that leave this pool."""

    payload: tuple[bytes, ...]
    execution: Execution
    refused: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InvalidPayload:
    """The outcome of a block that breaks a rule of the application."""

    reason: str


class Conversation:
    """The requests of one life, in the protocol's terms.

    Args:
        call: Sends a request.
        framing: The form in which answers carry bytes.
        lose: Gets the name of a call and the error of its answer, ends the process, and returns the error to raise.
    """

    def __init__(self, call: ApplicationCaller, framing: Framing, lose: Callable[[str, str], BaseException]) -> None:
        self._call = call
        self._framing = framing
        self._lose = lose

    def hello(
        self,
        *,
        node: int | None,
        validators: int,
        parameters: Mapping[str, Value],
        directory: Path,
        resume: bool,
        retain_blocks: int,
    ) -> Greeting:
        """Begin a life; with `resume` the application had earlier lives, and states its kept block."""
        fields: dict[str, Value] = {
            "protocol": PROTOCOL,
            "node": node,
            "validators": validators,
            "parameters": dict(parameters),
            "directory": str(directory),
            "resume": resume,
            "retain_blocks": retain_blocks,
        }
        return self._ask("hello", fields, lambda answer: _read_greeting(answer, resume=resume))

    def genesis(self, start: ChainStart) -> Execution:
        """Make the initial state of the chain."""
        return self._ask("genesis", asdict(start), _read_execution)

    def load(self, id_: bytes, header: Header, entries: Sequence[tuple[bytes, bytes]]) -> bytes:
        """Begin at a block whose state is one batch on an empty log, entries in the order of keys; return its root."""
        fields: dict[str, Value] = {
            "id": id_,
            "header": told_header(header),
            "entries": [list(entry) for entry in entries],
        }
        return self._ask("load", fields, lambda answer: answer.byte_string("root", ROOT_BYTES))

    def adopted(self, id_: bytes, header: Header) -> None:
        """Tell the id of the block just proposed, or of genesis."""
        self._tell("adopted", {"id": id_, "header": told_header(header)})

    def check(self, transaction: bytes) -> str:
        """Return why a transaction may not wait for a block, "" where it may."""
        return self._ask("check", {"transaction": transaction}, _read_refusal)

    def propose(self, parent: bytes, draft: Header, transactions: Sequence[bytes]) -> ProposedPayload:
        """Have a block made of waiting transactions; the draft's roots are not told."""
        fields: dict[str, Value] = {
            "parent": parent,
            "header": told_header(draft, is_proposed=True),
            "transactions": list(transactions),
        }
        return self._ask("propose", fields, lambda answer: _read_proposal(answer, len(transactions)))

    def execute(self, id_: bytes, header: Header, payload: Sequence[bytes]) -> Execution | InvalidPayload:
        """Have a block executed on its parent, unless it is invalid."""
        fields: dict[str, Value] = {
            "id": id_,
            "parent": header.parent,
            "header": told_header(header),
            "payload": list(payload),
        }
        return self._ask("execute", fields, read_outcome)

    def finalize(self, id_: bytes) -> None:
        """Make a block and its ancestors final, and kept."""
        self._tell("finalize", {"id": id_})

    def drop(self, id_: bytes) -> None:
        """Abandon a block and all above it."""
        self._tell("drop", {"id": id_})

    def apply(self, id_: bytes) -> None:
        """Apply a block before it is final."""
        self._tell("apply", {"id": id_})

    def rewind(self, to: bytes) -> None:
        """Rewind applied blocks down to a block."""
        self._tell("rewind", {"to": to})

    def snapshot(self, id_: bytes) -> int:
        """Return the number of pieces of the snapshot of the last final block."""
        return self._ask("snapshot", {"id": id_}, lambda answer: _at_least_one(answer.number("pieces", PIECES_MAX)))

    def piece(self, id_: bytes, index: int) -> bytes:
        """Return a piece of a snapshot."""
        fields: dict[str, Value] = {"id": id_, "piece": index}
        return self._ask("snapshot", fields, lambda answer: answer.byte_string("bytes", most=PIECE_BYTES_MAX))

    def restore(self, id_: bytes, header: Header, pieces: Sequence[bytes]) -> bytes:
        """Give all pieces of a snapshot; return the root of the restored state."""
        root = b""
        for index, content in enumerate(pieces):
            fields: dict[str, Value] = {
                "id": id_,
                "header": told_header(header),
                "piece": index,
                "of": len(pieces),
                "bytes": content,
            }
            if index == len(pieces) - 1:
                root = self._ask("restore", fields, lambda answer: answer.byte_string("root", ROOT_BYTES))
            else:
                self._tell("restore", fields)
        return root

    def entries(self, id_: bytes, after: bytes, limit: int) -> tuple[tuple[bytes, bytes], ...]:
        """Return up to `limit` pairs of the state after a block, with keys above the given key, ascending."""
        fields: dict[str, Value] = {"id": id_, "after": after, "limit": limit}
        return self._ask("entries", fields, lambda answer: _no_more(answer.pairs("entries"), limit, after))

    def describe(self, key: bytes, value: bytes) -> str:
        """Return an entry of the state as text for a person."""
        return self._ask("describe", {"key": key, "value": value}, lambda answer: answer.text("text"))

    def transactions(self, count: int, chance: bytes) -> tuple[bytes, ...]:
        """Return transactions that the application has made from a chance of 32 bytes."""
        fields: dict[str, Value] = {"count": count, "chance": chance}
        return self._ask("transactions", fields, lambda answer: answer.several("transactions"))

    def bye(self) -> None:
        """End a life in an orderly way."""
        self._tell("bye", {})

    def _tell(self, name: str, fields: Mapping[str, Value]) -> None:
        self._call(name, fields)

    def _ask(self, name: str, fields: Mapping[str, Value], read: Callable[[AnswerFields], T]) -> T:
        answer = self._call(name, fields)
        try:
            return read(AnswerFields(answer, self._framing))
        except FrameError as error:
            raise self._lose(name, str(error)) from None


def _read_greeting(answer: AnswerFields, *, resume: bool) -> Greeting:
    features = answer.texts("features")
    for feature in features:
        if feature not in FEATURES:
            raise FrameError(f"the feature {feature!r} is unknown; there are {', '.join(FEATURES)}")
    order = answer.text("order") if answer.has("order") else ""
    if order not in {"", "fifo"}:
        raise FrameError(f"`order` is {order!r}, 'fifo' was expected, or no `order`")
    if resume and "height" not in answer:
        raise FrameError("the answer has no `height`, which `resume` asks for: that of the last final block, or null")
    return Greeting(
        name=answer.text("name"),
        version=answer.text("version"),
        features=tuple(feature for feature in FEATURES if feature in features),
        order=order,
        dead_per_block=answer.number("dead_per_block") if answer.has("dead_per_block") else None,
        live_per_block=answer.number("live_per_block") if answer.has("live_per_block") else None,
        kept=_read_kept(answer) if resume and answer.has("height") else None,
    )


def _read_kept(answer: AnswerFields) -> KeptBlock:
    return KeptBlock(
        height=answer.number("height"),
        id=answer.byte_string("id", ROOT_BYTES),
        root=answer.byte_string("root", ROOT_BYTES),
    )


def _read_refusal(answer: AnswerFields) -> str:
    return "" if answer.is_true("ok") else answer.text("refused") or "refused"


def _read_execution(answer: AnswerFields) -> Execution:
    return Execution(
        root=answer.byte_string("root", ROOT_BYTES),
        events=answer.events(),
        receipts=answer.several("receipts") if answer.has("receipts") else None,
        included=answer.several("included", ROOT_BYTES) if answer.has("included") else (),
        cost_us=answer.number("cost_us", COST_US_MAX) if answer.has("cost_us") else None,
    )


def read_outcome(answer: AnswerFields) -> Execution | InvalidPayload:
    """Return the outcome in an answer to `execute`, or to `genesis` or `propose`, which are never invalid."""
    return InvalidPayload(answer.text("invalid")) if answer.has("invalid") else _read_execution(answer)


def is_too_long(payload: Sequence[bytes]) -> bool:
    """Return whether a payload has too many bytes; a single transaction may be as long as any that waits."""
    return sum(map(len, payload)) > (PAYLOAD_BYTES_MAX if len(payload) > 1 else TRANSACTION_BYTES_MAX)


def _read_proposal(answer: AnswerFields, offered: int) -> ProposedPayload:
    payload = answer.several("payload")
    if is_too_long(payload):
        length = sum(map(len, payload))
        raise FrameError(f"`payload` has {length:,} bytes, at most {PAYLOAD_BYTES_MAX:,} were expected")
    refused = answer.numbers("refused") if answer.has("refused") else ()
    for index in refused:
        if index >= offered:
            raise FrameError(f"`refused` names transaction {index}, {offered} were offered, from 0 on")
    return ProposedPayload(payload=payload, execution=_read_execution(answer), refused=refused)


def _at_least_one(pieces: int) -> int:
    if pieces == 0:
        raise FrameError("`pieces` is 0, at least 1 was expected")
    return pieces


def _no_more(pairs: tuple[tuple[bytes, bytes], ...], limit: int, after: bytes) -> tuple[tuple[bytes, bytes], ...]:
    if len(pairs) > limit:
        raise FrameError(f"`entries` has {len(pairs)} pairs, at most {limit} were expected")
    if pairs and pairs[0][0] <= after and after:
        raise FrameError(f"`entries` begins with the key {pairs[0][0].hex()}, one above {after.hex()} was expected")
    return pairs
