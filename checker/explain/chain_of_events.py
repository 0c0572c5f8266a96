"""The chain of events that led to a difference, or that surrounds a failed check, across all validators.

The log has submissions, each block's proposer and executions, crashes and restarts. The receipts have a timer's
scheduling, its deferrals and its exit. The chain lists both by time.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Final, NamedTuple

from checker.explain.divergence import AgreedBlock, Divergence
from checker.explain.executions import ExecutionGroup
from checker.explain.formatting import cut_in_the_middle, name_key, show, show_root, show_written, split_ends
from checker.explain.origins import Origin
from checker.explain.reading import decode, events_of, timers_in
from checker.observations import name_validators, short
from checker.record.streams import describe_event
from checker.results import Evidence
from faults.events import Crashed, FaultEdge, Restarted, TransactionSubmitted
from network.events import Event, read_event
from validators.events import (
    DIVERGED,
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    Booted,
    CertificateHeld,
    DamageFound,
    DamageRepaired,
    Entered,
    Halted,
    MessageRefused,
    PeerBlocked,
    SnapshotJoined,
    Voted,
)
from validators.execution.blocks import Header
from validators.execution.receipts import TransactionReceipt

AROUND_MAX: Final = 40
"""Greatest number of events shown around a failed check."""

_SHOWN_MAX: Final = 8
"""Greatest number of receipts, and of events of each kind, shown before a difference."""

_LAST_MAX: Final = 5
"""Greatest number of each validator's last events shown."""

_DECISIONS: Final = tuple(
    each.kind
    for each in (
        Booted,
        Entered,
        Voted,
        CertificateHeld,
        BlockExecuted,
        BlockFinalized,
        MessageRefused,
        PeerBlocked,
        BlockUndone,
        BlockRolledBack,
    )
)
"""Events of a validator's own decisions; all other events are about messages and work."""

_INDENT: Final = "  "
_REPLACED: Final = tuple(
    each.kind for each in (BlockRolledBack, BlockUndone, SnapshotJoined, DamageRepaired, DamageFound)
)
"""Events, besides crashes and restarts, that give a validator another history than its peers."""

_AFTERMATH: Final = (MessageRefused.kind, Halted.kind)
_MACHINES: Final = tuple(each.kind for each in (FaultEdge, Crashed, Restarted, Halted))


class Mention(NamedTuple):
    """A receipt about a timer: its block, its index, the digest of its transaction (may be empty), and its text."""

    past: AgreedBlock
    receipt: int
    transaction: bytes
    line: str


@dataclass(slots=True)
class Thread:
    """The events of a run that belong to a difference.

    Attributes:
        executions: The `executed` events of each relevant block.
        submissions: The submission of each relevant transaction by a client.
        pasts: For each wrong validator, its restarts and dropped blocks before it executed the block.
        machines: Faults, crashes and restarts before a validator executed the block.
        aftermath: Refusals and halts of validators after they executed the block.
        strayed: The wrong validators that had executed blocks of other branches before the block.
        view_word: The engine's word for a view.
    """

    executions: dict[bytes, list[tuple[Event, BlockExecuted]]] = field(default_factory=dict)
    submissions: dict[bytes, Event] = field(default_factory=dict)
    pasts: dict[int, list[Event]] = field(default_factory=dict)
    machines: list[Event] = field(default_factory=list)
    aftermath: list[Event] = field(default_factory=list)
    strayed: dict[int, None] = field(default_factory=dict)
    view_word: str = "view"


def mentions_of(divergence: Divergence, timer_id: bytes) -> list[Mention]:
    """Return the receipts about a timer before the block, oldest first."""
    found: list[Mention] = []
    for past in divergence.past if timer_id else ():
        for index, receipt in enumerate(past.receipts):
            if timer_id not in receipt:
                continue
            decoded = decode(receipt)
            transaction = decoded.transaction if isinstance(decoded, TransactionReceipt) else b""
            events = [event for event in events_of(receipt) if timer_id in timers_in([event])]
            found += [Mention(past, index, transaction, show(event)) for event in events]
    return found


