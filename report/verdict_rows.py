"""The rows of a verdict, which the terminal and the page draw. A run makes them, and loads nothing that draws."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorRow:
    """The verdict's row of one validator at the end of a run; `state_root` in hexadecimal."""

    node: int
    height: int
    finalized_height: int
    state_root: str
    executed: int
    rolled_back: int
    undone: int
    fired: int
    expired: int
    insolvent: int
    waiting: int
    note: str
    status: str = "voter"
    """`voter`; `observer`, without a vote; `stopped`, with the reason in the note; or `byzantine`."""


class CheckRow(NamedTuple):
    """One check in the verdict's table: its result in a word, and what it saw in a sentence."""

    name: str
    status: str
    summary: str


class StoryLine(NamedTuple):
    """One line of a run's story: the thing it is about, and a sentence without a full stop."""

    label: str
    text: str
