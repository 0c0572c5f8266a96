"""Headers: each right in all and then wrong in one field, and times at the very edge of what is borne.

In a run a header is right, or an adversary's lie is wrong by far; a time that is one millisecond beyond the skew, or
the last of its slot, comes up in hardly any. Here each field is moved by one from where it is right, and clocks read a
millisecond either way. What a header may say is told by the words of docs/chain.md and docs/longest-chain.md.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

import msgspec

from tests.properties.draws import Asked, Draw
from tests.properties.engines.configs import CONFIGS
from validators.consensus.interface import EngineConfig
from validators.consensus.registry import ENGINES
from validators.execution.blocks import Block, Header
from validators.execution.errors import InvalidBlockError
from validators.execution.genesis import Genesis
from validators.execution.transactions import decoded
from validators.execution.validity import check_header, check_roots, check_transactions, seal
from validators.header_rules import HeaderRules
from validators.settings import ValidatorSettings
from validators.state import grow_tree
from validators.sync.follower import Goal, Purpose

_SLOT_MS_MAX: Final = 9
_VIEWS: Final = 8
_VALIDATORS: Final = 4
_JUDGED: Final = (Purpose.VERIFY, Purpose.ADOPT)


class _Clock(NamedTuple):
    """A validator as its rules of headers see it.

    Attributes:
        has_slots: Whether a view is a slot, and a block bears a time of its own.
        wall_us: The wall clock.
        skew_ms: The time by which a header may be ahead of it.
        slot_ms: The length of a slot.
        leaders: The leader of each view, None where nobody leads.
    """

    has_slots: bool
    wall_us: int
    skew_ms: int
    slot_ms: int
    leaders: Mapping[int, int | None]

    def is_of_slot(self, time_ms: int, view: int) -> bool:
        """Return whether a block of a view may bear a time."""
        return not self.has_slots or time_ms // self.slot_ms == view


def check_headers(draw: Draw) -> Asked:
    """Yield what is asked of the rules of headers, and whether it is so."""
    slot_ms = 1 + draw(_SLOT_MS_MAX)
    for name, (config, *_) in CONFIGS.items():
        has_slots = ENGINES[name].view_word == "slot"
        changed = {"slot_us": 1_000 * slot_ms} if has_slots else {}
        yield from _check_rules(replace(cast("Any", config), **changed), slot_ms, draw, has_slots=has_slots)
    yield from _check_validity(draw)
    yield from _check_lists(draw)


def _check_rules(config: EngineConfig, slot_ms: int, draw: Draw, *, has_slots: bool) -> Asked:
    clock = _Clock(
        has_slots=has_slots,
        wall_us=1_000 * (2 + draw(slot_ms * _VIEWS)) + (999, 0, draw(1_000))[draw(3)],
        skew_ms=draw(6),
        slot_ms=slot_ms,
        leaders={view: draw(_VALIDATORS) if draw(6) else None for view in range(_VIEWS + 2)},
    )
    view = 1 + draw(_VIEWS)
    times = config.times_of(view)
    borne = [time_ms for time_ms in range((view + 2) * slot_ms) if clock.is_of_slot(time_ms, view)]
    yield (
        "the times of a view are others than its slot has",
        times is None if not clock.has_slots else times is not None and [*times] == borne,
    )
    yield from _check_faults(_rules(clock, config), clock, view, draw)
    edges_ms = view * slot_ms - 1, view * slot_ms, (view + 1) * slot_ms - 1, (view + 1) * slot_ms
    for wall_ms in (*edges_ms, clock.wall_us // 1_000):
        read = clock._replace(wall_us=wall_ms * 1_000 + clock.wall_us % 1_000)
        yield from _check_times(_rules(read, config), read, view, draw)


def _rules(clock: _Clock, config: EngineConfig) -> HeaderRules:
    """Return the rules of a validator that has this clock."""
    settings = cast("ValidatorSettings", SimpleNamespace(consensus_config=config, max_skew_ms=clock.skew_ms))
    return HeaderRules(settings, clock.leaders.get, lambda: clock.wall_us)


def _check_faults(rules: HeaderRules, clock: _Clock, view: int, draw: Draw) -> Asked:
    """Judge a header that is right, and ones that are wrong in one thing, for every purpose."""
    leader = clock.leaders[view]
    limit_ms = clock.wall_us // 1_000 + clock.skew_ms
    parent = draw.digest()
    first_ms = view * clock.slot_ms
    last_ms = first_ms + clock.slot_ms - 1
    for purpose in Purpose:
        # No document says whether a slot's block that is voted on is judged by its slot: no engine asks for both.
        if purpose is Purpose.VERIFY and clock.has_slots:
            continue
        goal = Goal(purpose, view, draw.digest(), parent)
        good_ms = last_ms if clock.has_slots else limit_ms
        good = _header(view=view, proposer=leader or 0, parent=parent, timestamp_ms=good_ms)
        times = limit_ms - 1, limit_ms, limit_ms + 1, first_ms - 1, first_ms, last_ms, last_ms + 1
        headers = [
            *(_with(good, timestamp_ms=time_ms) for time_ms in times),
            _with(good, view=view - 1, proposer=clock.leaders[view - 1] or 0),
            _with(good, view=view + 1, proposer=clock.leaders[view + 1] or 0),
            _with(good, view=view + 1),
            _with(good, proposer=(good.proposer + 1) % _VALIDATORS),
            _with(good, parent=draw.digest()),
        ]
        for header in headers:
            is_of_view = header.view == view and leader is not None and header.proposer == leader
            is_within = header.timestamp_ms <= limit_ms
            is_in_time = is_within if purpose is Purpose.VERIFY else clock.is_of_slot(header.timestamp_ms, view)
            is_right = is_of_view and header.parent == parent and is_in_time
            found = rules.find_fault(goal, header)
            yield (
                "a header is refused, or believed, otherwise than beside its proposal, its clock and its slot",
                (found == "") == (purpose not in _JUDGED or is_right),
            )
            yield "a block is taken as its leader's, or not, otherwise", rules.is_of_view(header, view) == is_of_view


def _check_times(rules: HeaderRules, clock: _Clock, view: int, draw: Draw) -> Asked:
    """Build a block now: the clock is behind its parent's time, at it, or past it, and so with the slot's times."""
    wall_ms = clock.wall_us // 1_000
    slot = range(view * clock.slot_ms, (view + 1) * clock.slot_ms)
    # A parent is of an earlier slot where blocks bear a time of theirs.
    last_ms = slot.start - 1 if clock.has_slots else wall_ms + 4
    for parent_ms in (wall_ms - 2, wall_ms - 1, wall_ms, wall_ms + 1 + draw(3)):
        parent = _header(view=view - 1, proposer=0, parent=b"", timestamp_ms=min(max(parent_ms, 0), last_ms))
        after = wall_ms if wall_ms > parent.timestamp_ms else parent.timestamp_ms + 1
        expected = after
        if clock.has_slots:
            expected = min(slot, key=lambda time_ms: abs(time_ms - after))
        yield (
            "a block is built with another time than its clock, its parent and its slot give it",
            rules.time_of(view, parent) == expected,
        )


def _check_validity(draw: Draw) -> Asked:
    """Check a header that is right beside its parent, and ones with a field that is off by one."""
    slot_ms = 1 + draw(_SLOT_MS_MAX)
    genesis = cast("Genesis", SimpleNamespace(slot_ms=slot_ms, validators=[bytes(20)] * _VALIDATORS))
    parent = _header(view=1 + draw(9), proposer=0, parent=b"", timestamp_ms=1 + draw(50), height=draw(9))
    time_ms = parent.timestamp_ms + 1 + draw(2) * draw(30)
    good = _header(
        view=parent.view + 1 + draw(2) * draw(5),
        proposer=draw(_VALIDATORS),
        parent=draw.digest(),
        timestamp_ms=time_ms,
        height=parent.height + 1,
        slot=time_ms // slot_ms,
    )
    headers = [good, *(_with(good, proposer=number) for number in range(_VALIDATORS - 1, _VALIDATORS + 2))]
    headers += [_with(good, version=number) for number in (0, 2)]
    headers += [_with(good, consensus_epoch=number) for number in (1, 2)]
    headers += [_with(good, height=good.height + by) for by in (-1, 1)]
    headers += [_with(good, view=parent.view + by) for by in (-1, 0, 1)]
    headers += [_with(good, slot=good.slot + by) for by in (-1, 1)]
    # With its own slot: only the time is off, here beside the parent's and there at the end of a slot.
    for other_ms in (parent.timestamp_ms - 1, parent.timestamp_ms, parent.timestamp_ms + 1, (good.slot + 1) * slot_ms):
        headers += [_with(good, timestamp_ms=other_ms, slot=(other_ms - by) // slot_ms) for by in (0, 1)]
    for header in headers:
        is_valid = (
            header.version == 1
            and header.consensus_epoch == 0
            and header.height - parent.height == 1
            and header.view > parent.view
            and header.proposer in range(_VALIDATORS)
            and header.timestamp_ms > parent.timestamp_ms
            and header.slot * slot_ms <= header.timestamp_ms < (header.slot + 1) * slot_ms
        )
        refusal = _refusal(check_header, header, parent, genesis)
        yield "a header is valid, or not, otherwise than beside its parent and genesis", (refusal is None) == is_valid
        yield "a header that is not executed has a state root", refusal is None or refusal.own_root is None


def _check_lists(draw: Draw) -> Asked:
    """Seal a block's lists, and compare the roots with others."""
    transactions, receipts = (tuple(draw.digest()[: 1 + draw(9)] for _ in range(draw(8))) for _ in range(2))
    plain = _header(view=1, proposer=0, parent=draw.digest(), timestamp_ms=1)
    state_root = draw.digest()
    roots = {"state_root": state_root, "tx_root": _list_root(transactions), "receipts_root": _list_root(receipts)}
    sealed = seal(plain, transactions, receipts, state_root, grow=grow_tree)
    yield "a header is sealed with other roots than its lists and its state have", sealed == _with(plain, **roots)

    fewer, more = transactions[:-1], (*transactions, b"more")
    for listed in dict.fromkeys((transactions, fewer, more, tuple(reversed(transactions)))):
        refusal = _refusal(check_transactions, Block(sealed, listed), grow_tree, is_known=False)
        yield "transactions are taken, or refused, against their root", (refusal is None) == (listed == transactions)
        yield "a block that is not executed has a state root", refusal is None or refusal.own_root is None
    refusal = _refusal(check_transactions, Block(sealed, more), grow_tree, is_known=True)
    yield "a known header is taken with other transactions", refusal is not None

    garbage = b"\xc1" + draw.digest()
    yield "a block with bytes that are no transaction is taken", _refusal(lambda: list(decoded([garbage]))) is not None

    yield "a header is refused for the roots that it has", _refusal(check_roots, sealed, sealed) is None
    for name in roots:
        claimed = _with(sealed, **{name: draw.digest()})
        refusal = _refusal(check_roots, claimed, sealed)
        yield (
            "a wrong root is believed, or refused without the state root that executing gave",
            refusal is not None and refusal.own_root == state_root,
        )


