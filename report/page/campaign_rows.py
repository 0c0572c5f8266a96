"""The rows of a campaign's page, and of the page that lists runs."""

from collections.abc import Sequence
from typing import NamedTuple


class IndexRow(NamedTuple):
    """A run or a campaign in the list: where its page is, what it was, and what came of it."""

    href: str
    name: str
    seed: str
    verdict: str
    headline: str
    digest: str


class SeedPoint(NamedTuple):
    """One seed of the grid; `group` is the place of its signature, -1 where it passed."""

    seed: int
    verdict: str
    group: int
    href: str
    tip: str


class Group(NamedTuple):
    """Seeds that went wrong in the same way: the signature, how many, the first, how to repeat and shrink it.

    `plan` is the smallest plan that was found, as its file has it; nothing where nobody has shrunk a run of the group.
    """

    signature: str
    seeds: int
    first: int
    headline: str
    href: str
    commands: Sequence[str]
    plan: str = ""


class Table(NamedTuple):
    """A table with a caption."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class CampaignRows(NamedTuple):
    """A campaign: what it is, its verdict, facts, the grid of its seeds, groups of failures, tables."""

    title: str
    verdict: str
    headline: str
    facts: Sequence[tuple[str, str]]
    cells: Sequence[SeedPoint]
    note: str
    groups: Sequence[Group]
    tables: Sequence[Table]