def follow(
    events: Iterable[Event], divergence: Divergence, transactions: Iterable[bytes], blocks: Iterable[bytes]
) -> Thread:
    """Return the events of a log that belong to a difference.

    Args:
        events: The log.
        divergence: The difference.
        transactions: Digests of the relevant transactions.
        blocks: Digests of the relevant blocks; the block at which groups diverge is always added.
    """
    thread = Thread()
    wanted = dict.fromkeys(transactions)
    thread.executions = {digest: [] for digest in dict.fromkeys([*blocks, divergence.digest])}
    wrong = divergence.wrong_validators
    way = dict.fromkeys([*(past.digest for past in divergence.past), divergence.digest])
    executed: dict[int, None] = {}
    for event in events:
        kind = event.kind
        if (block := read_event(event, BlockExecuted)) is not None:
            if event.node in wrong and event.node not in executed and block.digest not in way:
                thread.strayed[event.node] = None
            if block.digest in thread.executions:
                thread.executions[block.digest].append((event, block))
            if block.digest == divergence.digest:
                executed[event.node] = None
        elif (handed_in := _handed_in(event)) is not None and handed_in in wanted:
            thread.submissions.setdefault(handed_in, event)
        elif kind in _MACHINES and not executed:
            _note_machine(thread, event, wrong)
        elif kind in _REPLACED and event.node in wrong and event.node not in executed:
            thread.pasts.setdefault(event.node, []).append(event)
        elif kind in _AFTERMATH and event.node in executed and len(thread.aftermath) < _SHOWN_MAX:
            thread.aftermath.append(event)
    return thread


def _handed_in(event: Event) -> bytes | None:
    """Return the digest of a transaction that a validator accepted from a client; None for other events."""
    submitted = read_event(event, TransactionSubmitted)
    return submitted.digest if submitted is not None and submitted.outcome == "submitted" else None


def _note_machine(thread: Thread, event: Event, wrong: Collection[int]) -> None:
    thread.machines.append(event)
    restarted = read_event(event, Restarted)
    if restarted is not None and restarted.machine in wrong:
        thread.pasts.setdefault(restarted.machine, []).append(event)


def chain_lines(
    divergence: Divergence, origin: Origin, mentions: Sequence[Mention], thread: Thread, *, keys: Sequence[bytes]
) -> list[str]:
    """Return the chain of events in lines, oldest first; the time of a block is its first execution."""
    first, left_out, last = split_ends(mentions, _SHOWN_MAX)
    reported = [line for mention in first for line in _mention_lines(thread, mention)]
    if left_out:
        reported.append((reported[-1][0], f"... {left_out} more receipts about the timer"))
    reported += [line for mention in last for line in _mention_lines(thread, mention)]
    behind = chain.from_iterable(events[-_SHOWN_MAX:] for events in thread.pasts.values())
    reported += [(event.at_us, describe_event(event)) for event in (*thread.machines[-_SHOWN_MAX:], *behind)]
    reported += [*_submission(thread, origin.transaction), *_block_lines(divergence.digest, divergence.header, thread)]
    at_us = _executed_us(thread, divergence.digest)
    told = origin.reported or (origin.what,) * len(divergence.groups)
    if is_same := len(divergence.groups) > 1 == len(dict.fromkeys(told)):
        reported.append((at_us, f"{_INDENT}all sides: {told[0]}"))
    for group, said in zip(divergence.groups, told, strict=True):
        lines = _describe_group(divergence, group, [] if is_same else [said], keys[:1])
        reported += [(at_us, f"{_INDENT}{line}") for line in lines]
    reported += [(event.at_us, describe_event(event)) for event in thread.aftermath]
    reported.sort(key=itemgetter(0))
    return list(dict.fromkeys(line for _, line in reported))


