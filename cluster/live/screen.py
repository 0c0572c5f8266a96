"""The picture of a run on a terminal: a bar, the faults at work, and a row for each replica, in 80 columns."""

from typing import Final, NamedTuple

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cluster.live.replicas import APPLICATION_LOST, Replicas, ReplicaState, short_root

GROUP_STYLES: Final = ("green", "bold red", "bold yellow", "bold magenta", "bold cyan", "bold blue")
"""Colours of the groups of equal roots; a letter says the same without colours."""

GROUP_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"

STATE_STYLES: Final = {
    "up": "",
    "down": "red",
    "paused": "yellow",
    "cut off": "yellow",
    "halted": "bold red",
    APPLICATION_LOST: "red",
}

LINES_BESIDE: Final = 6
"""Lines of the picture that are no replica's."""

BAR_CHARACTERS: Final = 20


class LiveFigures(NamedTuple):
    """The figures of a run at one moment: its stage in words, and how far it is, of a thousand."""

    title: str
    virtual_s: float
    real_s: float
    done_permille: int
    left_s: float | None
    aim: str


def picture(moment: LiveFigures, replicas: Replicas, *, lines: int) -> RenderableType:
    """Return the picture; if a terminal of `lines` is too small for all replicas, with the most conspicuous."""
    parts: list[RenderableType] = [_head(moment), _bar(moment)]
    faults = ", ".join(replicas.active) or "none"
    parts.append(Text(f"faults at work: {faults}", no_wrap=True, overflow="ellipsis"))
    shown, hidden = _chosen(replicas, max(4, lines - LINES_BESIDE))
    parts.append(_table(replicas, shown))
    if hidden:
        parts.append(Text(_others(replicas, hidden)))
    return Group(*parts)


def _head(moment: LiveFigures) -> Text:
    ratio = moment.virtual_s / moment.real_s if moment.real_s else 0.0
    figures = f"{moment.virtual_s:.1f} s virtual in {moment.real_s:.1f} s, {ratio:.1f} times real time"
    return Text(f"{moment.title}  {figures}", no_wrap=True, overflow="ellipsis", style="bold")


def _bar(moment: LiveFigures) -> Table:
    bar = Table.grid(padding=(0, 1))
    left = "" if moment.left_s is None else f"{_about(moment.left_s)} left, "
    words = Text(f"{moment.done_permille // 10:>3} %  {left}{moment.aim}", no_wrap=True, overflow="ellipsis")
    bar.add_row(ProgressBar(total=1_000, completed=moment.done_permille, width=BAR_CHARACTERS), words)
    return bar


def _about(seconds: float) -> str:
    return f"about {seconds:.0f} s" if seconds >= 1 else "under 1 s"


def _chosen(replicas: Replicas, room: int) -> tuple[list[ReplicaState], list[ReplicaState]]:
    """Return the replicas that have a row, in their order, and the replicas without a row."""
    states = replicas.states
    if len(states) <= room:
        return states, []
    # A replica in the usual state can be left out: it is up and has the first replica's root.
    ranked = sorted(states, key=lambda each: (replicas.state_of(each) == "up", not each.group, each.node))
    kept = sorted(ranked[: room - 1], key=lambda each: each.node)
    return kept, ranked[room - 1 :]


def _others(replicas: Replicas, hidden: list[ReplicaState]) -> str:
    """Return a line with the number of replicas without a row, and whether any of them is in trouble."""
    words = "all up" if all(replicas.state_of(state) == "up" for state in hidden) else "not all up"
    if replicas.groups > 1:
        words += ", not all of root a" if any(state.group for state in hidden) else ", all of root a"
    return f"and {len(hidden)} more, {words}"


def _table(replicas: Replicas, states: list[ReplicaState]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for header in ("no", replicas.view_word, "height", "final"):
        table.add_column(header, justify="right", no_wrap=True)
    for header in ("root", "mode", "state"):
        table.add_column(header, no_wrap=True, overflow="ellipsis")
    for header in ("waiting", "dead"):
        table.add_column(header, justify="right", no_wrap=True)
    for state in states:
        word = replicas.state_of(state)
        table.add_row(
            *(f"{figure:,}" for figure in (state.node, state.view, state.height, state.final_height)),
            _root(state, replicas.groups),
            state.mode,
            Text(word, style=STATE_STYLES.get(word, "")),
            f"{state.waiting:,}",
            f"{state.dead:,}",
        )
    return table


def _root(state: ReplicaState, groups: int) -> Text:
    """Return the beginning of a root; where roots differ, with the letter of its group."""
    letter = f" {GROUP_LETTERS[state.group % len(GROUP_LETTERS)]}" if groups > 1 else ""
    return Text(f"{short_root(state.root)}{letter}", style=GROUP_STYLES[state.group % len(GROUP_STYLES)])