def _list_root(items: Sequence[bytes]) -> bytes:
    """Return the root of a list as docs/chain.md has it: trees of powers of two, the tallest first, folded."""
    peaks: list[bytes] = []
    left, place = [*items], 0
    while left:
        size = 1 << (len(left).bit_length() - 1)
        root, place = _tree_root(left[:size], place)
        peaks.append(root)
        left = left[size:]
    fold = b""
    for peak in peaks:
        fold = hashlib.sha256(fold + peak).digest() if fold else peak
    return hashlib.sha256(len(items).to_bytes(8, "big") + fold).digest()


def _tree_root(items: Sequence[bytes], place: int) -> tuple[bytes, int]:
    """Return the root of a full tree whose first node in post-order has a place, and the place behind it."""
    if len(items) == 1:
        content = items[0]
    else:
        half = len(items) // 2
        low, place = _tree_root(items[:half], place)
        high, place = _tree_root(items[half:], place)
        content = low + high
    return hashlib.sha256(place.to_bytes(8, "big") + content).digest(), place + 1


def _refusal(check: Callable[..., object], *given: object, **named: object) -> InvalidBlockError | None:
    """Return why a check refuses what it is given; None if it does not."""
    try:
        check(*given, **named)
    except InvalidBlockError as error:
        return error
    return None


def _header(*, view: int, proposer: int, parent: bytes, timestamp_ms: int, height: int = 1, slot: int = 0) -> Header:
    return Header(
        version=1,
        height=height,
        consensus_epoch=0,
        view=view,
        parent=parent,
        proposer=proposer,
        slot=slot,
        timestamp_ms=timestamp_ms,
        state_root=bytes(32),
        tx_root=bytes(32),
        receipts_root=bytes(32),
    )


def _with(header: Header, **fields: Any) -> Header:
    return msgspec.structs.replace(header, **fields)
