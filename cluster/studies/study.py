"""A study as data: the question, the base of its trials, the axes that it varies, and what its answer must satisfy.

A study file is TOML. `[scenario]` holds keys of a scenario, `[bidders.NAME]` a group of actors, `[axes.NAME]` the
values of a key or cases of several keys. An arm is a choice of one value for each axis. A trial is an arm and a seed.
"""

from typing import Annotated, Any, Literal

import msgspec

from cluster.scenario.fields import EntryName, NotNegative, Positive, Section, means
from cluster.scenario.model import Title
from cluster.studies.bidders import BidderGroup

Value = bool | int | str | list[int]
Choice = dict[str, Value]
"""An axis's value by its name, in words or as the number that it is."""


class Axis(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A quantity that the study varies: a key with its values, or cases of several keys each."""

    key: Annotated[str, means("The key of the study file that takes the values.")] = ""
    values: Annotated[tuple[Value, ...], means("The values of `key`.")] = ()
    cases: Annotated[dict[str, dict[str, Value]], means("Instead: keys and values by the name of a case.")] = (
        msgspec.field(default_factory=dict)
    )

    def choices(self) -> dict[str, dict[str, Value]]:
        """Return the settings of each value, by its name."""
        return self.cases or {str(value): {self.key: value} for value in self.values}


class Bound(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A validity check: a figure that each matching arm must keep within bounds, or the answer does not count."""

    figure: Annotated[str, means("The figure.")]
    at_least: Annotated[float | None, means("Its least mean over the seeds.")] = None
    at_most: Annotated[float | None, means("Its greatest mean over the seeds.")] = None
    where: Annotated[Choice, means("The arms that are held to it, by values of axes; left out: every arm.")] = (
        msgspec.field(default_factory=dict)
    )


class Contrast(Section, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"from_": "from"}):
    """A finding: a figure in two arms. Axes that neither side names are compared value by value."""

    says: Annotated[Title, means("The finding in a sentence.")]
    figure: Annotated[str, means("The figure.")]
    from_: Annotated[Choice, means("The arm that is compared with.")]
    to: Annotated[Choice, means("The arm that differs.")]
    expect: Annotated[
        Literal["rises", "falls", "level"], means("The direction of the figure from the first arm to the second.")
    ]
    within: Annotated[float, means("For `level`: the greatest difference that counts as none.")] = 0.0


class Drawing(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A plot of the page: a figure over the values of an axis, with a line for each choice of the other axes."""

    figure: Annotated[str, means("The figure.")]
    over: Annotated[str, means("The axis along x.")]
    where: Annotated[Choice, means("The arms that are drawn, by values of axes.")] = msgspec.field(default_factory=dict)


class ChainOutage(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A gap between two blocks of the chain."""

    after_block: Annotated[NotNegative, means("The last block before the outage; 0: no outage.")] = 0
    slots: Annotated[NotNegative, means("Slots without a block.")] = 0


class Quick(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The changes of `--quick`."""

    blocks: Annotated[Positive | None, means("Blocks of a trial.", left_out="as in the full form")] = None
    seeds: Annotated[Positive, means("Seeds of each arm.")] = 3
    axes: Annotated[dict[str, tuple[Value, ...]], means("Values of axes by name; other axes keep theirs.")] = (
        msgspec.field(default_factory=dict)
    )
    set: Annotated[dict[str, Value], means("Other keys and their values.")] = msgspec.field(default_factory=dict)


class Study(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A study file."""

    title: Annotated[Title, means("A line on what it asks.")]
    question: Annotated[str, msgspec.Meta(min_length=1), means("The question, quoted.")]
    place: Annotated[Title, means("Where the question stands.")]
    engine: Annotated[
        Literal["chain", "cluster"],
        means("`chain`: one execution engine, block by block; `cluster`: validators on a network."),
    ] = "chain"
    blocks: Annotated[Positive, means("Blocks of a trial.")] = 400
    warmup_blocks: Annotated[NotNegative, means("First blocks that no figure counts.")] = 0
    seeds: Annotated[Positive, means("Seeds of each arm; each is a trial.")] = 10
    figures: Annotated[tuple[str, ...], msgspec.Meta(min_length=1), means("The figures of the table, in order.")]
    limits: Annotated[str, msgspec.Meta(min_length=1), means("What the answer does not cover, in a sentence or two.")]
    answer: Annotated[str, means("The conclusion, in a sentence or two.")] = ""
    scenario: Annotated[dict[str, Any], means("Keys of a scenario: the chain, its workloads, its plug-ins.")] = (
        msgspec.field(default_factory=dict)
    )
    bidders: Annotated[dict[EntryName, BidderGroup], means("Groups of actors that compete.")] = msgspec.field(
        default_factory=dict
    )
    outage: Annotated[ChainOutage, means("An outage of the whole chain.")] = ChainOutage()
    axes: Annotated[dict[EntryName, Axis], means("The quantities that the study varies.")] = msgspec.field(
        default_factory=dict
    )
    validity: Annotated[tuple[Bound, ...], msgspec.Meta(min_length=1), means("Checks without which no answer counts.")]
    findings: Annotated[tuple[Contrast, ...], means("The findings.")] = ()
    plots: Annotated[
        tuple[Drawing, ...], means("The plots of the page; left out: each figure over the first axis.")
    ] = ()
    quick: Annotated[Quick, means("The quick form.")] = Quick()
