"""The rows of a campaign's page, and of the page that lists runs."""

from collections.abc import Sequence
from typing import NamedTuple


class IndexRow(NamedTuple):
    """A run or a campaign in the list: the address of its page, its name and seed, and its result."""

    href: str
    name: str
    seed: str
    verdict: str
    headline: str
    digest: str


class SeedPoint(NamedTuple):
    """A seed of the grid; `group` is the index of its signature, -1 for a passed seed."""

    seed: int
    verdict: str
    group: int
    href: str
    tip: str


class Group(NamedTuple):
    """Seeds with the same failure: the signature, the number, the first seed, and the commands to repeat and shrink it.

    `plan` is the text of the smallest plan found; it is empty until a run of the group is shrunk.
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
    """A campaign: its title, verdict and facts, the grid of its seeds, groups of failures, and tables."""

    title: str
    verdict: str
    headline: str
    facts: Sequence[tuple[str, str]]
    cells: Sequence[SeedPoint]
    note: str
    groups: Sequence[Group]
    tables: Sequence[Table]
