"""The plan of a run as plain data; the audit reads it beside the trace."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checker.checks.audit.draws import AuditedLatency
from checker.checks.audit.links import Link
from network.events import TraceEvent
from network.regions import one_way_us

MILLISECOND_US: Final = 1_000

Plain = Mapping[str, Any]
"""A fault or a section as its scenario file has it, with all defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestBedPlan:
    """A scenario as far as the test bed is concerned.

    Attributes:
        seed: The run's seed.
        nodes: The number of replicas with a number of their own; observers are numbered after the validators.
        validators: The number of validators.
        network: The section `network`.
        faults: The faults by name, in the order of the plan.
        reaches: By name, the parts of the test bed that a fault may touch; needed for faults of plug-ins.
        anchor_events: By name of an anchored fault, the type of the event that its moment is read off.
        observers: The numbers of the observers.
        twins: By further machine, the validator under whose number it sends and receives.
        payload_bytes_max: A longer message is dropped.
        reseeds: Each turn of the kernel from which on draws have another seed, and this seed.
        redraws: By purpose, subject and ordinal, the draws with another value.
        is_whole: Whether the run begins at its beginning, and not where an earlier process ended.
    """

    __test__ = False

    seed: int
    nodes: int
    validators: int
    network: Plain
    faults: Mapping[str, Plain]
    observers: Collection[int]
    payload_bytes_max: int
    twins: Mapping[int, int] = field(default_factory=dict)
    reaches: Mapping[str, Collection[str]] = field(default_factory=dict)
    anchor_events: Mapping[str, type[TraceEvent]] = field(default_factory=dict)
    reseeds: Sequence[tuple[int, int]] = ()
    redraws: Mapping[tuple[str, str, int], int] = field(default_factory=dict)
    is_whole: bool = True

    @property
    def uplink_rates(self) -> Mapping[str, int]:
        """Bytes a second of each class of messages in a sender's uplink; the class of all has the empty name."""
        rate, shares = self.network["uplink_bytes_per_second"], self.network["uplink_shares"]
        return {name: rate * share // 100 for name, share in shares.items()} or ({"": rate} if rate else {})

    @property
    def machines(self) -> int:
        """The number of machines, twins included."""
        return self.nodes + len(self.twins)

    def latency(self, link: Link) -> AuditedLatency:
        """Return the latency of a link without faults: of the cluster, or between the regions of its ends."""
        regions, network = self.network["regions"], self.network
        mean_us = network["latency_ms"] * MILLISECOND_US
        if regions:
            # Observers are spread over the regions like the validators.
            here, there = (regions[node % self.validators] for node in link)
            mean_us = one_way_us(here, there)
        return AuditedLatency(network["distribution"], mean_us, network["jitter_ms"] * MILLISECOND_US)
