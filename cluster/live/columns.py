"""The column log: a symbol for each event, a column for each replica, a common line for common events.

A line is open until each replica has its symbol in it, another line of its sort begins, or a second has passed. So
without faults a view and a height have a line each, and a late replica has a symbol in a separate line. Lines are
written in the order of their beginnings. The log is a function of the run: the same run writes the same lines, so that
two logs can be compared with diff.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from checker.checks.expected_reports import EVIDENCE
from checker.record.program import program_name
from cluster.live.replicas import Replicas, short_root
from faults.events import ApplicationLost, ApplicationReplaced, Crashed, FaultEdge, Healed, Restarted, Tampered
from network.events import Event, Handlers, Reseeded
from network.types import MILLISECOND_US
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    Booted,
    DamageFound,
    DamageRepaired,
    Entered,
    Halted,
    PeerBlocked,
    Reported,
    SnapshotJoined,
    StoppedVoting,
)

NOTHING: Final = "."

OPEN_US: Final = 1_000_000
"""The age in microseconds at which an open line is written before another line begins."""

LEGEND: Final = {
    "v": "entered the view",
    "L": "entered the view, and leads it",
    "t": "gave the view up",
    "#": "finalized the block",
    "!": "its root of this block differs from the first root of the block",
    "<": "dropped an executed block, because another block became final",
    "u": "rewound an applied block",
    "^": "read its disk and serves",
    "a": "lost its application",
    "n": "runs another build of its application",
    "x": "lost its power",
    "+": "got its power back",
    "h": "halted",
    "S": "took a snapshot for its state",
    "d": "found damage on its disk",
    "r": "repaired damage",
    "o": "stopped voting",
    "b": "sent something Byzantine",
    "/": "cut off a peer that sent it such a thing",
    "e": "holds evidence of two votes",
}
"""The symbols of the log; docs/live.md has them too."""


NOTICES: Final[Mapping[type, Callable[[Any], tuple[str, str]]]] = {
    Booted: lambda body: ("^", f"serves from height {body.finalized_height}"),
    Halted: lambda body: ("h", f"halted: {body.reason}"),
    StoppedVoting: lambda body: ("o", f"no vote: {body.reason}"),
    PeerBlocked: lambda body: ("/", f"cut off {body.peer}: {body.reason}"),
    BlockRolledBack: lambda body: ("<", f"dropped losing block {body.digest.hex()[:6]} of height {body.height}"),
    BlockUndone: lambda body: ("u", f"took back {body.height}"),
    SnapshotJoined: lambda body: ("S", f"snapshot {body.height}"),
    DamageFound: lambda body: ("d", f"damage {body.file}: {body.what}"),
    DamageRepaired: lambda body: ("r", f"repaired {body.file}: {body.how}"),
    Tampered: lambda body: ("b", f"byzantine {body.behaviour}"),
}
"""By the type of an event of one replica, its symbol and its words."""


class _Key(NamedTuple):
    """The subject of a line; at most one line of each sort is open at a time."""

    sort: str
    words: str
    digest: bytes = b""


@dataclass(slots=True)
class _Line:
    """An unwritten line: its subject, its beginning, its symbols, and whether it takes more symbols."""

    key: _Key
    at_us: int
    symbols: list[str]
    is_open: bool = True


@dataclass(slots=True)
class ColumnLog:
    """The writer of the column log of a run.

    Attributes:
        replicas: The state of the replicas, which sees each event before this log.
        write: Takes a line.
        handlers: The functions for the events that the log reads.
    """

    replicas: Replicas
    write: Callable[[str], None]
    handlers: Handlers = field(init=False)
    _open: dict[str, _Line] = field(init=False, default_factory=dict)
    _unwritten: deque[_Line] = field(init=False, default_factory=deque)

    def __post_init__(self) -> None:
        self.handlers = {
            Entered: self._enter,
            BlockFinalized: self._finalize,
            BlockExecuted: self._execute,
            Reported: self._report,
            FaultEdge: lambda event, body: self.say(event.at_us, f"fault {body.fault} {body.edge}"),
            Healed: lambda event, _body: self.say(event.at_us, "healed: no fault is at work any more"),
            Reseeded: lambda event, body: self.say(event.at_us, f"chance: seed {body.seed} from turn {body.turn:,} on"),
            ApplicationLost: lambda event, body: self._note(event, body.machine, ("a", _loss_words(body))),
            ApplicationReplaced: lambda event, body: self._note(event, body.machine, ("n", f"build {body.build}")),
            Crashed: lambda event, body: self._note(event, body.machine, ("x", "power lost")),
            Restarted: lambda event, body: self._note(event, body.machine, ("+", "power back")),
            **dict.fromkeys(NOTICES, self._notice),
        }

    def begin(self, title: str) -> None:
        """Write the head: a number above each column."""
        nodes = range(len(self.replicas.states))
        self.write(f"{title}: one column for each replica, one symbol for each event")
        self.write(f"symbols: {program_name()} docs live")
        tens = [str(node // 10) if node >= 10 else " " for node in nodes]
        if len(nodes) > 10:
            self.write(f"{'':>10}  {self._joined(tens)}")
        self.write(f"{'virtual s':>10}  {self._joined([str(node % 10) for node in nodes])}")

    def say(self, at_us: int, words: str) -> None:
        """Write a line that is about no single replica."""
        self._close_all()
        self._write(at_us, ["-"] * len(self.replicas.states), words)

    def end(self) -> None:
        """Write what is still open."""
        self._close_all()

    def _enter(self, event: Event, body: Entered) -> None:
        symbol = "L" if body.leader == event.node else "v"
        self._mark(event.node, event.at_us, symbol, _Key("view", f"{self.replicas.view_word} {body.view}"))

    def _finalize(self, event: Event, body: BlockFinalized) -> None:
        state = self.replicas.states[event.node]
        words = f"final {body.height} root {short_root(body.root)} due {state.waiting:,} dead {state.dead:,}"
        self._mark(event.node, event.at_us, "!" if state.group else "#", _Key("final", words, body.digest))

    def _execute(self, event: Event, body: BlockExecuted) -> None:
        if self.replicas.states[event.node].group:
            words = f"other root of {body.height} in {self.replicas.view_word} {body.view}: {short_root(body.root)}"
            self._note(event, event.node, ("!", words))

    def _report(self, event: Event, body: Reported) -> None:
        if body.activity in EVIDENCE:
            words = f"evidence {body.activity} against {body.signer} in {self.replicas.view_word} {body.view}"
            self._note(event, event.node, ("e", words))
        else:
            words = f"gave up {self.replicas.view_word} {body.view}: {body.detail}"
            self._mark(event.node, event.at_us, "t", _Key("gave up", words))

    def _notice(self, event: Event, body: Any) -> None:  # noqa: ANN401 - of any of the types of NOTICES
        self._note(event, event.node, NOTICES[type(body)](body))

    def _note(self, event: Event, node: int, notice: tuple[str, str]) -> None:
        symbol, words = notice
        self._mark(node, event.at_us, symbol, _Key(symbol, words))

    def _mark(self, node: int, at_us: int, symbol: str, line_key: _Key) -> None:
        """Put a symbol into the open line of its sort and subject, or into a new line."""
        line = self._open.get(line_key.sort)
        if line is not None and (line.key != line_key or line.symbols[node] != NOTHING):
            self._close(line_key.sort)
            line = None
        if line is None:
            self._close_all(before_us=at_us - OPEN_US)
            line = self._open[line_key.sort] = _Line(line_key, at_us, [NOTHING] * len(self.replicas.states))
            self._unwritten.append(line)
        line.symbols[node] = symbol
        if NOTHING not in line.symbols:
            self._close(line_key.sort)

    def _close(self, sort: str) -> None:
        self._open.pop(sort).is_open = False
        # A line waits for all lines that began before it, so that the times of the log never go back.
        while self._unwritten and not self._unwritten[0].is_open:
            line = self._unwritten.popleft()
            self._write(line.at_us, line.symbols, line.key.words)

    def _close_all(self, before_us: int | None = None) -> None:
        """Write the open lines, or only the lines opened before a time."""
        for sort, line in list(self._open.items()):
            if before_us is None or line.at_us < before_us:
                self._close(sort)

    def _write(self, at_us: int, symbols: list[str], words: str) -> None:
        milliseconds = at_us // MILLISECOND_US
        self.write(f"{milliseconds // 1_000:>6}.{milliseconds % 1_000:03}  {self._joined(symbols)}  {words}")

    def _joined(self, symbols: list[str]) -> str:
        return (" " if len(symbols) <= 16 else "").join(symbols)


def _loss_words(lost: ApplicationLost) -> str:
    """Return where an application was lost; the reason differs by replica, and would part their lines."""
    return f"application lost at {lost.call}{f' of height {lost.height}' if lost.height >= 0 else ''}"
