"""The rows of a verdict, which the terminal and the page draw. This module loads no drawing library."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorRow:
    """The verdict's row of a validator at the end of a run; `state_root` is hexadecimal."""

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
    """`voter`; `observer`, without a vote; `stopped`, with the reason in the note; `byzantine`; or `behind`, with an
    outdated build of the application."""


class CheckRow(NamedTuple):
    """A check in the verdict's table: its result in a word, and its summary in a sentence."""

    name: str
    status: str
    summary: str


class StoryLine(NamedTuple):
    """A line of a run's story: its subject, and a sentence without a full stop."""

    label: str
    text: str
