"""The oracle's verdict: every finalized block executed anew, and the first difference named.

Compared at each height, in this order: the block is valid; its receipts, one by one; the keys that it changed, with
their values; its roots; what it used of each budget. After a difference the oracle's state is not the chain's any more,
so nothing is compared beyond the first.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple, final

from checker.oracle.blocks import InvalidBlockError, OracleChain, Result
from checker.oracle.describe import (
    decode,
    narrow_down,
    show,
    show_key,
    show_receipt,
    timer_of_entry,
    timer_of_receipts,
)
from checker.oracle.programs import PROGRAMS
from checker.oracle.records import Genesis, Header, MalformedError, read_block, read_genesis, write
from checker.results import CheckResult, Tally

NAME: Final = "oracle"
"""The check's name."""

AUDIT_BLOCKS: Final = 50
"""So often, in blocks, the oracle works its own state out from nothing, unless its log has hardly grown since."""

AUDIT_GROWTH: Final = (3, 2)
"""An audit hashes the whole log, so the next one waits until that is longer by a half: over a run of any length each
operation is hashed by four audits on average at most, the last one included."""

POLICIES: Final = ("fifo", "fifo-free", "eip1559")
"""The policies that are restated here."""


class OracleBlock(NamedTuple):
    """A finalized block and what the validators made of it.

    Attributes:
        block: The encoded block.
        receipts: The encoded receipts, in order.
        changes: State key to encoded value, None for a deleted one.
        counts: What was used of the block's budgets, by name; names that the oracle does not know are left out.
    """

    block: bytes
    receipts: Sequence[bytes]
    changes: Mapping[bytes, bytes | None]
    counts: Mapping[str, int] = {}


class Difference(NamedTuple):
    """Where oracle and run part: what differs, in one word and in one line; the state key and the timer, if any."""

    what: str
    line: str
    key: str = ""
    timer: str = ""
    height: int = 0


def judge_oracle(genesis_bytes: bytes, blocks: Iterable[OracleBlock]) -> CheckResult:
    """Execute a chain anew and compare it with what the validators made of it, height by height.

    Args:
        genesis_bytes: The encoded genesis.
        blocks: The final blocks from height 1 on.
    """
    tally = Tally(NAME, "safety")
    try:
        genesis = read_genesis(genesis_bytes)
    except MalformedError as error:
        tally.require(False, f"genesis cannot be read: {error}", height=0)  # noqa: FBT003 - it never holds
        return tally.result("")
    unknown = unknown_to_the_oracle(genesis)
    if unknown:
        return tally.inconclusive(f"the oracle does not know {unknown}")
    chain = OracleChain(genesis, genesis_bytes)
    audits = _Audits(chain)
    difference = _first_difference(chain, blocks, tally, audits)
    if difference is not None:
        found = {"what": difference.what, "key": difference.key, "timer": difference.timer}
        evidence = {name: value for name, value in found.items() if value}
        tally.fail(f"height {difference.height}: {difference.line}", height=difference.height, **evidence)
    height = chain.header.height
    return tally.result(
        f"{tally.compared:,} receipts, changes, roots and budgets at {height} heights are the oracle's",
        heights=height,
        operations=chain.contents.log.size,
        audits=audits.count,
        operations_audited=audits.operations,
    )


@final
class _Audits:
    """Audits a chain now and then, and counts what that took: so often, and so many operations hashed in all."""

    def __init__(self, chain: OracleChain) -> None:
        self._chain = chain
        self._last_size = 0
        self.count = 0
        self.operations = 0

    def is_due(self, height: int) -> bool:
        grown, before = AUDIT_GROWTH
        return height % AUDIT_BLOCKS == 0 and self._chain.contents.log.size * before >= self._last_size * grown

    def audit(self) -> Difference | None:
        size = self._chain.contents.log.size
        if size == self._last_size:
            return None
        self._last_size = size
        self.count += 1
        self.operations += size
        error = self._chain.audit()
        return Difference("audit", f"the oracle contradicts itself: {error}") if error else None


def unknown_to_the_oracle(genesis: Genesis) -> str:
    """Return what of a genesis is not restated here, or nothing."""
    if genesis.policy not in POLICIES:
        return f"the policy {genesis.policy}"
    strange = [program for _, program, *_ in genesis.actors if program not in PROGRAMS]
    return f"the program {strange[0]}" if strange else ""


def _first_difference(
    chain: OracleChain, blocks: Iterable[OracleBlock], tally: Tally, audits: _Audits
) -> Difference | None:
    for height, block in enumerate(blocks, 1):
        difference = _judge_block(chain, block, tally) or (audits.audit() if audits.is_due(height) else None)
        if difference is not None:
            return difference._replace(height=height)
    difference = audits.audit()
    return difference and difference._replace(height=chain.header.height)


def _judge_block(chain: OracleChain, block: OracleBlock, tally: Tally) -> Difference | None:
    tally.compared += 1
    try:
        header, transactions = read_block(block.block)
        result = chain.execute(header, transactions)
    except MalformedError as error:
        return Difference("block", f"the block is not valid: {error}")
    except InvalidBlockError as error:
        return Difference(error.what.split()[0], f"{error.what} is not valid: {error}")
    return (
        _compare_receipts(result, block, tally)
        or _compare_changes(result, block, tally)
        or _compare_roots(result, header, tally)
        or _compare_counts(result, block, tally)
    )


def _compare_receipts(result: Result, block: OracleBlock, tally: Tally) -> Difference | None:
    ours = [write(receipt) for receipt in result.receipts]
    theirs = list(block.receipts)
    tally.compared += len(ours)
    for index, (one, other) in enumerate(zip_longest(ours, theirs)):
        if one != other:
            decoded = decode(one), decode(other)
            timer = timer_of_receipts(decoded)
            about = show_receipt(decoded[1] if one is None else decoded[0])
            place, values = narrow_down(decoded)
            return Difference("receipts", _line(f"receipt {index}, {about}{place}", timer, values), timer=timer)
    return None


def _compare_changes(result: Result, block: OracleBlock, tally: Tally) -> Difference | None:
    ours, theirs = result.changes, block.changes
    tally.compared += len(ours)
    if ours == theirs:
        return None
    for key in sorted(ours.keys() | theirs.keys()):
        is_in_both = key in ours and key in theirs
        if not is_in_both or ours[key] != theirs[key]:
            decoded = _written(ours, key), _written(theirs, key)
            timer = timer_of_entry(key, decoded)
            return Difference("changes", _line(show_key(key), timer, decoded), key=key.hex(), timer=timer)
    return None


def _compare_roots(result: Result, header: Header, tally: Tally) -> Difference | None:
    for name in ("tx_root", "receipts_root", "state_root"):
        tally.compared += 1
        pair = getattr(result, name), getattr(header, name)
        if pair[0] != pair[1]:
            return Difference("roots", _line(name, "", pair))
    return None


def _compare_counts(result: Result, block: OracleBlock, tally: Tally) -> Difference | None:
    for name, count in result.counts.items():
        if name in block.counts:
            tally.compared += 1
            pair = count, block.counts[name]
            if pair[0] != pair[1]:
                return Difference("budgets", _line(name, "", pair))
    return None


def _written(changes: Mapping[bytes, bytes | None], key: bytes) -> object:
    if key not in changes:
        return "not written"
    return decode(changes[key])


def _line(place: str, timer: str, values: tuple[object, object]) -> str:
    named = f" of timer {timer}" if timer and timer not in place else ""
    return f"{place}{named} is {show(values[0])} by the oracle and {show(values[1])} in the run"
