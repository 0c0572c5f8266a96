"""A height of a run in lines of at most 80 columns: the list of its blocks, and one block in full.

Lists are cut at `LISTED_MAX` entries, and the last line counts the entries left out. Timers' digests and unnamed
addresses are cut to eight digits. `--all` shows every entry, `--json` every digit.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from network.words import counted
from report.block_rows import (
    BlockLine,
    BlockRow,
    Comparison,
    EventRow,
    FiredRow,
    HeaderRow,
    HeightReport,
    LeftRow,
    Party,
    ReplicaPart,
    TimerRows,
    ToldBlockRow,
    ToldHeightReport,
    TransactionRow,
    WaitingRow,
)

COLUMNS: Final = 80

LISTED_MAX: Final = 10
"""Entries of a list shown without `--all`."""

NEVER: Final = (1 << 63) - 1
"""The expiry of a timer without expiry."""

MORE: Final = "--all shows them"

_WHOLE: Final = ("block ", "  parent", "  state root", "state root ")
"""Beginnings of lines that show a whole digest."""

_DIGEST: Final = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{42,}\b")
_SHORT: Final = 12
_LABEL: Final = 12


def height_lines(report: HeightReport, *, shows_all: bool = False) -> Iterator[str]:
    """Yield the lines of a height; only a longer word exceeds the columns.

    Args:
        report: The height.
        shows_all: Whether to show whole lists.
    """
    for whole in _lines(report, None if shows_all else LISTED_MAX):
        line = whole if whole.startswith(_WHOLE) else _DIGEST.sub(r"\1", whole)
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        yield from textwrap.wrap(
            line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]


def _lines(report: HeightReport, limit: int | None) -> Iterator[str]:
    yield f"height {report.height} of {report.run}: {report.scenario}, seed {report.seed}, {report.verdict}"
    yield from _block_list(report)
    yield from (f"note: {note}" for note in report.notes)
    if report.replica is not None:
        yield from _replica_lines(report.replica)
    if isinstance(report, ToldHeightReport) and report.told is not None:
        yield from _told_lines(report.told, report.view_word, limit)
    if report.block is None:
        return
    yield from _header_lines(report.block, report.view_word)
    yield from _transaction_lines(report.block.transactions, limit)
    yield from _timer_lines(report.block, limit)
    yield from _message_line(report.block.summary)
    yield from _event_lines(report.block.events, limit)
    yield f"state root {report.block.root or 'none: the execution aborted'}"
    if report.block.root not in ("", report.block.header.state_root):
        yield "  the header has another root"
    if report.comparison is not None:
        is_whole = bool(report.block.root and report.comparison.root)
        yield from _comparison_lines(report.comparison, limit, is_whole=is_whole)


def _block_list(report: HeightReport) -> Iterator[str]:
    """Yield the blocks of the height, the roots if replicas differ, and the replicas without a final block."""
    several = len(report.blocks) > 1
    if several:
        yield f"{len(report.blocks)} blocks at this height; --block PREFIX shows another block"
    for block in report.blocks:
        words = _block_words(block, report.view_word)
        yield f"  {words}" if several else words
    if not report.is_agreed:
        yield "replicas do not agree; --replica N shows the block of a replica"
        for root in report.roots:
            kept = "" if root.is_final else ", not final there"
            yield f"  root {root.root[:_SHORT]} of block {root.block[:_SHORT]} on {_replicas(root.replicas)}{kept}"
    reasons: dict[str, list[int]] = {}
    for absent in report.absent:
        reasons.setdefault(absent.reason, []).append(absent.replica)
    for reason, nodes in reasons.items():
        yield f"{_replicas(nodes)}: {reason}"


def _block_words(block: BlockLine, view_word: str) -> str:
    parts = [f"on {_replicas(block.final_on)}"] if block.final_on else []
    executed = [node for node in block.executed_by if node not in block.final_on]
    if executed:
        parts.append(f"executed by {_replicas(executed)}")
    if block.refused_by:
        parts.append(f"refused by {_replicas(block.refused_by)}{f' ({block.reason})' if block.reason else ''}")
    said = f": {'; '.join(parts)}" if parts else ""
    return (
        f"{block.status} block {block.block[:_SHORT]} of {view_word} {block.view}, by validator {block.proposer}{said}"
    )


def _replicas(nodes: Sequence[int]) -> str:
    return f"replica{'s' if len(nodes) != 1 else ''} {', '.join(map(str, nodes))}"


def _replica_lines(part: ReplicaPart) -> Iterator[str]:
    held = f", mutants {', '.join(part.mutants)}" if part.mutants else ""
    yield f"replica {part.replica} ({part.mode}{held})"
    for each in part.executed:
        seconds, rest_us = divmod(each.at_us, 1_000_000)
        yield (
            f"  executed block {each.block[:_SHORT]} at {seconds}.{rest_us:06d} s ({each.mode}), "
            f"root {each.root[:_SHORT]}"
        )
    if part.final:
        yield f"  finalized block {part.final[:_SHORT]}, root {part.root[:_SHORT]}"
    yield from (f"  dropped or rewound block {block[:_SHORT]}" for block in part.left)
    yield from (f"  refused block {block[:_SHORT]}" for block in part.refused)
    if part.joined_by_snapshot_at is not None:
        yield f"  took a snapshot of height {part.joined_by_snapshot_at} for its state"
    if part.halted:
        yield f"  halted: {part.halted}"
    if not (part.executed or part.final or part.refused):
        yield "  the record has no execution of this replica at this height"


def _told_lines(told: ToldBlockRow, view_word: str, limit: int | None) -> Iterator[str]:
    yield from _place_lines(told.header, view_word)
    yield _field("told", f"by the application of replica {told.replica}")
    yield f"transactions: {f'{len(told.transactions):,}' if told.transactions else 'none'}"
    yield from _cut([f"  {index:<3} {each}" for index, each in enumerate(told.transactions)], limit)
    if told.events is None:
        yield "events: the record has no answer with this root"
    else:
        yield f"events: {f'{len(told.events):,}' if told.events else 'none'}"
        yield from _cut([f"  {event_words(each)}" for each in told.events], limit)
    yield f"state root {told.root}"
    if told.root != told.header.state_root:
        yield "  the header has another root"


def event_words(event: Mapping[str, object]) -> str:
    """Return an event of an application on a line, its kind first."""
    values = (f"{name}={event[name]}" for name in sorted(event) if name != "event")
    return " ".join([str(event["event"]), *values])


def _header_lines(block: BlockRow, view_word: str) -> Iterator[str]:
    yield from _place_lines(block.header, view_word)
    yield _field("executed", f"by the code of replica {block.executed_as}, {block.source}")
    if block.refusal:
        yield _field("refused", block.refusal)
    if block.summary:
        summary = block.summary
        yield _field("prices", f"{summary['cycle_basefee']:,} a cycle, {summary['cell_basefee']:,} a cell")
        yield _field("units", f"burned {summary['burned']:,}, tips {summary['tips']:,}")


def _place_lines(header: HeaderRow, view_word: str) -> Iterator[str]:
    yield f"block {header.block}"
    yield _field(view_word, f"{header.view:,}, proposed by validator {header.proposer}")
    yield _field("time", f"{header.timestamp_ms:,} ms (slot {header.slot:,} for timers)")
    yield _field("policy", f"{header.policy}, timers count in {header.timebase}s")
    yield _field("parent", header.parent)
    yield _field("state root", header.state_root)
    yield _field("certified", _certificates(header))


def _field(name: str, value: str) -> str:
    return f"  {name:<{_LABEL}}{value}"


def _certificates(header: HeaderRow) -> str:
    """Return each kind of certificate with its greatest number of signers."""
    signers = [f"{each.certificate} {each.signers} of {header.validators} signers" for each in header.certificates]
    return ", ".join(signers) or "no certificate"


def _cut(lines: Sequence[str], limit: int | None) -> Iterator[str]:
    """Yield the first lines, and the number of lines left out."""
    yield from lines[:limit]
    if limit is not None and len(lines) > limit:
        yield f"  ... {len(lines) - limit:,} more; {MORE}"


def _entries(entries: Iterable[Sequence[str]], limit: int | None) -> Iterator[str]:
    """Yield the lines of the first entries, and the number of entries left out."""
    shown = list(entries)
    for entry in shown[:limit]:
        yield from entry
    if limit is not None and len(shown) > limit:
        yield f"  ... {len(shown) - limit:,} more; {MORE}"


def _transaction_lines(transactions: Sequence[TransactionRow], limit: int | None) -> Iterator[str]:
    statuses: dict[str, int] = {}
    for each in transactions:
        statuses[each.status] = statuses.get(each.status, 0) + 1
    counts = ", ".join(f"{count:,} {status}" for status, count in statuses.items())
    yield f"transactions: {f'{len(transactions):,} ({counts})' if transactions else 'none'}"
    yield from _entries(map(_transaction, transactions), limit)


def _transaction(row: TransactionRow) -> list[str]:
    fee = f"fee {row.fee:,} (tip {row.tip:,})"
    return [
        f"  {row.index:<3} {row.status:<10} {row.sender}: {row.call}",
        *([f"      refused: {row.refusal}"] if row.refusal else []),
        f"      nonce {row.nonce:,}, {_used(row.cycles, row.cells)}; {fee}",
    ]


def _used(cycles: int, cells: int) -> str:
    return f"{counted(cycles, 'cycles')}, {counted(cells, 'cells')}"


def _timer_lines(block: BlockRow, limit: int | None) -> Iterator[str]:
    timers, unit = block.timers, f"{block.header.timebase}s"
    used = [
        _use("lane", timers.lane_cycles, timers.lane_limit),
        _use("clean-up", timers.clean_up_cycles, timers.clean_up_limit),
    ]
    yield f"timers that fired: {f'{len(timers.fired):,}' if timers.fired else 'none'}"
    yield from _entries((_fired(row, unit) for row in timers.fired), limit)
    exits: dict[str, int] = {}
    for row in timers.left:
        exits[row.exit] = exits.get(row.exit, 0) + 1
    counts = ", ".join(f"{count:,} {name}" for name, count in exits.items())
    yield f"timers that left without a fire: {counts or 'none'}"
    yield from _entries(map(_left, timers.left), limit)
    yield from _waiting_lines(timers, limit, is_whole=bool(block.summary))
    yield f"  budgets: {'; '.join(each for each in used if each) or 'none'}"


def _use(name: str, used: int, most: int | None) -> str:
    return "" if most is None else f"{name} used {used:,} of {counted(most, 'cycles')}"


def _fired(row: FiredRow, unit: str) -> list[str]:
    waited = f"due {row.due:,}, waited {counted(row.waited, unit)}"
    limit = f" of {row.gas_limit:,}" if row.gas_limit else ""
    used = f"{row.cycles:,}{limit} cycles, {counted(row.cells, 'cells')}"
    lines = [
        f"  {row.timer[:8]} {row.result}: {row.handler or 'a handler'} of {row.actor}, {waited}",
        f"      {used}; burned {row.burned:,}, tip {row.tip:,}{_paid_by(row.actor, row.fee_payer)}",
    ]
    return lines + ([f"      deposit {row.deposit:,}, returned {row.returned:,}"] if row.deposit else [])


def _paid_by(actor: Party, payer: Party) -> str:
    return "" if payer == actor or not payer.address else f", paid by {payer}"


def _expiry(expires_at: int) -> str:
    return f"expires after {expires_at:,}" if expires_at < NEVER else "without expiry"


def _left(row: LeftRow) -> list[str]:
    charges = [f"burned {row.charged:,}"] if row.charged else []
    charges += [f"returned {row.returned:,}"] if row.returned else []
    owed = "" if row.required is None else f"; needs {row.required:,}, payer has {row.available:,}"
    who = str(row.actor) or "an unknown actor"
    return [
        f"  {row.timer[:8]} {row.exit}: {who}{_paid_by(row.actor, row.fee_payer)}",
        f"      due {row.due:,}, {_expiry(row.expires_at)}{owed}; {', '.join(charges) or 'no charge'}",
    ]


def _waiting_lines(timers: TimerRows, limit: int | None, *, is_whole: bool) -> Iterator[str]:
    if not is_whole:
        yield "timers that wait: not counted, the execution aborted"
        return
    yield (
        f"timers that wait at the end: {timers.waiting_live:,} live and {timers.waiting_dead:,} dead that are due, "
        f"{f'{timers.triggered:,} triggered, ' if timers.triggered else ''}{timers.waiting_later:,} due later"
    )
    if timers.held_back:
        yield f"  held back: {', '.join(f'{count:,} {reason}' for reason, count in timers.held_back.items())}"
    due = [row for row in timers.waiting if row.is_due]
    later = [row for row in timers.waiting if not row.is_due]
    yield from _entries(map(_waiting, [*due, *later] if limit is None else due), limit)
    if limit is not None and later:
        yield f"  next due at {later[0].due:,}: {later[0].timer[:8]} of {later[0].actor}"


def _waiting(row: WaitingRow) -> list[str]:
    offer = "" if row.max_fee is None else f", offers {row.max_fee:,} a cycle"
    offer += "" if row.tip is None else f", tip {row.tip:,}"
    offer += f", deposit {row.deposit:,}" if row.deposit else ""
    return [
        f"  {row.timer[:8]} {row.why}: {row.actor}{_paid_by(row.actor, row.fee_payer)}",
        f"      due {row.due:,}, {_expiry(row.expires_at)}, {counted(row.gas_limit, 'cycles')}{offer}",
    ]


def _message_line(summary: dict[str, int]) -> Iterator[str]:
    names = ("sent", "delivered", "reverted", "waiting")
    counts = {name: summary.get(f"messages_{name}", 0) for name in names}
    if any(counts.values()):
        yield f"messages: {', '.join(f'{count:,} {name}' for name, count in counts.items())}"


def _event_lines(events: Sequence[EventRow], limit: int | None) -> Iterator[str]:
    yield f"events: {f'{len(events):,}' if events else 'none'}"
    yield from _cut([f"  receipt {row.receipt}: {_origin(row)}{row.text}" for row in events], limit)


def _origin(row: EventRow) -> str:
    return "" if row.transaction is None else f"of transaction {row.transaction}: "


def _comparison_lines(comparison: Comparison, limit: int | None, *, is_whole: bool) -> Iterator[str]:
    root = comparison.root or "none"
    refused = f"; it refuses the block: {comparison.refusal}" if comparison.refusal else ""
    yield f"on replica {comparison.replica}: state root {root}{refused}"
    here, there = comparison.receipt_counts
    yield f"receipts: {here:,} here, {there:,} there; {len(comparison.receipts) or 'none'} of them differ"
    entries = [
        [f"  receipt {each.receipt}", f"      here: {each.here or 'none'}", f"      there: {each.elsewhere or 'none'}"]
        for each in comparison.receipts
    ]
    yield from _entries(entries, limit)
    if not is_whole:
        return
    yield f"keys with different values: {len(comparison.keys) or 'none'}"
    keys = [[f"  {key.name}", f"      here: {key.here}", f"      there: {key.elsewhere}"] for key in comparison.keys]
    yield from _entries(keys, limit)