def _mention_lines(thread: Thread, mention: Mention) -> list[tuple[int, str]]:
    digest, header = mention.past.digest, mention.past.block.header
    place = f"{_INDENT}height {header.height}, receipt {mention.receipt}: {mention.line}"
    before = [*_submission(thread, mention.transaction), *_block_lines(digest, header, thread)]
    return [*before, (_executed_us(thread, digest), place)]


def surroundings(events: Iterable[Event], evidence: Mapping[str, Evidence]) -> list[str]:
    """Return the events of a failed check's view or height as lines, else each validator's last events."""
    view, height = evidence.get("view"), evidence.get("height")
    nodes = [evidence[name] for name in ("validator", "other_validator") if name in evidence]
    kept: list[tuple[int, Event]] = []
    last: dict[int, deque[tuple[int, Event]]] = {}
    for place, event in enumerate(events):
        is_of_view = view is not None and view == _view_of(event)
        is_of_height = height is not None and height == _height_of(event)
        if event.kind in _MACHINES or is_of_view or (is_of_height and (not nodes or event.node in nodes)):
            kept.append((place, event))
        elif event.kind in _DECISIONS:
            last.setdefault(event.node, deque(maxlen=_LAST_MAX)).append((place, event))
    if view is None and height is None:
        kept = sorted([*kept, *chain.from_iterable(last.values())], key=itemgetter(0))
    return cut_in_the_middle([describe_event(event) for _, event in kept], AROUND_MAX, "more events")


def read_taken_back(event: Event) -> BlockRolledBack | BlockUndone | None:
    """Return the event's values if a validator rewinds a block that it had executed or applied."""
    return read_event(event, BlockRolledBack) or read_event(event, BlockUndone)


def _view_of(event: Event) -> int | None:
    body = read_event(event, Entered) or read_event(event, Voted) or read_event(event, CertificateHeld)
    return None if body is None else body.view


def _height_of(event: Event) -> int | None:
    if (booted := read_event(event, Booted)) is not None:
        return booted.finalized_height
    body = read_event(event, BlockExecuted) or read_event(event, BlockFinalized) or read_taken_back(event)
    return None if body is None else body.height


def _submission(thread: Thread, transaction: bytes) -> list[tuple[int, str]]:
    event = thread.submissions.get(transaction)
    return [] if event is None else [(event.at_us, describe_event(event))]


def _executed_us(thread: Thread, digest: bytes) -> int:
    """Return the virtual time of a block's first execution in microseconds; 0 if no validator executed it."""
    return min((event.at_us for event, _ in thread.executions.get(digest, ())), default=0)


def _block_lines(digest: bytes, header: Header, thread: Thread) -> list[tuple[int, str]]:
    by_outcome: dict[tuple[bytes, bool], list[tuple[int, int]]] = {}
    for event, executed in thread.executions.get(digest, ()):
        by_outcome.setdefault((executed.root, executed.mode == DIVERGED), []).append((event.at_us, event.node))
    at_us = _executed_us(thread, digest)
    proposer = f"proposed by validator {header.proposer} in {thread.view_word} {header.view}"
    lines = [f"{_seconds(at_us)} block {short(digest)} of height {header.height}, {proposer}"]
    for (root, is_diverged), places in by_outcome.items():
        who = name_validators(dict.fromkeys(node for _, node in places))
        claim = f"; its header has root {short(header.state_root)}" if is_diverged else ""
        lines.append(f"{_INDENT}at {_seconds(places[0][0])} {who} executed it: root {short(root)}{claim}")
    return [(at_us, line) for line in lines]


def _describe_group(
    divergence: Divergence, group: ExecutionGroup, reported: Sequence[str], keys: Sequence[bytes]
) -> list[str]:
    writes = [f"writes {name_key(key, divergence.values(key))}: {show_written(group.outcome, key)}" for key in keys]
    return [f"{group.name}: {line}" for line in (*reported, *writes, f"root {show_root(group.outcome)}")]


def _seconds(at_us: int) -> str:
    seconds, rest_us = divmod(at_us, 1_000_000)
    return f"{seconds}.{rest_us:06d} s"
